/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Not in the code: reads of a window that renew, by hints. docs/design.md says why it is left out.
 *
 * A reader stores the belt time into a word beside the slot, and then loads the sequence again. If
 * that is unchanged, its hit has renewed the entry. When the deadline of the entry is reached, the
 * kernel reads the word, takes it for the present time if it is later, and moves the deadline.
 *
 * The search finds no error if all of these hold; with each -DHINTS_... one of them does not:
 *
 *	HINTS_TELL	each ioctl that tells or compares a deadline reads the word, too
 *	HINTS_TAG	the word says which entry it is for
 *	HINTS_EMPTY	a get that misses empties the slot first, under the shard's lock
 *	HINTS_FENCE	a full fence orders the reader's store before its load
 *	HINTS_HOSTILE	each reader stores the time at which it reads
 */
#define TTL	2	/* ticks */
#define TICKS	5	/* the last tick of the clock; the first is 1 */
#define KEY	0	/* the key that the reader reads */
#define OTHER	1	/* a key that no task reads */
#define NONE	2
#define LAST	200

byte deadline[2] = 1 + TTL;
bit gone[2];		/* the entry has expired */
bit sealed[2];		/* a get has missed it */
byte clock = 1;
bit lock;

/* The slot, and the word beside it. The slot is changed under the lock. */
byte sequence;
byte slot = KEY;
byte until = 1 + TTL;
byte hint;
byte tag = NONE;

/* State for assertions only. */
byte promised;		/* the latest deadline that a hit that has returned gave the reader's key */
byte ended = LAST;	/* when its entry expired, or a get missed it */
byte left;		/* when the hostile task lost its right to read */

#define LATER(a, b)	((a) > (b) -> (a) : (b))
#define SOONER(a, b)	((a) < (b) -> (a) : (b))
#ifdef HINTS_TAG
#define IS_FOR(which)	(hint && slot == which)
#else
#define IS_FOR(which)	(hint && tag == which)
#endif

/* The deadline of an entry, with its hint. */
#define WITH_HINT(which, now) \
	(IS_FOR(which) -> LATER(deadline[which], SOONER(hint, now) + TTL) : deadline[which])

inline change_slot(which)
{
	sequence++;
	slot = which;
	until = (which == NONE -> 0 : deadline[which])
}

proctype reader()
{
	byte first, again, time, now;

	first = sequence;
	if
	:: slot != KEY -> goto end
	:: else
	fi;
	time = until;
	now = clock;
	if
	:: now >= time -> goto end
	:: else
	fi;
#ifdef HINTS_FENCE
	/* A processor may change the order below to this. */
	again = sequence;
#endif
	atomic { hint = now; tag = KEY };
#ifndef HINTS_FENCE
	again = sequence;
#endif
	if
	:: again == first ->
		/* Number 2: the entry has not expired before the deadline that this hit gives it. */
		assert(ended >= now + TTL);
		promised = now + TTL
	:: else
	fi;
end:
	skip
}

/* A get with HASHBELT_NO_REFRESH */
proctype caller()
{
	byte before, now, told;

	before = promised;
	now = clock;
	if
	:: !gone[KEY] && deadline[KEY] > now ->
#ifdef HINTS_TELL
		told = deadline[KEY];
#else
		told = WITH_HINT(KEY, now);
#endif
		/* Number 1: a get tells the deadline that an earlier one has set. */
		assert(told >= before)
	:: !gone[KEY] && deadline[KEY] <= now && !sealed[KEY] ->
#ifndef HINTS_EMPTY
		atomic { !lock -> lock = 1 };
		if
		:: slot == KEY -> sequence++
		:: else
		fi;
#endif
		atomic {
			if
			:: WITH_HINT(KEY, now) > now || gone[KEY]
			:: else -> sealed[KEY] = 1; ended = SOONER(ended, now)
			fi
		};
#ifndef HINTS_EMPTY
		lock = 0;
#endif
		skip
	:: else
	fi
}

/* The drain */
proctype worker(byte which)
{
	byte now, moved;

	do
	:: atomic {
		!gone[which] && deadline[which] <= clock && !lock ->
		lock = 1;
		now = clock;
		if
		:: slot == which -> sequence++
		:: else
		fi
	};
	moved = (sealed[which] -> 0 : WITH_HINT(which, now));
	if
	:: moved > now ->
		/* Number 1: an entry is refreshed only by a get that returns it. */
		assert(which == KEY);
		/* A task that has lost its right to read refreshes nothing. */
		assert(!left || moved <= left + TTL);
		atomic {
			deadline[which] = moved;
			hint = 0;
			change_slot(which)
		}
	:: else ->
		/* Number 2: an entry does not expire before the deadline that a hit gave it. */
		assert(which == OTHER || promised <= now);
		atomic {
			gone[which] = 1;
			if
			:: which == KEY -> ended = SOONER(ended, now)
			:: else
			fi
		}
	fi;
	lock = 0
	:: clock == TICKS && (gone[which] || deadline[which] > clock) -> break
	od
}

/* The other key takes the slot. */
proctype filler()
{
	atomic {
		!lock ->
		if
		:: slot == KEY -> deadline[KEY] = WITH_HINT(KEY, clock)
		:: else
		fi;
		hint = 0;
		change_slot(OTHER)
	}
}

/* A task that stores a time to come, and loses its right to read. */
proctype hostile()
{
	atomic { hint = LAST; tag = KEY };
	left = clock
}

proctype ticking()
{
	do
	:: clock < TICKS -> clock++
	:: else -> break
	od
}

init {
	atomic {
#ifdef HINTS_HOSTILE
		run hostile();
#else
		run reader();
#endif
		run caller();
		run worker(KEY);
		run worker(OTHER);
		run filler();
		run ticking()
	}
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A reader of a belt's window: all loads of one read, beside the kernel's steps that change the
 * slot, the header, the entry and belt time. The window has one slot. Two keys, of different
 * shards, share it: the reader's own, and another one, which may take the slot from it.
 * docs/races.md lists the properties, and what the model leaves out.
 *
 * A step is one access to memory that the reader shares with the kernel. What an ioctl does to the
 * entry is one step, since entry.pml has shown that. So no ioctl readers are needed: the model
 * notes, after each step, what a get would return, and a hit must be one of these answers. Readers
 * change nothing, so one reader is enough.
 *
 * -DWRITES=... -DFILLS=... -DOTHERS=... -DMOVES=... -DSETS=...: most operations of each task; see
 *	the first lines for more of these flags
 */
#define WHEN(condition, ...)	if :: condition -> __VA_ARGS__ :: else fi
#ifndef WRITES
#define WRITES	0	/* puts, removes, touches, clears */
#endif
#ifndef FILLS
#define FILLS	0	/* fills with the reader's key */
#endif
#ifndef OTHERS
#define OTHERS	0	/* fills with the other key */
#endif
#ifndef MOVES
#define MOVES	0	/* changes of belt time by hand */
#endif
#ifndef SETS
#define SETS	0	/* changes of settings */
#endif
#ifndef REFRESHES
#define REFRESHES 0	/* whether there is a get that refreshes, and a read that does not */
#endif
#ifndef TICKS
#define TICKS	1	/* the last tick of the clock; the first is 1 */
#endif
#ifndef LEASES
#define LEASES	0	/* fill leases: puts with the value of an origin, which each write changes */
#endif
#ifdef EMPTY
#define FULL	0	/* whether the slot has the reader's key at first */
#else
#define FULL	1
#endif
#define TTL	2	/* ticks */
#define STEP	2	/* ticks by which ADVANCE moves belt time */

#define KEY		1	/* the reader's key */
#define OTHER_KEY	2
#define OTHER		5	/* version of the entry of the other key */
#define MOST		4	/* the highest version of an entry of the reader's key */
#define TIMES		8	/* no deadline is so late */

/* The slot. Times are ticks, and a value is the version of its put. */
byte sequence = 2 * FULL;
byte key = KEY * FULL;
byte version = FULL;
byte until = (1 + TTL) * FULL;
byte value = FULL;

/* The header. */
bit renews;
byte top;		/* versions up to this are cleared: @floor */
byte clock;		/* number of changes of the next two: @clock; odd once the window is closed */
short offset;		/* @offset_ns */
byte halted;		/* @halted_ns */

/* The kernel's own state of the window. */
bit open = 1;		/* it takes entries */
bit shown = 1;		/* the clock shows belt time in the header; under the clock's lock */
byte owner = KEY * FULL; /* whose entry is in the slot; under the window's lock */
bit ref = FULL;		/* the window has a reference to the entry of the reader's key */
bit window_lock;
bit clock_lock;

/* The belt. */
byte entry = 1;		/* version of the entry of the reader's key; 0: none, or it is claimed */
byte deadline = 1 + TTL;
byte floor;
byte versions = 1;	/* versions so far */
bit lock;		/* of the shard of the reader's key, or all shards' */
bit refreshes;		/* gets refresh */
bit refreshing;		/* one that refreshes is in its RCU read-side section */
bit destroyed;
bit leased;		/* there is a fill lease of the key; with the lock */
short belt_offset;	/* of belt time, as the kernel knows it */
byte belt_halted;

/* The boot time that a reader finds, and that of the kernel's last tick. */
byte fine = 1;
byte coarse = 1;

/* State for assertions only. */
bit reading;		/* the reader is between the two loads of the sequence */
int answers;		/* what gets could have returned meanwhile: a bit for version and deadline */
bit no_refresh;		/* the reader passes HASHBELT_NO_REFRESH */
byte origin = 1;
byte from[MOST + 1] = 1; /* by version: the value of the origin that the put stored */
byte returned;		/* value of the origin before the last invalidation that has returned */
bit over;		/* the reader has ended */

#define BELT_TIME	(belt_halted -> belt_halted : coarse + belt_offset)
#define IS_VALUE	(entry > floor && deadline > BELT_TIME && !destroyed)
#define BIT_OF(version)	(((version) - 1) * TIMES)

/* Called in each step after which a get may have another answer. One that refreshes is none. */
inline note()
{
	assert(deadline < TIMES && versions <= MOST);
	WHEN(reading && IS_VALUE && (no_refresh || !refreshes),
		answers = answers | 1 << (BIT_OF(entry) + deadline))
}

/* True if a get could have returned this between the two loads; bound: @time is a lower bound. */
#define IS_ANSWER(seen, time, bound) \
	((seen) <= MOST && \
	 (bound -> (answers >> BIT_OF(seen) & 255) >> (time) : \
		   answers >> (BIT_OF(seen) + (time)) & 1))

/* hashbelt_get() of a belt whose window is mapped */
proctype reader()
{
	byte first, found, seen, time, copy, low, begun, now, old;
	bit bound;

#if REFRESHES
	if
	:: no_refresh = 1
	:: true
	fi;
#endif
	atomic {
		first = sequence;
		old = returned;
		reading = 1;
		note()
	};
	WHEN(first % 2, goto end);
	found = key;
	WHEN(found != KEY, goto end);
	seen = version;
	WHEN(!seen, goto end);
	time = until;
	copy = value;
	bound = renews;
	WHEN(bound && !no_refresh, goto end);
	low = top;
	atomic { begun = sequence; reading = 0 };
	WHEN(begun != first || seen <= low, goto end);
	begun = clock;
	WHEN(begun % 2, goto end);
	now = halted;
	WHEN(!now, now = fine; now = now + offset);
	WHEN(clock != begun, goto end);
	WHEN(now < time,
		/* Number 23: a hit is what a get could have returned. */
		assert(IS_ANSWER(seen, time, bound));
		/* Number 1: the value is that of the version. */
		assert(copy == seen);
		/* Number 20: no value is from before an invalidation that had returned. */
		assert(from[seen] > old));
end:
	atomic {
		reading = 0; answers = 0; old = 0; bound = 0; first = 0; found = 0;
		seen = 0; time = 0; copy = 0; low = 0; begun = 0; now = 0; over = 1
	}
}

/* The slot, under the window's lock */

#define BEGIN_SLOT	sequence++
#define END_SLOT	sequence++

/* drop_copy(). Any zero makes a reader miss, so that they come in one step. */
inline drop_copy()
{
	BEGIN_SLOT;
	atomic { key = 0; version = 0; until = 0; value = 0 };
	END_SLOT;
	atomic { owner = 0; ref = 0 }
}

/* hb_window_remove() and hb_window_remove_slow() of the reader's key, under the lock of its shard */
inline window_leave()
{
	WHEN(ref,
		atomic { !window_lock -> window_lock = 1 };
		WHEN(owner == KEY, drop_copy());
		window_lock = 0)
}

/* fill(), with copy_entry() */
inline fill(whose, which, end)
{
	atomic { !window_lock -> window_lock = 1 };
	WHEN(open,
		WHEN(owner && owner != whose, drop_copy());
		atomic {
			owner = whose;
			ref = whose == KEY;
			BEGIN_SLOT
		};
		key = whose;
		version = which;
		until = end;
		value = which;
		END_SLOT);
	window_lock = 0
}

/* A get that hits, and hb_window_offer() with copy_key() */
proctype filler()
{
	byte fills, which, end;	/* @end: which a fill must not use */

	do
	:: fills < FILLS && !over ->
		fills++;
		/* The get. */
		atomic {
			IS_VALUE || over;
			which = entry;
			end = deadline
		};
		atomic { !lock -> lock = 1; which = (IS_VALUE -> entry : 0) };
		WHEN(which, fill(KEY, which, deadline));
		atomic { lock = 0; which = 0; end = 0 }
	:: else -> break
	od
}

/* The same for the other key. Its shard's lock excludes no task here. */
proctype other_filler()
{
	byte fills;

	do
	:: fills < OTHERS && !over ->
		fills++;
		fill(OTHER_KEY, OTHER, TIMES - 1)
	:: else -> break
	od
}

inline enter()
{
	atomic { !lock -> lock = 1; now = BELT_TIME }
}

inline leave()
{
	atomic { lock = 0; now = 0 }
}

/* hb_live(): takes out an entry that has expired or is cleared, whatever the window has. */
inline find_live()
{
	WHEN(entry && !(entry > floor && deadline > now), entry = 0; window_leave())
}

/* A new value: put_into(), after hb_window_remove(); or replace(), or insert() without an old one */
inline put(which)
{
	window_leave();
	atomic {
		versions++;
		entry = versions;
		from[versions] = which;
		deadline = now + TTL;
		note()
	}
}

/* hb_take_out(), for a remove, an eviction, or an expire by hand */
inline take_out()
{
	window_leave();
	entry = 0
}

/* hb_window_set_deadline() and hb_window_set_deadline_slow() */
inline touch(ttl)
{
	atomic { !window_lock -> window_lock = 1 };
	if
	:: ref && owner == KEY ->
		BEGIN_SLOT;
		atomic { deadline = now + ttl; note() };
		until = now + ttl;
		END_SLOT
	:: else -> atomic { deadline = now + ttl; note() }
	fi;
	window_lock = 0
}

/* clear() */
inline clear()
{
	top = versions;
	floor = versions
}

proctype writer()
{
	byte writes, now, before;

	do
	:: writes < WRITES && !over ->
		writes++;
#if LEASES
		before = origin;
		origin++;
#endif
		enter();
		find_live();
		if
		:: true -> put(origin)
		:: entry -> take_out()
#if LEASES
		/* A remove of a key without entry. */
		:: !entry
#else
		:: entry && now + TTL + 1 < TIMES -> touch(TTL + 1)
		:: entry -> touch(1)
#endif
		:: true -> clear()
		fi;
#if LEASES
		leased = 0;
		leave();
		returned = before
#else
		leave()
#endif
	:: else -> break
	od
}

/* A caller of FILL, which puts the value with HASHBELT_IF_LEASE */
proctype lease_holder()
{
	byte leases, now, fetched;

	do
	:: leases < LEASES && !over ->
		leases++;
		enter();
		leased = 1;
		leave();
		fetched = origin;
		enter();
		find_live();
		WHEN(leased, put(fetched); leased = 0);
		leave();
		fetched = 0
	:: else -> break
	od
}

/* The drain, and the sweep after a clear */
proctype worker()
{
	byte now;

	do
	:: entry && (deadline <= BELT_TIME || entry <= floor) && !over ->
		enter();
		find_live();
		leave()
	:: over -> break
	od
}

inline empty_all()
{
	atomic { !window_lock -> window_lock = 1 };
	WHEN(owner, drop_copy());
	window_lock = 0
}

/* hb_clock_show() of no window */
inline clock_leave()
{
	atomic {
		!clock_lock ->
		clock = clock + shown;
		shown = 0
	}
}

/* hb_window_close(): stop_showing() and empty_all(), and other pages in the mapping */
inline close()
{
	clock_leave();
	open = 0;
	empty_all();
	atomic { sequence = 0; key = 0; version = 0; until = 0; value = 0 }
}

/* A get that refreshes: it reads the policy, and then moves the deadline. */
proctype refresher()
{
	atomic { refreshes || over -> refreshing = 1 };
	atomic {
		WHEN(IS_VALUE && deadline < BELT_TIME + TTL, deadline = BELT_TIME + TTL; note());
		refreshing = 0
	}
}

/* SET of a policy: set_policy(), hb_window_set_renews(); SET of another window; DESTROY */
proctype setter()
{
	byte sets, now;

	do
	:: sets < SETS && !over ->
		sets++;
		if
		:: !refreshes ->
			enter();
			renews = 1;
			refreshes = 1;
			leave()
		:: refreshes ->
			enter();
			atomic { refreshes = 0; note() };
			leave();
			/* hb_window_clear_renews(): synchronize_rcu() */
			!refreshing;
			empty_all();
			renews = 0
		:: open -> close()
		:: open ->
			enter();
			clock_leave();
			top = versions;
			atomic { floor = versions; destroyed = 1 };
			leave();
			close()
		fi
	:: else -> break
	od
}

/* hb_clock_halt(), hb_clock_resume() and hb_clock_advance(), under the clock's lock */
proctype hand()
{
	byte moves;

	do
	:: moves < MOVES && !over ->
		moves++;
		/* begin_change() */
		atomic { !clock_lock -> clock_lock = 1; clock = clock + shown };
		if
		:: atomic { !belt_halted -> belt_halted = BELT_TIME }
		:: atomic {
			belt_halted ->
			belt_offset = belt_halted - coarse;
			belt_halted = 0
		}
		:: atomic {
			belt_halted && belt_halted <= coarse ->
			belt_halted = belt_halted + STEP
		}
		:: atomic {
			!belt_halted && belt_offset <= 0 ->
			belt_offset = belt_offset + STEP
		}
		fi;
		/* end_change() */
		WHEN(shown,
			offset = belt_offset;
			halted = belt_halted;
			clock++);
		clock_lock = 0
	:: else -> break
	od
}

proctype ticking()
{
	do
	:: fine < TICKS && !over -> fine++
	:: atomic { coarse < fine && !over -> coarse = fine }
	:: over -> break
	od
}

init {
	atomic {
		run reader();
		run ticking();
		run worker();
#if WRITES
		run writer();
#endif
#if LEASES
		run lease_holder();
#endif
#if FILLS
		run filler();
#endif
#if OTHERS
		run other_filler();
#endif
#if MOVES
		run hand();
#endif
#if SETS
		run setter();
#endif
#if REFRESHES
		run refresher();
#endif
		skip
	}
}

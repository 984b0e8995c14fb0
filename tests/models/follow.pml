/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hbfollow: an engine whose value changes, and which sends invalidations in order; a connection
 * that breaks; the follower, which removes the key or clears the belt; and readers, which fetch the
 * value of an absent key from the engine, and put it on condition of their fill lease.
 *
 * Properties:
 * - Once all invalidations are delivered and the follower follows, the belt has the engine's value
 *   or none. So does each read then, and the belt in the end.
 * - No value is stored or read that is older than what the engine had at the last clear, or at the
 *   last invalidation or answer to a ping that the follower has acted on.
 * - Reads never go back.
 *
 * The follower is that of tools/follow/follower.c. The model has one key and one belt: nothing
 * connects those of several machines. fill.pml checks that the module keeps the promises of the belt
 * here: hb_fill_condition(), hb_fill_invalidate(), hb_fill_end(), and hb_is_cleared() of a lease.
 * Left out: expiry and eviction, which only remove.
 */
#define WHEN(condition, ...)	if :: condition -> __VA_ARGS__ :: else fi
#define READERS	2
#define TRIES	2	/* reads of each reader */
#define LAST	3	/* the last value of the engine */
#define LOSSES	2	/* of the connection */
#define NONE	255

mtype = { INVALIDATION, PONG };
mtype = { LOST, TRACKED, FOLLOWING };

/* The engine. */
byte origin = 1;
bit tracked;		/* the engine sends invalidations, and the connection is whole */
bit pending;		/* of the last write, whose invalidation has not been sent */
byte sent = 1;		/* the last value whose invalidation has been sent */

/* The messages on the connection, each with the value of the engine that it tells of. */
chan connection = [4] of { mtype, byte };

/* The belt. */
byte value;		/* of the entry; 0: there is none */
byte holder = NONE;	/* the reader that has the fill lease */

mtype state = LOST;
bit busy;		/* the follower has read an invalidation, and has not removed its key */

/* State for assertions only. */
byte known = 1;		/* no value in the belt is older than this */
byte seen;		/* the newest value that a reader got from the belt */

#define ALL_DELIVERED \
	(state == FOLLOWING && tracked && !pending && !busy && !len(connection))

inline learn(told)
{
	WHEN(told > known, known = told);
	assert(!value || value >= known)
}

/* A clear covers the version of a fill lease. */
inline clear()
{
	value = 0;
	holder = NONE
}

inline remove()
{
	holder = NONE;
	value = 0
}

/* lose(): the follower finds that the connection is lost, and forgets what came on it */
inline lose()
{
	do
	:: connection?_, _
	:: empty(connection) -> break
	od;
	tracked = 0; pending = 0; busy = 0;
	clear();
	learn(origin);
	state = LOST
}

/* One message: on_removed(), on_told(). The removal is a step of its own, and may fail once. */
inline receive()
{
	atomic { connection?kind, told; busy = kind == INVALIDATION };
	atomic {
		if
		:: busy && !failed ->
			failed = 1;
			lose()
		:: busy -> remove(); learn(told)
		:: !busy -> learn(told)
		fi;
		busy = 0; told = 0; kind = 0
	}
}

active proctype follower()
{
	mtype kind;
	byte told;
	bit failed;

end:
	do
	:: state == FOLLOWING && nempty(connection) -> receive()
	/* on_question(), some time after the loss: more messages may have come before */
	:: atomic { state == FOLLOWING && !tracked -> lose() }
	/* on_offline() */
	:: atomic {
		state == LOST ->
		clear();
		learn(origin)
	}
	:: atomic { state == LOST -> state = TRACKED };
		tracked = 1;
		/* on_following(): the engine has answered that tracking is on */
		atomic {
			clear();
			learn(origin);
			state = FOLLOWING
		}
	od
}

/* The connection breaks: later messages are lost, those on their way may still come. */
active proctype network()
{
	byte losses;

end:
	do
	:: atomic {
		losses < LOSSES && tracked ->
		tracked = 0;
		pending = 0;
		losses++
	}
	od
}

/* The answer to a ping comes behind the invalidations that were sent before. */
active proctype pinger()
{
end:
	atomic { tracked && nfull(connection) -> connection!PONG, sent }
}

inline send(new)
{
	atomic { WHEN(pending, connection!INVALIDATION, new; sent = new); pending = 0 }
}

/* A write takes effect, and then the engine sends its invalidation. */
active proctype writer()
{
	do
	:: origin < LAST ->
		atomic { origin++; pending = tracked };
		send(origin)
	:: else -> break
	od
}

/* A put with HASHBELT_IF_LEASE */
#define HOLDS(task)	(holder == task)

inline put_if_lease()
{
	atomic {
		WHEN(HOLDS(me),
			assert(fetched >= known);
			value = fetched;
			holder = NONE);
		fetched = 0
	}
}

proctype reader(byte me)
{
	byte fetched, tries;

	do
	:: tries < TRIES ->
		tries++;
		atomic {
			/* A reader that finds a fill lease waits. */
			value || holder == NONE;
			if
			:: value ->
				assert(value >= known);
				assert(value >= seen);
				assert(!ALL_DELIVERED || value == origin);
				seen = value;
				fetched = 0
			:: else -> holder = me
			fi
		};
		WHEN(holder == me, fetched = origin; put_if_lease())
	:: else -> break
	od
}

/* The end of a fill lease comes before its reader has put. */
active proctype clock()
{
	if
	:: atomic { holder != NONE -> holder = NONE }
	:: true
	fi
}

init {
	atomic { run reader(0); run reader(1) };
	/* Nothing goes on. */
	timeout;
	assert(state == FOLLOWING && !pending && !len(connection));
	assert(!value || value == origin)
}

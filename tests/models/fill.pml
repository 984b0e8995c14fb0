/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fill lease of a key: callers that ask for it, compute a value from an origin, and put that
 * on condition of their lease; a writer that changes the origin and then invalidates the key; the
 * end of the lease, eviction, clear, give-up, failure, renewal, and the close of a descriptor.
 * docs/races.md lists the properties, and what the model leaves out.
 *
 * All of this happens under one shard's lock, so a critical section is one step. Computing the
 * value is not under the lock. Names are those of fill.c, lease.c, put.c and key.c in belt/.
 */
#define WHEN(condition, ...)	if :: condition -> __VA_ARGS__ :: else fi
#define FILLERS	2	/* tasks */
#define TRIES	2	/* leases that each of them may get */
#define LAST	3	/* the last value of the origin */
#define NONE	255

mtype = { IDLE, WAITING, GRANTED, FILLED };

byte origin = 1;

/* The belt, as its shard's lock guards it. */
byte value;		/* of the entry; 0: there is none */
byte versions;		/* the newest token in the shard */

/* The lease. */
bit leased;		/* it is in the index; it may be over, or cleared */
bit over;		/* its end has come */
bit cleared;		/* a clear covers its version */
bit failed;
byte token;
byte line[FILLERS];	/* the waiters in FIFO order */
byte length;

mtype result[FILLERS];
byte own[FILLERS];	/* the token that a task was granted last */

/* State for assertions only. */
byte holder = NONE;	/* the task that was granted the present lease */
bit ended[FILLERS];	/* the task's lease is no more, whatever the belt knows */
byte returned;		/* the value of the origin before the last invalidation that has returned */
byte seen;		/* the newest value that a reader got */
bit putting;

/* hb_is_live() of the lease */
#define IS_LIVE		(leased && !over && !cleared)

/* grant(), with hb_shard_insert() */
inline grant(task)
{
	/* Number 20: one task has the lease. */
	assert(!leased);
	/* Number 20: a put hands no lease over. */
	assert(!putting);
	/* hb_version() */
	versions++;
	leased = 1;
	token = versions;
	own[task] = token;
	holder = task;
	ended[task] = 0
}

/*
 * hb_leave() of the lease, with hb_lease_hand_over() and grant_next(): the first waiter is granted
 * a lease of its own.
 */
inline leave()
{
	assert(leased);
	ended[holder] = 1; leased = 0; over = 0; cleared = 0; failed = 0; token = 0;
	holder = NONE;
	WHEN(length,
		first = line[0];
		length--;
		place = 0;
		do
		:: place < length -> line[place] = line[place + 1]; place++
		:: else -> break
		od;
		line[length] = 0;
		grant(first);
		result[first] = GRANTED;
		first = 0;
		place = 0)
}

/* hb_lease_find(): a lease that is over or cleared is handed over at once */
inline find()
{
	WHEN(leased && !IS_LIVE, leave())
}

/* hb_waiters_filled() and hb_waiters_wake() */
inline tell_waiters()
{
	do
	:: length ->
		length--;
		result[line[length]] = FILLED;
		line[length] = 0
	:: else -> break
	od
}

/* insert() or put_into(), with hb_end_waits() and hb_fill_end() */
inline store(new)
{
	value = new;
	putting = 1;
	tell_waiters();
	WHEN(leased, leave());
	putting = 0
}

/* hb_fill_condition() and find_own() */
#define IS_OWN(task)	(token == own[task])
#define HOLDS(task)	(IS_LIVE && IS_OWN(task) && !failed)

/* A put with HASHBELT_IF_LEASE: try_put(), with put_condition() and charge_and_insert() */
inline put_if_lease()
{
	atomic {
		held = HOLDS(me);
		WHEN(held,
			/* Number 20: no value is stored that was fetched before an invalidation. */
			assert(fetched > returned);
			/* Number 20: a value is stored only while its lease holds. */
			assert(!ended[me]);
			store(fetched));
		held = 0
	}
}

/* hb_fill_give_up() */
inline give_up()
{
	atomic { find(); WHEN(leased && HOLDS(me), leave()) }
}

/* change_own(), and for a failure fail() */
inline renew()
{
	atomic {
		find();
		WHEN(leased && HOLDS(me),
			/* A lease that has ended is not renewed. */
			assert(!ended[me]);
			over = 0)
	}
}

inline fail()
{
	atomic {
		find();
		WHEN(leased && HOLDS(me),
			failed = 1;
			ended[me] = 1;
			tell_waiters();
			/* Number 20: no task waits for a fill that has failed. */
			assert(!length))
	}
}

/* hb_client_close() of a descriptor to which the lease is bound */
inline close()
{
	atomic { WHEN(leased && token == own[me] && !failed, leave()) }
}

/* hb_fill(): try_acquire(), with refuses() and hb_lease_take() */
inline ask()
{
	atomic {
		find();
		if
		/* A caller that asks ahead of the value's end goes on. */
		:: value -> result[me] = IDLE
		:: leased && failed -> result[me] = IDLE
		:: !(leased && failed) ->
			if
			:: !leased && !length ->
				grant(me);
				result[me] = GRANTED
			:: leased || length ->
				result[me] = WAITING;
				line[length] = me;
				length++
			:: leased || length -> result[me] = IDLE
			fi
		fi
	};
	/* waiter_sleep() */
	result[me] != WAITING
}

proctype filler(byte me)
{
	byte fetched, first, place, tries;
	bit held;

	do
	:: tries < TRIES ->
		tries++;
		ask();
		WHEN(result[me] == GRANTED,
			fetched = origin;
			if
			:: true -> renew()
			:: true
			fi;
			if
			:: true -> give_up()
			:: true -> fail()
			:: true -> close()
			/* or none of these */
			:: true
			fi;
			/* With the token of a lease that may have ended, however it did. */
			put_if_lease();
			fetched = 0);
		atomic {
			result[me] = IDLE;
			WHEN(holder != me, own[me] = 0; ended[me] = 0)
		}
	:: else -> break
	od
}

/* hb_remove() and hb_expire_key(), with hb_fill_invalidate() */
inline invalidate()
{
	atomic {
		held = value > 0;
		value = 0;
		WHEN(leased, leave());
		held = 0
	}
}

/* The only task that changes the origin, and then invalidates the key. */
proctype writer(byte me)
{
	byte first, place, before;
	bit held;

	do
	:: origin < LAST ->
		before = origin;
		origin++;
		if
		:: true -> invalidate()
		:: atomic { store(origin) }
		:: atomic {
			/* clear() */
			value = 0;
			WHEN(leased, cleared = 1; ended[holder] = 1)
		}
		fi;
		returned = before
	:: else -> break
	od
}

proctype reader()
{
end:
	do
	:: atomic {
		value && value != seen ->
		/* Number 20: no read returns a value from before an invalidation that has returned. */
		assert(value > returned);
		/* Number 20: reads never go back. */
		assert(value > seen);
		seen = value
	}
	od
}

/* The clock, the drain, the sweep after a clear, and evictions. */
proctype belt()
{
	byte first, place;
	bit evicted, expired;

end:
	do
	:: atomic {
		leased && !over ->
		over = 1;
		ended[holder] = 1
	}
	:: atomic { leased && !IS_LIVE -> leave() }
	:: atomic {
		leased && !evicted ->
		evicted = 1;
		leave()
	}
	:: atomic {
		value && !expired ->
		expired = 1;
		value = 0
	}
	od
}

init {
	byte i;

	atomic {
		do
		:: i < FILLERS ->
			result[i] = IDLE;
			run filler(i);
			i++
		:: else -> break
		od;
		run writer(NONE);
		run reader();
		run belt()
	}
}

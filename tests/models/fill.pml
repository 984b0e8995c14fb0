/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fill lease of a key: callers that ask for it, compute a value from an origin, and put that
 * on condition of their lease; a writer that changes the origin and then invalidates the key; the
 * end of the lease, eviction, clear, give-up, failure, renewal, and the close of a descriptor.
 * docs/races.md lists the properties, and what the model leaves out.
 *
 * All of this happens under one shard's lock, so a critical section is one step. Computing the
 * value is not under the lock. Names are those of fill.c, lease.c, put.c and key.c in belt/.
 *
 * -DBREAK_...: the protocol without one of its steps; the search must find an error with each.
 */
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
#ifdef BREAK_CLEAR
#define IS_LIVE		(leased && !over)
#else
#define IS_LIVE		(leased && !over && !cleared)
#endif

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
	ended[holder] = 1;
#ifdef BREAK_SAME
	was = token;
#endif
	leased = 0;
	over = 0;
	cleared = 0;
	failed = 0;
	token = 0;
	holder = NONE;
#ifndef BREAK_HAND
	if
	:: length ->
		first = line[0];
		length--;
		place = 0;
		do
		:: place < length -> line[place] = line[place + 1]; place++
		:: else -> break
		od;
		line[length] = 0;
		grant(first);
#ifdef BREAK_SAME
		token = was;
		own[first] = was;
#endif
		result[first] = GRANTED;
		first = 0;
		place = 0
	:: else
	fi;
#endif
	was = 0
}

/* hb_lease_find(): a lease that is over or cleared is handed over at once */
inline find()
{
	if
	:: leased && !IS_LIVE -> leave()
	:: else
	fi
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
#ifndef BREAK_LINE
	tell_waiters();
#endif
#ifdef BREAK_PUT
	/* Only the put of the task that has the lease ends it. */
	if
	:: leased && holder == me -> leave()
	:: else
	fi;
#else
	if
	:: leased -> leave()
	:: else
	fi;
#endif
	putting = 0
}

/* hb_fill_condition() and find_own() */
#ifdef BREAK_OVER
#define IS_IN_TIME	(leased && !cleared)
#else
#define IS_IN_TIME	IS_LIVE
#endif
#ifdef BREAK_TOKEN
#define IS_OWN(task)	1
#else
#define IS_OWN(task)	(token == own[task])
#endif
#ifdef BREAK_FAILED
#define HOLDS(task)	(IS_IN_TIME && IS_OWN(task))
#else
#define HOLDS(task)	(IS_IN_TIME && IS_OWN(task) && !failed)
#endif

/* A put with HASHBELT_IF_LEASE: try_put(), with put_condition() and charge_and_insert() */
inline put_if_lease()
{
#ifdef BREAK_CHECK
	/* The condition is tested before the critical section in which the value is stored. */
	atomic {
		held = HOLDS(me)
	};
#endif
	atomic {
#ifndef BREAK_CHECK
		held = HOLDS(me);
#endif
		if
		:: held ->
			/* Number 20: no value is stored that was fetched before an invalidation. */
			assert(fetched > returned);
			/* Number 20: a value is stored only while its lease holds. */
			assert(!ended[me]);
			store(fetched)
		:: else
		fi;
		held = 0
	}
}

/* hb_fill_give_up() */
inline give_up()
{
	atomic {
		find();
		if
		:: leased && HOLDS(me) -> leave()
		:: else
		fi
	}
}

/* change_own(), and for a failure fail() */
inline renew()
{
	atomic {
#ifndef BREAK_RENEW
		find();
		if
		:: leased && HOLDS(me) ->
#else
		/* The end of a lease is set without a look at whether it has come. */
		if
		:: leased && IS_OWN(me) && !cleared && !failed ->
#endif
			/* A lease that has ended is not renewed. */
			assert(!ended[me]);
			over = 0
		:: else
		fi
	}
}

inline fail()
{
	atomic {
		find();
		if
		:: leased && HOLDS(me) ->
			failed = 1;
			ended[me] = 1;
#ifndef BREAK_TELL
			tell_waiters();
#endif
			/* Number 20: no task waits for a fill that has failed. */
			assert(!length)
		:: else
		fi
	}
}

/* hb_client_close() of a descriptor to which the lease is bound */
inline close()
{
	atomic {
		if
		:: leased && token == own[me] && !failed -> leave()
		:: else
		fi
	}
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
	byte fetched, first, place, was, tries;
	bit held;

	do
	:: tries < TRIES ->
		tries++;
		ask();
		if
		:: result[me] == GRANTED ->
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
			fetched = 0
		:: else
		fi;
		atomic {
			result[me] = IDLE;
			if
			:: holder != me -> own[me] = 0; ended[me] = 0
			:: else
			fi
		}
	:: else -> break
	od
}

#if defined(BREAK_REMOVE)
/* A remove of a key without an entry does not end its lease. */
#define ENDS(by_remove)	(held || !by_remove)
#elif defined(BREAK_EXPIRE)
#define ENDS(by_remove)	(by_remove)
#elif defined(BREAK_AHEAD)
/* A remove or an expire of a key with an entry does not end it. */
#define ENDS(by_remove)	(!held)
#else
#define ENDS(by_remove)	1
#endif

/* hb_remove() and hb_expire_key(), with hb_fill_invalidate() */
inline invalidate(by_remove)
{
	atomic {
		held = value > 0;
		value = 0;
#ifdef BREAK_SECTION
	};
	atomic {
#endif
		if
		:: leased && ENDS(by_remove) -> leave()
		:: else
		fi;
		held = 0
	}
}

/* The only task that changes the origin, and then invalidates the key. */
proctype writer(byte me)
{
	byte first, place, was, before;
	bit held;

	do
	:: origin < LAST ->
		before = origin;
		origin++;
		if
		:: true -> invalidate(1)
		:: true -> invalidate(0)
		:: atomic {
			store(origin)
		}
		:: atomic {
			/* clear() */
			value = 0;
			if
			:: leased -> cleared = 1; ended[holder] = 1
			:: else
			fi
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
	byte first, place, was;
	bit evicted, expired;

end:
	do
	:: atomic {
		leased && !over ->
		over = 1;
		ended[holder] = 1
	}
	:: atomic {
		leased && !IS_LIVE -> leave()
	}
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

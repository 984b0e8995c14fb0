/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The life of the entries of one key: readers that take no lock, with and without a refresh;
 * writers, the drain and the sweep, which take the shard's lock; and a clock that can advance
 * between any two steps. docs/races.md lists the properties, and what the model leaves out.
 *
 * A step is one access to shared memory that no lock protects: the word, the index, the
 * floor, the clock. Accesses that the lock protects are part of the next such step. Names are
 * those of the code:
 * hb_find_in(), hb_find_again(), hb_plain_hit(), hb_end_hit(), hb_live(), replace(), put_into(),
 * overwrite(), expire_or_requeue(), hb_expire(), hb_leave(), hb_set_deadline().
 *
 * -DREINSERT: an expired entry is reported and reinserted.
 * -DREFRESHES: gets refresh, and no put overwrites. Else puts do, until gets refresh.
 */
#include "word.pml"

#define WHEN(condition, ...)	if :: condition -> __VA_ARGS__ :: else fi

#ifndef READERS
#define READERS	2
#endif
#ifndef GETS
#define GETS	1	/* gets of each reader */
#endif
#ifndef WRITES
#define WRITES	2	/* operations of the writer */
#endif
#ifndef TICKS
#define TICKS	2	/* the last tick of the clock */
#endif
#define TTL	2	/* ticks */
#define ENTRIES	3	/* one to begin with, and one for each write */
#define NONE	255

/* State that the code has. Each put has a new entry, so no entry's memory is used again. */
byte word[ENTRIES];
byte bucket[ENTRIES];	/* tick at which it falls off; 0: on no wheel */
byte index = NONE;	/* the entry of the key that a walk comes to first */
byte behind[ENTRIES];	/* the next one in the chain */
byte made;		/* entries so far */
byte versions;		/* versions so far */
byte stamp[ENTRIES];	/* version of the entry; 0 while a put overwrites it */
byte value[ENTRIES];	/* version of the put whose value it has */
byte floor;		/* versions up to this are cleared */
bit overwrites;		/* a put may overwrite a value */
bit refreshes;		/* HASHBELT_REFRESH_ON_GET: never set while overwrites is */
byte clock;
bit lock;

/* State for assertions only; the first four have a bit for each entry. */
byte told;		/* a reader has missed it because it expired */
byte expired;		/* it was claimed as expired */
byte handled;		/* the handler had it */
byte left;		/* it has left the belt */
byte promised[ENTRIES];	/* the latest deadline that a hit has given it */
byte absent;		/* a bit for each reader: the key had no value at some time of the get */
byte began[READERS];	/* the value of told when the reader's get began */
byte over;		/* number of readers and writers that have ended */

/* Of a writer, or for an assertion: an entry that is being overwritten is not cleared. */
#define IS_CLEARED(entry)	(stamp[entry] && stamp[entry] <= floor)

/* True if the key has a value at this moment. */
#define IS_VALUE(entry) \
	(!IS_CLEARED(entry) && !IS_CLAIMED(word[entry]) && DEADLINE_OF(word[entry]) > clock)
#define IS_REPLACED(entry) \
	(IS_CLAIMED(word[entry]) && REASON_OF(word[entry]) == REPLACED)
#define HAS_VALUE \
	(index != NONE && \
	 (IS_REPLACED(index) -> behind[index] != NONE && IS_VALUE(behind[index]) : \
				IS_VALUE(index)))

/* Called in each step that may end a value. */
inline note()
{
	WHEN(!HAS_VALUE, absent = BIT(READERS) - 1)
}

/* atomic64_try_cmpxchg() */
inline exchange(node, was, want, ok)
{
	atomic {
		if
		:: word[node] == was ->
			word[node] = want;
			ok = 1;
			note()
		:: else ->
			was = word[node];
			ok = 0
		fi
	}
}

/* hb_node_seal(), and the miss that follows it */
inline seal(node, was, ok)
{
	if
	:: was & HB_SEALED -> ok = 1
	:: else ->
		atomic {
			exchange(node, was, was - HB_SEALED, ok);
			WHEN(ok, told = told | BIT(node))
		}
	fi
}

/*
 * A refresh of the value with the version that the reader has seen is granted, in the same step as
 * the word that grants it.
 */
inline promise(node, want, version)
{
	/* A get refreshes the value that it returns, and no later one. */
	assert(stamp[node] == version);
	/* Number 8: no refresh of an entry that has left or that a reader has missed. */
	assert(!(left & BIT(node)));
	assert(!(told & BIT(node)));
	promised[node] = want
}

/* hb_node_move(), to a later deadline; result: the deadline, GONE or ELSEWHERE. */
#define GONE		0
#define ELSEWHERE	1
inline move(node, time, want, version, was, given, ok)
{
	was = word[node];
	do
	:: IS_CLAIMED(was) && REASON_OF(was) == REPLACED -> given = ELSEWHERE; break
	:: IS_CLAIMED(was) && REASON_OF(was) != REPLACED -> given = GONE; break
	:: !IS_CLAIMED(was) && (was <= time || was & HB_SEALED) -> given = GONE; break
	:: !IS_CLAIMED(was) && was > time && !(was & HB_SEALED) && was >= want ->
		given = was;
		break
	:: !IS_CLAIMED(was) && was > time && !(was & HB_SEALED) && was < want ->
		atomic {
			if
			:: word[node] == was ->
				word[node] = want;
				promise(node, want, version);
				given = want;
				ok = 1
			:: else ->
				was = word[node];
				ok = 0
			fi
		};
		WHEN(ok, break)
	od
}

/* hb_node_claim(), after it has read the word; was: that word, then the word it exchanged */
inline claim(node, why, was, ok)
{
	do
	:: exchange(node, was, AS_CLAIMED(was, why), ok);
		WHEN(ok, break)
	od
}

/* hb_node_claim_due(), after it has read the word */
inline claim_due(node, time, was, ok)
{
	do
	:: !IS_DUE(was, time) -> ok = 0; break
	:: IS_DUE(was, time) ->
		exchange(node, was, AS_CLAIMED(was, EXPIRED), ok);
		WHEN(ok,
			/* Number 2: the clock has reached the latest deadline that a hit gave it. */
			assert(promised[node] <= clock);
			assert(DEADLINE_OF(was) <= clock);
			break)
	od
}

inline handle(node)
{
	atomic {
		/* Number 4: the handler gets each expired entry once, and no other. */
		assert(expired & BIT(node));
		assert(!(handled & BIT(node)));
		handled = handled | BIT(node)
	}
}

/* Off the wheel, and hb_leave(); hb_leave_replaced() for an entry out of the index. */
inline leave(node)
{
	atomic {
		assert(!(left & BIT(node)));
		left = left | BIT(node);
		bucket[node] = 0;
		WHEN(index == node, index = NONE);
		note()
	}
}

/* reinsert() in belt/shard/shard.c; the state for assertions of the entry begins anew. */
inline reinsert(node, time)
{
	atomic {
		word[node] = time + TTL * HB_GRAIN;
		promised[node] = 0;
		bucket[node] = time / HB_GRAIN + TTL;
		handled = handled & ~BIT(node);
		expired = expired & ~BIT(node);
		told = told & ~BIT(node);
		looked = looked & ~BIT(node);
		began[0] = began[0] & ~BIT(node);
		began[READERS - 1] = began[READERS - 1] & ~BIT(node)
	}
}

/* hb_expire(), of an entry claimed as expired */
inline expire(node, time)
{
	if
	:: atomic {
		IS_CLEARED(node) ->
		word[node] = (word[node] & ~HB_REASON) | CLEARED;
		leave(node)
	}
	:: atomic {
		!IS_CLEARED(node) ->
		expired = expired | BIT(node);
		handle(node);
#ifdef REINSERT
		skip
	};
	reinsert(node, time)
#else
		leave(node)
	}
#endif
	fi
}

/* hb_live(), hb_live_again(); node: the live entry of the key, or NONE; was: its word */
inline find_live(node, time, was, ok)
{
	atomic { node = index; WHEN(node != NONE, was = word[node]) };
	if
	:: node == NONE
	:: node != NONE && IS_CLEARED(node) ->
		claim(node, CLEARED, was, ok);
		leave(node);
		node = NONE
	:: node != NONE && !IS_CLEARED(node) ->
		claim_due(node, time, was, ok);
		if
		:: ok ->
			expire(node, time);
#ifdef REINSERT
			was = word[node]
#else
			node = NONE
#endif
		:: else
		fi
	fi;
	/* No reader had missed this entry when the writer took the lock. */
	assert(node == NONE || !(looked & BIT(node)))
}

/* A writer takes out an entry whose deadline is after the writer's time. */
inline outlive(node, was, time)
{
	atomic { assert(DEADLINE_OF(was) > time); leave(node) }
}

/* Of two readers the first refreshes, where gets do. A single reader may or may not. */
inline wants_refresh()
{
	if
	:: me == 0 -> refresh = refreshes
	:: me == READERS - 1 -> refresh = 0
	fi
}

proctype reader(byte me)
{
	byte now, entry, is, result, gets, seen;
	bit refresh, done, other;

	do
	:: gets < GETS ->
		gets++;
		atomic {
			now = clock;
			began[me] = told;
			absent = absent & ~BIT(me);
			note()
		};
find:
		entry = index;
		WHEN(entry == NONE, goto miss);
look:
		atomic { stamp[entry] != 0 -> seen = stamp[entry] };
		WHEN(seen <= floor, goto miss);
		atomic {
			is = word[entry];
			/* The reader finds the entry claimed as expired, or sealed: a miss. */
			if
			:: IS_CLAIMED(is) && REASON_OF(is) == EXPIRED ->
				told = told | BIT(entry)
			:: !IS_CLAIMED(is) && is <= now && is & HB_SEALED ->
				told = told | BIT(entry)
			:: else
			fi
		};
		if
		:: !IS_REACHED(is, now) -> goto found
		:: IS_CLAIMED(is) && REASON_OF(is) == REPLACED ->
			entry = behind[entry];
			/* Number 9: another entry is behind it, so no reader waits for a writer. */
			assert(entry != NONE);
			goto look
		:: IS_CLAIMED(is) && REASON_OF(is) != REPLACED -> goto miss
		:: !IS_CLAIMED(is) && is <= now ->
			seal(entry, is, done);
			if
			:: done -> goto miss
			:: else -> goto look
			fi
		fi;
found:
		/* Another value than that of the version. */
		other = value[entry] != seen;
		wants_refresh();
		WHEN(stamp[entry] != seen, now = clock; goto find);
		WHEN(refresh,
			move(entry, now, now + TTL * HB_GRAIN, seen, is, result, done);
			WHEN(result <= ELSEWHERE, now = clock; goto find));
		/* Number 1: the value is that of the put whose version the get returns. */
		assert(!other);
		/* Number 3: the time is before the deadline, and no miss came before the get. */
		assert(DEADLINE_OF(is) > now || result > now);
		assert(!(began[me] & BIT(entry)));
		goto next;
miss:
		/* Number 2: a get misses only if the key had no value at some time of the get. */
		assert(absent & BIT(me));
next:
		atomic {
			now = 0; entry = 0; is = 0; result = 0; seen = 0; other = 0;
			refresh = 0; done = 0; began[me] = 0;
			absent = absent & ~BIT(me)
		}
	:: else -> break
	od;
	over++
}

/* Takes the lock, and then reads the time. */
inline enter()
{
	atomic {
		lock == 0 -> lock = 1;
		now = clock;
		looked = told
	}
}

inline release_lock()
{
	atomic { lock = 0; looked = 0; is = 0; entry = 0; done = 0 };
	now = 0
}

/* hb_node_supersede(); was: the word before */
inline supersede(node, by, keep, was, ok)
{
	was = word[node];
	do
	:: was & HB_SEALED -> ok = 0; break
	:: else ->
		/* No other task sees the new entry yet. */
		WHEN(keep, word[by] = DEADLINE_OF(was));
		exchange(node, was, AS_CLAIMED(was, REPLACED), ok);
		WHEN(ok, break)
	od
}

/* A put gives a new entry its version and its value. */
inline fill(node)
{
	versions++;
	stamp[node] = versions;
	value[node] = versions
}

/* Links a new entry behind the old one: insert() and replace(); done: it replaced the old one */
inline replace(keep)
{
	atomic {
		fill(entry);
		word[entry] = (keep -> DEADLINE_OF(word[old]) : now + TTL * HB_GRAIN);
		behind[old] = entry
	};
	supersede(old, entry, keep, is, done);
	if
	:: done ->
		/* Number 4: no reader has missed the entry that is replaced. */
		assert(!(told & BIT(old)));
		/* Number 2: a put that keeps the time keeps a refresh of the old entry. */
		assert(!keep || DEADLINE_OF(word[entry]) >= promised[old]);
		atomic {
			assert(DEADLINE_OF(is) > now);
			index = entry;
			leave(old)
		}
	:: else -> behind[old] = NONE
	fi
}

/*
 * hb_node_renew(); ok: the node was not sealed. The bucket, which the lock protects, changes in the
 * step that changes the word.
 */
inline renew(node, want, keep, was, ok)
{
	do
	:: atomic {
		was = word[node];
		if
		:: was & HB_SEALED ->
			ok = 0;
			break
		:: !(was & HB_SEALED) && keep ->
			/* Number 4: no reader has missed the entry that is overwritten. */
			assert(!(told & BIT(node)));
			ok = 1;
			break
		:: else
		fi
	};
	atomic {
		WHEN(word[node] == was,
			assert(!(told & BIT(node)));
			word[node] = want;
			promised[node] = 0;
			WHEN(was > (want), bucket[node] = (want) / HB_GRAIN);
			note();
			ok = 1;
			break)
	}
	od
}

/* put_into() and overwrite(); entry: the version of the old one; done: it was overwritten */
inline overwrite(keep, ttl)
{
	atomic {
		entry = stamp[old];
		stamp[old] = 0;
		versions++
	};
	renew(old, now + ttl * HB_GRAIN, keep, is, done);
	if
	:: done ->
		value[old] = versions;
		stamp[old] = versions
	:: else ->
		stamp[old] = entry
	fi
}

/* hashbelt_put(); keep: HASHBELT_TTL_KEEP, present: HASHBELT_IF_PRESENT */
inline put(keep, present)
{
	find_live(old, now, is, done);
	if
	:: old == NONE && present
	:: old == NONE && !present ->
		atomic {
			entry = made;
			made++;
			/* Number 4: expired entries were handled before the next put of the key. */
			assert(!(expired & ~handled));
			fill(entry);
			word[entry] = now + TTL * HB_GRAIN;
			bucket[entry] = now / HB_GRAIN + TTL;
			index = entry
		}
	:: old != NONE && overwrites ->
		assert(!(expired & ~handled));
		/* The first time-to-live is shorter than that of the entry. */
		if
		:: !keep -> overwrite(0, 1)
		:: overwrite(keep, TTL)
		fi;
		refused = !done
	:: old != NONE ->
		atomic {
			assert(!(expired & ~handled));
			entry = made;
			made++
		};
		replace(keep);
		if
		:: done -> bucket[entry] = DEADLINE_OF(word[entry]) / HB_GRAIN
		:: else -> made--; refused = 1
		fi
	fi
}

/* hb_remove() */
inline remove()
{
	find_live(old, now, is, done);
	WHEN(old != NONE,
		is = word[old];
		claim(old, REMOVED, is, done);
		outlive(old, is, now))
}

/* clear() */
inline clear()
{
	atomic { floor = versions; note() }
}

/* set_all(), when it makes gets refresh */
inline set()
{
	overwrites = 0;
	refreshes = 1
}

/*
 * The first half of hb_touch(), without the lock: it samples the time, and then finds an
 * entry that has a value as of that time; looked: its version.
 */
inline find_to_touch()
{
	now = clock;
	atomic {
		entry = index;
		if
		:: entry != NONE && (IS_CLEARED(entry) || IS_REACHED(word[entry], now)) ->
			entry = NONE
		:: entry != NONE && !(IS_CLEARED(entry) || IS_REACHED(word[entry], now)) ->
			looked = stamp[entry]
		:: else
		fi
	}
}

/*
 * hb_set_deadline_locked(): it sets the deadline to one tick after the sampled time. The entry may
 * have left or been cleared or overwritten meanwhile, and the new deadline may be reached already.
 */
inline shorten()
{
	do
	:: entry == NONE -> break
	:: entry != NONE && stamp[entry] != looked -> break
	:: entry != NONE && stamp[entry] == looked ->
		is = word[entry];
		WHEN(IS_REACHED(is, now) || is & HB_SEALED || is == now + HB_GRAIN, break);
		atomic {
			exchange(entry, is, now + HB_GRAIN, done);
			WHEN(done,
				promised[entry] = 0;
				bucket[entry] = now / HB_GRAIN + 1;
				break)
		}
	od
}

proctype writer()
{
	byte now, old, entry, is, looked, writes;
	bit done, refused;

	do
	:: writes < WRITES ->
		writes++;
		if
		:: enter();
			/* A put that was refused is tried again. */
			if
			:: put(0, 0)
			:: put(1, 0)
			:: put(0, 1)
			:: remove()
			:: clear()
#if !defined(REFRESHES) && WRITES > 1
			:: set()
#endif
			fi
		:: find_to_touch();
			atomic { lock == 0 -> lock = 1 };
			shorten()
		fi;
		writes = (refused -> writes - 1 : writes);
		old = 0;
		refused = 0;
		release_lock()
	:: else -> break
	od;
	over++
}

#define HAS_FALLEN(entry)	(bucket[entry] && bucket[entry] * HB_GRAIN <= clock)
#define IS_WORK		(HAS_FALLEN(0) || HAS_FALLEN(1) || HAS_FALLEN(2))
#define IS_SWEEP	(index != NONE && IS_CLEARED(index))

/* expire_or_requeue() */
inline expire_or_requeue(node)
{
	atomic { bucket[node] = 0; is = word[node] };
	claim_due(node, now, is, done);
	if
	:: done -> expire(node, now)
	:: else ->
		/* hb_wheel_add(): not into a bucket that has fallen off */
		atomic {
			is = DEADLINE_OF(word[node]) / HB_GRAIN;
			bucket[node] = (is > now / HB_GRAIN -> is : now / HB_GRAIN + 1)
		}
	fi
}

/* sweep_one() */
inline sweep()
{
	atomic {
		entry = index;
		if
		:: IS_SWEEP -> is = word[entry]
		:: else -> entry = NONE
		fi
	};
	WHEN(entry != NONE, claim(entry, CLEARED, is, done); leave(entry))
}

/* The drain, and the sweep after a clear. */
proctype worker()
{
	byte now, entry, is, looked;
	bit done;

	do
	:: IS_WORK ->
		enter();
		if
		:: HAS_FALLEN(0) -> expire_or_requeue(0)
		:: HAS_FALLEN(1) -> expire_or_requeue(1)
		:: HAS_FALLEN(2) -> expire_or_requeue(2)
		:: else
		fi;
		release_lock()
	:: IS_SWEEP ->
		enter();
		sweep();
		release_lock()
	:: !IS_WORK && !IS_SWEEP && over == READERS + 1 &&
	   clock == TICKS * HB_GRAIN -> break
	od;

	/* In the end each entry has left once, or is in the index and on the wheel. */
	entry = 0;
	do
	:: entry < made ->
		if
		:: left & BIT(entry) ->
			assert(index != entry && !bucket[entry]);
			assert(IS_CLAIMED(word[entry]));
			assert((REASON_OF(word[entry]) == EXPIRED) ==
			       ((handled & BIT(entry)) != 0))
		:: else ->
			assert(index == entry && !IS_CLAIMED(word[entry]));
			assert(stamp[entry] == value[entry]);
			assert(DEADLINE_OF(word[entry]) > clock);
			/* Number 4: its bucket falls off not later than its deadline. */
			assert(bucket[entry] && bucket[entry] * HB_GRAIN <= word[entry])
		fi;
		entry++
	:: else -> break
	od
}

proctype ticking()
{
	do
	:: clock < TICKS * HB_GRAIN ->
		atomic { clock = clock + HB_GRAIN; note() }
	:: else -> break
	od
}

init {
	byte i;

	atomic {
		behind[0] = NONE; behind[1] = NONE; behind[2] = NONE;
		word[0] = TTL * HB_GRAIN;
		bucket[0] = TTL;
		promised[0] = 0;
		index = 0;
#ifdef REFRESHES
		refreshes = 1;
#else
		overwrites = 1;
#endif
		made = 1; versions = 1; stamp[0] = 1; value[0] = 1;
		run ticking();
		run writer();
		run worker();
		do
		:: i < READERS -> run reader(i); i++
		:: else -> break
		od
	}
}

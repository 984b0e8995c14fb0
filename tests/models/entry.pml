/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The life of the entries of one key: readers who take no lock, with and without a
 * refresh; writers, the drain and the sweep, under the shard's lock; and a clock that
 * moves on between any two steps. docs/races.md says what is shown here and what is not.
 *
 * A step is one access to memory that others can see and that no lock protects: the word,
 * the index, the floor, the clock. What only the lock's owner looks at goes with one of
 * these steps. Names are those of the code:
 * hashbelt_find(), hashbelt_hit(), hb_find_live(), replace(), expire_or_requeue(), hb_expire(),
 * hb_leave(), set_deadline().
 *
 * -DREINSERT: what expires is reported and lives once more.
 * -DBREAK_...: the protocol without one of its parts; each must be found.
 */
#include "word.pml"

#ifndef READERS
#define READERS	2
#endif
#ifndef GETS
#define GETS	1	/* of each reader */
#endif
#ifndef WRITES
#define WRITES	2	/* of the writer */
#endif
#ifndef TICKS
#define TICKS	2	/* the clock ends there */
#endif
#define TTL	2	/* ticks */
#define ENTRIES	3	/* one to begin with, and one for each write */
#define NONE	255

/* What the code has. Each put has an entry of its own, so nothing is used again. */
byte word[ENTRIES];
byte bucket[ENTRIES];	/* tick at which it falls off; 0: on no wheel */
byte index = NONE;	/* the entry of the key that a walk comes to first */
byte behind[ENTRIES];	/* the next one in the chain */
byte made;		/* entries so far; the version of an entry is its number + 1 */
byte floor;		/* versions up to this are cleared */
byte clock;
bit lock;

/* What only the assertions look at; the first four a bit for each entry. */
byte told;		/* a reader has been told that it expired */
byte expired;		/* it was claimed as expired */
byte handled;		/* the handler had it */
byte left;		/* it has left the belt */
byte promised[ENTRIES];	/* the latest deadline that a hit has given it */
byte absent;		/* a bit for each reader: the key had no value at some time */
byte began[READERS];	/* what was told when a reader began */
byte over;		/* readers and the writer that are through */

#define IS_CLEARED(entry)	((entry) + 1 <= floor)

/* Whether the key has a value at this moment. */
#define IS_VALUE(entry) \
	(!IS_CLEARED(entry) && !IS_CLAIMED(word[entry]) && DEADLINE_OF(word[entry]) > clock)
#define IS_REPLACED(entry) \
	(IS_CLAIMED(word[entry]) && REASON_OF(word[entry]) == REPLACED)
#define HAS_VALUE \
	(index != NONE && \
	 (IS_REPLACED(index) -> behind[index] != NONE && IS_VALUE(behind[index]) : \
				IS_VALUE(index)))

/* To be called in the same step as whatever may end a value. */
inline note()
{
	if
	:: !HAS_VALUE -> absent = BIT(READERS) - 1
	:: else
	fi
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
#ifdef BREAK_SEAL
			ok = 1;
#else
			exchange(node, was, was - HB_SEALED, ok);
#endif
			if
			:: ok -> told = told | BIT(node)
			:: else
			fi
		}
	fi
}

/* A refresh is granted, in the same step as the word that grants it. */
inline promise(node, want)
{
	/* Number 8: never a hit on an entry that expires all the same; a miss is final. */
	assert(!(left & BIT(node)));
	assert(!(told & BIT(node)));
	promised[node] = want
}

/* hb_node_move(), to a later deadline; result: the deadline, GONE or ELSEWHERE. */
#define GONE		0
#define ELSEWHERE	1
inline move(node, time, want, was, given, ok)
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
#ifdef BREAK_STORE
		atomic {
			word[node] = want;
			promise(node, want)
		};
		given = want;
		break
#else
		atomic {
			if
			:: word[node] == was ->
				word[node] = want;
				promise(node, want);
				given = want;
				ok = 1
			:: else ->
				was = word[node];
				ok = 0
			fi
		};
		if
		:: ok -> break
		:: else
		fi
#endif
	od
}

/* hb_node_claim(), after its first look at the word; was: what the word is, then was */
inline claim(node, why, was, ok)
{
	do
	:: exchange(node, was, AS_CLAIMED(was, why), ok);
		if
		:: ok -> break
		:: else
		fi
	od
}

/* hb_node_claim_due(), after its first look at the word */
inline claim_due(node, time, was, ok)
{
	do
	:: !IS_DUE(was, time) -> ok = 0; break
	:: IS_DUE(was, time) ->
#ifdef BREAK_DRAIN
		atomic {
			word[node] = AS_CLAIMED(was, EXPIRED);
			ok = 1;
			note()
		};
#else
		exchange(node, was, AS_CLAIMED(was, EXPIRED), ok);
#endif
		if
		:: ok ->
			/* Number 2: its deadline, the latest promised, is reached. */
			assert(promised[node] <= clock);
			assert(DEADLINE_OF(was) <= clock);
			break
		:: else
		fi
	od
}

inline handle(node)
{
	atomic {
		/* Number 4: once. */
		assert(expired & BIT(node));
		assert(!(handled & BIT(node)));
		handled = handled | BIT(node)
	}
}

/* Off the wheel, hb_leave(); hb_leave_replaced() for one that is in the index no more. */
inline leave(node)
{
	atomic {
		assert(!(left & BIT(node)));
		left = left | BIT(node);
		bucket[node] = 0;
		if
		:: index == node -> index = NONE
		:: else
		fi;
		note()
	}
}

/* A new life: what was said of the last one counts no more. */
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

/* hb_expire(), of an entry that is claimed so; debt: see BREAK_LATE. */
inline expire(node, time, debt)
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
#ifdef BREAK_LATE
		debt = node;
#else
		handle(node);
#endif
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

/* hb_find_live(); node: what a writer has to do with, or NONE; was: its word */
inline find_live(node, time, was, ok, debt)
{
	atomic {
		node = index;
		if
		:: node != NONE -> was = word[node]
		:: else
		fi
	};
	if
	:: node == NONE
	:: node != NONE && IS_CLEARED(node) ->
		claim(node, CLEARED, was, ok);
		leave(node);
		node = NONE
	:: node != NONE && !IS_CLEARED(node) ->
#ifndef BREAK_FIND_LIVE
		claim_due(node, time, was, ok);
		if
		:: ok ->
			expire(node, time, debt);
#ifdef REINSERT
			was = word[node]
#else
			node = NONE
#endif
		:: else
		fi
#else
		skip
#endif
	fi;
	/* A reader that has missed it before was right. */
	assert(node == NONE || !(looked & BIT(node)))
}

/* What a writer takes out had its deadline ahead, as of the writer's time. */
inline outlive(node, was, time)
{
	atomic {
		assert(DEADLINE_OF(was) > time);
		leave(node)
	}
}

proctype reader(byte me)
{
	byte now, entry, is, result, gets;
	bit refresh, done;

	do
	:: gets < GETS ->
		gets++;
		atomic {
			/* Of two the first refreshes. One alone does as it likes. */
			if
			:: me == 0 -> refresh = 1
			:: me == READERS - 1 -> refresh = 0
			fi;
			now = clock;
			began[me] = told;
			absent = absent & ~BIT(me);
			note()
		};
find:
		entry = index;
		if
		:: entry == NONE -> goto miss
		:: else
		fi;
look:
		if
		:: IS_CLEARED(entry) -> goto miss
		:: else
		fi;
		atomic {
			is = word[entry];
			/* Who finds it claimed as expired, or sealed, says so. */
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
#ifdef BREAK_LOOK
			goto miss
#else
			entry = behind[entry];
			/* Number 9: there is another one; nobody waits for a writer. */
			assert(entry != NONE);
			goto look
#endif
		:: IS_CLAIMED(is) && REASON_OF(is) != REPLACED -> goto miss
		:: !IS_CLAIMED(is) && is <= now ->
#ifdef BREAK_COMPARE
			goto found
#else
			seal(entry, is, done);
			if
			:: done -> goto miss
			:: else -> goto look
			fi
#endif
		fi;
found:
		if
		:: refresh ->
			move(entry, now, now + TTL * HB_GRAIN, is, result, done);
			if
			:: result <= ELSEWHERE ->
				now = clock;
				goto find
			:: else
			fi
		:: else
		fi;
		/* Number 3: before its deadline, and not after somebody's miss. */
		assert(DEADLINE_OF(is) > now || result > now);
		assert(!(began[me] & BIT(entry)));
		goto next;
miss:
		/* Number 2: a key that was there throughout is never a miss. */
		assert(absent & BIT(me));
next:
		atomic {
			now = 0;
			entry = 0;
			is = 0;
			result = 0;
			refresh = 0;
			done = 0;
			began[me] = 0;
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
	atomic {
		lock = 0;
		looked = 0;
		is = 0;
		entry = 0;
		done = 0
	};
#ifdef BREAK_LATE
	if
	:: owed != NONE -> handle(owed); owed = NONE
	:: else
	fi;
#endif
	now = 0
}

/*
 * hb_node_supersede(); was: what the word was. With -DBREAK_REFUSE also one that is sealed.
 */
inline supersede(node, by, keep, was, ok)
{
	was = word[node];
	do
#ifndef BREAK_REFUSE
	:: was & HB_SEALED -> ok = 0; break
#endif
	:: else ->
#ifndef BREAK_KEEP
		/* Nobody sees it yet. */
		if
		:: keep -> word[by] = DEADLINE_OF(was)
		:: else
		fi;
#endif
		exchange(node, was, AS_CLAIMED(was, REPLACED), ok);
		if
		:: ok -> break
		:: else
		fi
	od
}

/* A new entry beside the old one: insert() and replace(); done: whether it got its place */
inline replace(keep)
{
	atomic {
		word[entry] = (keep -> DEADLINE_OF(word[old]) : now + TTL * HB_GRAIN);
#ifndef BREAK_ORDER
		behind[old] = entry
#endif
	};
	supersede(old, entry, keep, is, done);
#ifdef BREAK_ORDER
	behind[old] = entry;
#endif
	if
	:: done ->
		/* Number 4: nobody was told that it has expired, for it has not. */
		assert(!(told & BIT(old)));
		/* Number 2: a refresh of the old one just before is not lost. */
		assert(!keep || DEADLINE_OF(word[entry]) >= promised[old]);
		atomic {
			assert(DEADLINE_OF(is) > now);
			index = entry;
			leave(old)
		}
	:: else -> behind[old] = NONE
	fi
}

/* hashbelt_put(); keep: HASHBELT_TTL_KEEP, present: HASHBELT_IF_PRESENT */
inline put(keep, present)
{
	find_live(old, now, is, done, owed);
	if
	:: old == NONE && present
	:: old == NONE && !present ->
		atomic {
			entry = made;
			made++;
			/* Number 4: what expired before was handled before the next life. */
			assert(!(expired & ~handled));
			word[entry] = now + TTL * HB_GRAIN;
			bucket[entry] = now / HB_GRAIN + TTL;
			index = entry
		}
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

/* hashbelt_remove() */
inline remove()
{
	find_live(old, now, is, done, owed);
	if
	:: old != NONE ->
		is = word[old];
		claim(old, REMOVED, is, done);
		outlive(old, is, now)
	:: else
	fi
}

/* clear() */
inline clear()
{
	atomic {
		floor = made;
		note()
	}
}

/*
 * The first half of hashbelt_touch(): without the lock it takes the time, and then an entry
 * that has a value as of then.
 */
inline find_to_touch()
{
	now = clock;
	atomic {
		entry = index;
		if
		:: entry != NONE && (IS_CLEARED(entry) || IS_REACHED(word[entry], now)) ->
			entry = NONE
		:: else
		fi
	}
}

/*
 * The second half of set_deadline(): to one tick from then, under the lock. What was found
 * may have gone or have been cleared meanwhile, and that deadline may be reached.
 */
inline shorten()
{
	do
	:: entry == NONE -> break
	:: entry != NONE ->
		is = word[entry];
		if
		:: IS_REACHED(is, now) || is & HB_SEALED || is == now + HB_GRAIN -> break
		:: else
		fi;
		atomic {
			exchange(entry, is, now + HB_GRAIN, done);
			if
			:: done ->
				promised[entry] = 0;
#ifndef BREAK_SHORTEN
				bucket[entry] = now / HB_GRAIN + 1;
#endif
				break
			:: else
			fi
		}
	od
}

proctype writer()
{
	byte now, old, entry, is, looked, writes, owed = NONE;
	bit done, refused;

	do
	:: writes < WRITES ->
		writes++;
		if
		:: enter();
			/* A put that was refused comes back. */
			if
			:: put(0, 0)
			:: put(1, 0)
			:: put(0, 1)
			:: remove()
			:: clear()
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
inline judge(node)
{
	atomic {
		bucket[node] = 0;
		is = word[node]
	};
	claim_due(node, now, is, done);
	if
	:: done -> expire(node, now, owed)
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
	if
	:: entry != NONE ->
		claim(entry, CLEARED, is, done);
		leave(entry)
	:: else
	fi
}

/* The drain, and the sweep after a clear. */
proctype worker()
{
	byte now, entry, is, looked, owed = NONE;
	bit done;

	do
	:: IS_WORK ->
		enter();
		if
		:: HAS_FALLEN(0) -> judge(0)
		:: HAS_FALLEN(1) -> judge(1)
		:: HAS_FALLEN(2) -> judge(2)
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

	/* All is quiet: each entry has left once, or is there and on the wheel. */
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
			assert(DEADLINE_OF(word[entry]) > clock);
			/* Number 4: the drain comes by when it is due. */
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
		atomic {
			clock = clock + HB_GRAIN;
			note()
		}
	:: else -> break
	od
}

init {
	byte i;

	atomic {
		behind[0] = NONE;
		behind[1] = NONE;
		behind[2] = NONE;
		word[0] = TTL * HB_GRAIN;
		bucket[0] = TTL;
		promised[0] = 0;
		index = 0;
		made = 1;
		run ticking();
		run writer();
		run worker();
		do
		:: i < READERS -> run reader(i); i++
		:: else -> break
		od
	}
}

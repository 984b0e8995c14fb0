/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One request that waits for two keys. One task registers it, while puts of its keys, its
 * timeout, a clear, a cancel and the close of its client's descriptor each try to end it.
 * docs/races.md lists the properties, and what the model leaves out. The holder is the client.
 *
 * Each key and the request have a shard of their own, with its lock: the case with the fewest
 * orders enforced. A critical section that does not read the word twice is one step. So is
 * one under the client's lock, which nests inside the shards' locks. Names are those of
 * belt/wait/request.c, belt/wait/client.c and belt/events/link.c.
 *
 * Memory is freed at once, without a grace period: no step may rely on one.
 */
#include "word.pml"

#define WHEN(condition, ...)	if :: condition -> __VA_ARGS__ :: else fi

#define KEYS		2
#define SHARD		2	/* shard of the request; those of the keys are 0 and 1 */
#define DEADLINE	8

/* The list that a watch is in. */
#define NOWHERE		0
#define AT_POINT	1	/* the list of its key's waitpoint */
#define CLAIMED		2	/* the list of the put that has claimed the request */

bit lock[3];
byte clock;

/* The request. Before it is enlisted its word is undefined. */
byte word;
bit linking, done;	/* under the lock of its shard */
bit indexed, on_wheel, in_done;
byte watch[KEYS];	/* each under the lock of its key's shard */
byte refs = 1;
bit freed;

/* Its client. */
bit gone, attached, queued;
byte holder_refs = 1;

/* State for assertions only. */
bit registered;		/* hb_request_add() has returned success */
bit enlisted;
bit closed;		/* the close of the client's descriptor has returned */
byte told;		/* completions queued for the client */
byte dropped;		/* completions dropped because the client had closed */
byte ended;		/* number of times that the request was completed */

inline acquire(shard)
{
	atomic { lock[shard] == 0 -> lock[shard] = 1 }
}

/* Called at each access to the request: it must not be freed. */
inline look()
{
	assert(!freed)
}

/* hashbelt_entry_put() */
inline drop()
{
	atomic {
		look();
		assert(refs > 0);
		refs--;
		WHEN(refs == 0,
			/* No pointer to it is left. */
			assert(!indexed && !on_wheel && !attached && !in_done && !queued);
			assert(watch[0] == NOWHERE && watch[1] == NOWHERE);
			freed = 1)
	}
}

/* hb_node_try_claim() */
inline try_claim(why, was, won)
{
	atomic { look(); was = word };
	do
	:: IS_CLAIMED(was) -> won = 0; break
	:: !IS_CLAIMED(was) ->
		atomic {
			look();
			if
			:: word == was -> word = AS_CLAIMED(was, why); won = 1
			:: else -> was = word; won = 0
			fi
		};
		WHEN(won, break)
	od
}

/* hb_node_claim_due() */
inline claim_due(was, won)
{
	atomic { look(); was = word };
	do
	:: !IS_DUE(was, clock) -> won = 0; break
	:: IS_DUE(was, clock) ->
		atomic {
			look();
			if
			:: word == was -> word = AS_CLAIMED(was, EXPIRED); won = 1
			:: else -> was = word; won = 0
			fi
		};
		WHEN(won, break)
	od
}

/* Under the lock of the request's shard; with hb_client_notify(). */
inline detach()
{
	atomic {
		look();
		assert(IS_CLAIMED(word));
		assert(indexed);
		assert(holder_refs > 0);
		on_wheel = 0; indexed = 0; attached = 0; done = 1;
		ended++;
		/* Number 19: a request is completed once. */
		assert(ended == 1);
		refs++;
		if
		:: REASON_OF(word) == RELEASED -> drop()
		:: REASON_OF(word) != RELEASED && !gone -> told++; queued = 1
		:: REASON_OF(word) != RELEASED && gone -> dropped++; drop()
		fi;
		holder_refs--
	}
}

inline unwatch(key)
{
	atomic {
		!lock[key] -> look();
		WHEN(watch[key] == AT_POINT, watch[key] = NOWHERE)
	}
}

inline settle()
{
	unwatch(0);
	unwatch(1);
	atomic {
		/* Number 19: it is in no list when the call that completed it returns. */
		assert(watch[0] == NOWHERE && watch[1] == NOWHERE);
		assert(!indexed && !on_wheel && !attached);
		drop()
	}
}

inline finish(flag)
{
	atomic {
		!lock[SHARD] -> look();
		WHEN(!done, detach());
		flag = linking
	};
	WHEN(!flag, settle())
}

/* hb_request_add() */
proctype register()
{
	byte was, key;
	bit won, flag, err;

	/* request_insert(), with hb_shard_insert(); hb_attach() is under the client's lock */
	acquire(SHARD);
	linking = 1;
	word = DEADLINE;
	atomic {
		if
		:: gone -> err = 1
		:: else ->
			/* Number 18: no request is attached to a client that has closed. */
			assert(!closed);
			attached = 1;
			holder_refs++
		fi
	};
	if
	:: !err -> atomic {
		indexed = 1;
		enlisted = 1
	}
	:: else
	fi;
	lock[SHARD] = 0;
	if
	:: err -> drop()
	:: else ->
		/* link_watches(): there may be no memory */
		do
		:: key < KEYS && !err ->
			if
			:: err = 1
			:: atomic { !lock[key] -> look(); watch[key] = AT_POINT }
			fi;
			key++
		:: else -> break
		od;
		WHEN(err,
			try_claim(RELEASED, was, won);
			if
			:: won -> finish(flag)
			:: else -> err = 0
			fi);
		registered = !err;
		/* request_arm() */
		atomic {
			!lock[SHARD] -> look();
			linking = 0;
			flag = done;
			WHEN(!IS_CLAIMED(word), on_wheel = 1)
		};
		WHEN(flag, settle())
	fi
}

/* end_batch(): a put of a key, or the worker after it, claims requests under its lock */
proctype put(byte key)
{
	byte was;
	bit won, flag;

	acquire(key);
	if
	:: atomic {
		watch[key] == AT_POINT ->
		look();
		watch[key] = NOWHERE
	};
		claim_due(was, won);
		WHEN(!won, try_claim(REPLACED, was, won));
		WHEN(won, watch[key] = CLAIMED)
	:: else
	fi;
	lock[key] = 0;
	WHEN(won,
		/* hb_requests_finish() */
		atomic { look(); watch[key] = NOWHERE };
		finish(flag))
}

/* request_leave(), under the lock of the request's shard */
inline leave()
{
	detach();
	atomic { WHEN(!linking, in_done = 1) }
}

/* The drain, the sweep after a clear, and hb_requests_step(). */
proctype worker()
{
	byte was;
	bit won, cleared;

	do
	:: on_wheel && clock >= DEADLINE ->
		acquire(SHARD);
		WHEN(on_wheel,
			claim_due(was, won);
			WHEN(won, leave()));
		lock[SHARD] = 0
	:: !cleared ->
		cleared = 1;
		acquire(SHARD);
		WHEN(indexed,
			try_claim(CLEARED, was, won);
			WHEN(won, leave()));
		lock[SHARD] = 0
	:: in_done ->
		atomic { !lock[SHARD] -> in_done = 0 };
		settle()
	:: timeout -> break
	od
}

/* hb_request_cancel() */
proctype cancel()
{
	byte was;
	bit won, flag, found;

	atomic { !lock[SHARD] -> WHEN(indexed, found = 1; refs++) };
	WHEN(found,
		claim_due(was, won);
		WHEN(!won, try_claim(RELEASED, was, won));
		WHEN(won, finish(flag));
		drop())
}

/* The reader of the events, and then hb_client_close(). */
proctype holder()
{
	byte was;
	bit won, flag;

	if
	:: atomic { queued -> queued = 0; drop() }
	:: true
	fi;
	atomic { gone = 1; WHEN(queued, queued = 0; drop()) };
	do
	:: atomic {
		/* next_bound(); if the request is claimed, close tries again until it is detached. */
		attached && !IS_CLAIMED(word) ->
		look();
		refs++
	};
		try_claim(RELEASED, was, won);
		WHEN(won, finish(flag));
		drop()
	:: !attached -> break
	od;
	closed = 1;
	atomic { assert(holder_refs > 0); holder_refs-- }
}

proctype ticking()
{
	clock = DEADLINE
}

init {
	atomic {
		run register();
		run put(0);
		run put(1);
		run worker();
		run cancel();
		run holder();
		run ticking()
	};
	_nr_pr == 1;
	assert(!indexed && !attached && !on_wheel && !in_done);
	assert(watch[0] == NOWHERE && watch[1] == NOWHERE);
	assert(!queued);
	assert(refs == 0 && freed);
	assert(holder_refs == 0);
	assert(ended == enlisted);
	assert(told + dropped == (enlisted && REASON_OF(word) != RELEASED));
	/* The client gets no completion of a request that was refused. */
	assert(registered || !told)
}

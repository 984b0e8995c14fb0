/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A lock with an owner, and tasks that wait for it: unlock, the end of the lease, another
 * lease, timeouts of those who wait; and sleeping. docs/races.md says what is shown here and
 * what is not.
 *
 * All this happens under one shard's lock, so a critical section is one step. What is not
 * under it is a task's going to sleep, its wakeups, timers and the clock. Nothing here
 * drains: who is the first to wait must not depend on the worker. Names are those of
 * belt/lease.c and belt/lock.c.
 *
 * -DBREAK_...: the protocol without one of its parts; each must be found.
 */
#define TASKS	3
#define NOBODY	255
#define NEVER	100
#define LEASE	2
#define TICKS	3	/* the clock ends there */

mtype = { RUNNING, INTERRUPTIBLE };
mtype = { IDLE, WAITING, GRANTED, TIMED_OUT };

byte clock;
byte owner = NOBODY;	/* who has the lock; its lease may be over */
byte lease;		/* when it ends */
byte line[TASKS];	/* who waits, the first first */
byte length;

mtype state[TASKS];	/* of the task */
mtype result[TASKS];
byte timer[TASKS];	/* when it rings */
byte until[TASKS];	/* when the task gives up */

/* What only the assertions look at. */
byte came;		/* tickets of those who have lined up */
byte ticket[TASKS];
byte served;		/* the ticket of the task that was served last */
bit asleep[TASKS];	/* the task has called schedule() */

/* Nothing lasts beyond the end of the clock. */
#define AT(time)	((time) < TICKS -> (time) : TICKS)

inline wake(task)
{
	state[task] = RUNNING
}

/* The first in the line looks when the lease is over, or its own time. */
inline arm_first()
{
	if
	:: length -> timer[line[0]] = (until[line[0]] < lease -> until[line[0]] : lease)
	:: else
	fi
}

/* Takes a place out of the line. */
inline leave_line(place)
{
	length--;
	do
	:: place < length -> line[place] = line[place + 1]; place++
	:: else -> break
	od;
	line[length] = 0
}

/* hb_lease_grant() */
inline grant(task)
{
	/* Number 16: one owner at a time. */
	assert(owner == NOBODY);
	owner = task;
	lease = AT(clock + LEASE)
}

/* hb_leave() of the lock, with hb_lease_hand_over() */
inline leave()
{
	owner = NOBODY;
	if
	:: length ->
		first = line[0];
#ifdef BREAK_HAND
		/* Woken to try again, as others would do it. */
		wake(first);
#else
		place = 0;
		leave_line(place);
		/* Number 17: in the order of coming. */
		assert(ticket[first] > served);
		served = ticket[first];
		grant(first);
		result[first] = GRANTED;
#ifndef BREAK_WAKE
		wake(first);
#endif
#ifndef BREAK_ARM
		arm_first()
#endif
#endif
	:: else
	fi;
	first = 0;
	place = 0
}

/* hb_lease_find(): a lease that is over is handed over there and then */
inline find_hold()
{
	if
	:: owner != NOBODY && lease <= clock -> leave()
	:: else
	fi
}

#define AWAKE(task) \
	(!asleep[task] || state[task] == RUNNING || result[task] == WAITING)

/* What must hold whenever the lock is given up. */
inline check()
{
#ifndef BREAK_HAND
	/* Number 17: what somebody waits for is not free. */
	assert(!length || owner != NOBODY);
#endif
	/* The first in the line has a timer, or looks by itself. */
	assert(!length || !asleep[line[0]] || state[line[0]] == RUNNING ||
	       timer[line[0]] <= lease);
	/* No task sleeps that has what it wants. */
	assert(AWAKE(0) && AWAKE(1) && AWAKE(2))
}

/* waiter_check(), which who still waits calls */
inline look_around(me)
{
	if
	:: result[me] == WAITING ->
		find_hold();
		if
#ifdef BREAK_RESULT
		:: result[me] != WAITING && until[me] <= clock -> result[me] = TIMED_OUT
		:: result[me] != WAITING && until[me] > clock
#else
		:: result[me] != WAITING
#endif
		:: result[me] == WAITING && until[me] <= clock ->
			result[me] = TIMED_OUT;
			place = 0;
			do
			:: line[place] == me -> break
			:: else -> place++
			od;
			leave_line(place);
			place = 0;
#ifndef BREAK_PASS
			arm_first()
#endif
		:: result[me] == WAITING && until[me] > clock ->
			/* arm() */
			if
			:: line[0] == me && lease < until[me] -> timer[me] = lease
			:: else -> timer[me] = until[me]
			fi
		fi
	:: else
	fi
}

proctype task(byte me)
{
	byte first, place;

	/* hashbelt_lock() */
	if
	:: until[me] = AT(clock + 1)
	:: until[me] = NEVER
	fi;
	atomic {
		find_hold();
		if
		:: owner == NOBODY ->
			/* Nobody who comes later takes it in between. */
			assert(!length);
			grant(me);
			result[me] = GRANTED
		:: else ->
			result[me] = WAITING;
			came++;
			ticket[me] = came;
			line[length] = me;
			length++
		fi;
#ifdef BREAK_HAND
		assert(!length || owner != NOBODY)
#endif
	};
	/* waiter_sleep() */
	do
	:: result[me] == IDLE -> break
	:: result[me] != IDLE ->
#ifndef BREAK_STATE
		state[me] = INTERRUPTIBLE;
#endif
		atomic {
			look_around(me);
			check()
		};
		if
		:: result[me] != WAITING -> break
		:: else
		fi;
#ifdef BREAK_STATE
		state[me] = INTERRUPTIBLE;
#endif
		/* schedule() */
		atomic {
			asleep[me] = 1;
			assert(AWAKE(me))
		};
		atomic {
			state[me] == RUNNING ->
			asleep[me] = 0
		}
	od;
	atomic {
		state[me] = RUNNING;
		timer[me] = NEVER;
		until[me] = 0;
		ticket[me] = 0
	};
	if
	:: result[me] == TIMED_OUT ->
		/* Who is told that it has nothing has nothing. */
		assert(owner != me)
	:: result[me] == GRANTED ->
		if
		:: atomic {
			owner == me && lease > clock ->
			/* hashbelt_renew(): sooner or later than it was */
			if
			:: lease = AT(clock + 1)
			:: lease = AT(clock + LEASE)
			fi;
#ifndef BREAK_RENEW
			arm_first();
#endif
			check()
		}
		:: true
		fi;
		if
		:: atomic {
			/* hashbelt_unlock() */
			find_hold();
			if
			:: owner == me -> leave()
			:: else
			fi;
			check()
		}
		/* or it dies with the lock in its hands */
		:: true
		fi
	fi
}

/* Time and timers; a timer that is late is one that has not rung yet. */
proctype ticking()
{
end:
	do
	:: clock < TICKS -> clock++
	:: atomic {
		timer[0] <= clock ->
		timer[0] = NEVER;
		wake(0)
	}
	:: atomic {
		timer[1] <= clock ->
		timer[1] = NEVER;
		wake(1)
	}
	:: atomic {
		timer[2] <= clock ->
		timer[2] = NEVER;
		wake(2)
	}
	od
}

init {
	byte i;

	atomic {
		do
		:: i < TASKS ->
			state[i] = RUNNING;
			result[i] = IDLE;
			timer[i] = NEVER;
			i++
		:: else -> break
		od;
		run ticking();
		run task(0);
		run task(1);
		run task(2)
	}
}

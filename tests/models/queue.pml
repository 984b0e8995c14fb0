/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock with an owner, and tasks that wait for it: unlock, the end of the lease, a renewed
 * lease, timeouts of waiters, and sleeping. docs/races.md lists the properties, and what the
 * model leaves out.
 *
 * All of this happens under one shard's lock, so a critical section is one step. Going to
 * sleep, wakeups, timers and the clock are not under the lock. The model has no drain: the
 * first waiter must get the lock without the worker. Names are those of belt/wait/lease.c and
 * belt/wait/lock.c.
 */
#define WHEN(condition, ...)	if :: condition -> __VA_ARGS__ :: else fi
#define TASKS	3
#define NOBODY	255
#define NEVER	100
#define LEASE	2
#define TICKS	3	/* the last tick of the clock */

mtype = { RUNNING, INTERRUPTIBLE };
mtype = { IDLE, WAITING, GRANTED, TIMED_OUT };

byte clock;
byte owner = NOBODY;	/* the lock's owner; its lease may be over */
byte lease;		/* the tick at which the lease ends */
byte line[TASKS];	/* the waiters in FIFO order */
byte length;

mtype state[TASKS];	/* state of the task */
mtype result[TASKS];
byte timer[TASKS];	/* the tick at which the timer expires */
byte until[TASKS];	/* the tick at which the task's wait times out */

/* State for assertions only. */
byte came;		/* number of tickets given to waiters so far */
byte ticket[TASKS];
byte served;		/* the ticket of the last waiter that got the lock */
bit asleep[TASKS];	/* the task has called schedule() */

/* A time, at most the last tick of the clock. */
#define AT(time)	((time) < TICKS -> (time) : TICKS)

inline wake(task)
{
	state[task] = RUNNING
}

/* Sets the first waiter's timer to the end of the lease or of its wait, whichever is first. */
inline arm_first()
{
	WHEN(length, timer[line[0]] = (until[line[0]] < lease -> until[line[0]] : lease))
}

/* Takes the waiter at a place out of the line. */
inline leave_line(place)
{
	length--;
	do
	:: place < length -> line[place] = line[place + 1]; place++
	:: else -> break
	od;
	line[length] = 0
}

/* grant() */
inline grant(task)
{
	/* Number 16: one owner at a time. */
	assert(owner == NOBODY);
	owner = task;
	lease = AT(clock + LEASE)
}

/* hb_leave() of the lock, with hb_lease_hand_over(). There are fewer waiters than a batch. */
inline leave()
{
	owner = NOBODY;
	WHEN(length,
		first = line[0];
		place = 0;
		leave_line(place);
		/* Number 17: waiters are served in FIFO order. */
		assert(ticket[first] > served);
		served = ticket[first];
		grant(first);
		result[first] = GRANTED;
		wake(first);
		arm_first());
	first = 0;
	place = 0
}

/* hb_lease_find(): if the lease is over, hands the lock over at once */
inline find_hold()
{
	WHEN(owner != NOBODY && lease <= clock, leave())
}

#define AWAKE(task) \
	(!asleep[task] || state[task] == RUNNING || result[task] == WAITING)

/* Must hold whenever the shard's lock is released. */
inline check()
{
	/* Number 17: a lock with waiters has an owner. */
	assert(!length || owner != NOBODY);
	/* The first waiter has a timer not later than the lease, or is awake. */
	assert(!length || !asleep[line[0]] || state[line[0]] == RUNNING ||
	       timer[line[0]] <= lease);
	/* No task sleeps that has got the lock or has timed out. */
	assert(AWAKE(0) && AWAKE(1) && AWAKE(2))
}

/* waiter_check(), which a waiter calls */
inline look_around(me)
{
	WHEN(result[me] == WAITING,
		find_hold();
		if
		:: result[me] != WAITING
		:: result[me] == WAITING && until[me] <= clock ->
			result[me] = TIMED_OUT;
			place = 0;
			do
			:: line[place] == me -> break
			:: else -> place++
			od;
			leave_line(place);
			place = 0;
			arm_first()
		:: result[me] == WAITING && until[me] > clock ->
			/* arm() */
			if
			:: line[0] == me && lease < until[me] -> timer[me] = lease
			:: else -> timer[me] = until[me]
			fi
		fi)
}

proctype task(byte me)
{
	byte first, place;

	/* hb_lock_acquire() */
	if
	:: until[me] = AT(clock + 1)
	:: until[me] = NEVER
	fi;
	atomic {
		find_hold();
		if
		:: owner == NOBODY ->
			/* No task gets a free lock while another waits for it. */
			assert(!length);
			grant(me);
			result[me] = GRANTED
		:: else ->
			result[me] = WAITING;
			came++;
			ticket[me] = came;
			line[length] = me;
			length++
		fi
	};
	/* waiter_sleep() */
	do
	:: result[me] == IDLE -> break
	:: result[me] != IDLE ->
		state[me] = INTERRUPTIBLE;
		atomic { look_around(me); check() };
		WHEN(result[me] != WAITING, break);
		/* schedule() */
		atomic { asleep[me] = 1; assert(AWAKE(me)) };
		atomic { state[me] == RUNNING -> asleep[me] = 0 }
	od;
	atomic { state[me] = RUNNING; timer[me] = NEVER; until[me] = 0; ticket[me] = 0 };
	if
	:: result[me] == TIMED_OUT ->
		/* Number 17: a task whose wait timed out does not own the lock. */
		assert(owner != me)
	:: result[me] == GRANTED ->
		if
		:: atomic {
			owner == me && lease > clock ->
			/* hb_lock_renew(): to a tick before or after the present end */
			if
			:: lease = AT(clock + 1)
			:: lease = AT(clock + LEASE)
			fi;
			arm_first();
			check()
		}
		:: true
		fi;
		if
		:: atomic {
			/* hb_lock_release() */
			find_hold();
			WHEN(owner == me, leave());
			check()
		}
		/* or it exits without an unlock */
		:: true
		fi
	fi
}

/* The clock and timers. A timer may expire late. */
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
			state[i] = RUNNING; result[i] = IDLE; timer[i] = NEVER;
			i++
		:: else -> break
		od;
		run ticking();
		run task(0);
		run task(1);
		run task(2)
	}
}

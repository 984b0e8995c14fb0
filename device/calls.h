/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ioctls: their table. hashbelt_main.c makes its calls[] of the rows, and tests/interface.py
 * the lists of other files that repeat them.
 */
#ifndef _HASHBELT_CALLS_H
#define _HASHBELT_CALLS_H

#include "call.h"

/* An ioctl that needs no belt. */
#define NO_BELT		BIT(31)

#define MAY(what)	HASHBELT_MAY_##what

/*
 * CALL(NAME, rights, function): HASHBELT_IOC_NAME needs these rights, or NO_BELT, and the function
 * carries it out. ITEM_CALL(NAME): it is an operation on one key, HASHBELT_OP_NAME. A batch has no
 * needs: each of its operations has its own. The ioctl ABI returns a constant.
 */
#define HB_CALLS(CALL, ITEM_CALL)					\
	ITEM_CALL(GET)							\
	ITEM_CALL(PUT)							\
	ITEM_CALL(TOUCH)						\
	ITEM_CALL(REMOVE)						\
	ITEM_CALL(EXPIRE)						\
	CALL(BATCH, 0, hb_call_batch)					\
	CALL(SCAN, MAY(READ), hb_call_scan)				\
	CALL(CLEAR, MAY(WRITE), hb_call_clear)				\
	ITEM_CALL(ADD)							\
	CALL(FILL, MAY(READ) | MAY(WRITE), hb_call_fill)		\
	CALL(INFO, MAY(READ), hb_call_info)				\
	CALL(STAT, MAY(READ), hb_call_stat)				\
	CALL(HALT, MAY(OWN), hb_call_time)				\
	CALL(RESUME, MAY(OWN), hb_call_time)				\
	CALL(ROTATE, MAY(OWN), hb_call_time)				\
	CALL(ADVANCE, MAY(OWN), hb_call_time)				\
	CALL(SET, MAY(OWN), hb_call_manage)				\
	CALL(BUCKETS, MAY(READ), hb_call_buckets)			\
	CALL(WINDOW, MAY(READ), hb_call_window)				\
	CALL(WATCH, MAY(READ), hb_call_watch)				\
	CALL(ACK, MAY(READ) | MAY(CONSUME), hb_call_ack)		\
	CALL(REQUEST, MAY(READ) | MAY(WRITE), hb_call_request)		\
	CALL(CANCEL, MAY(READ), hb_call_cancel)				\
	CALL(COMPLETE, MAY(WRITE), hb_call_complete)			\
	CALL(CREATE, NO_BELT, hb_call_manage)				\
	CALL(OPEN, NO_BELT, hb_call_manage)				\
	CALL(DESTROY, NO_BELT, hb_call_manage)				\
	CALL(NEXT, NO_BELT, hb_call_next)				\
	CALL(LOCK, MAY(WRITE), hb_call_lock)				\
	CALL(UNLOCK, MAY(WRITE), hb_call_lock)				\
	CALL(RENEW, MAY(WRITE), hb_call_lock)				\
	CALL(HOLDER, MAY(READ), hb_call_lock)				\
	CALL(RELEASE, MAY(WRITE), hb_call_lock)				\
	CALL(LOCKS, MAY(READ), hb_call_locks)

#define HB_DECLARE(name, needs, run)	int run(const struct hb_call *call, void *arg);
#define HB_DECLARED_ELSEWHERE(name)

HB_CALLS(HB_DECLARE, HB_DECLARED_ELSEWHERE)

#undef HB_DECLARE
#undef HB_DECLARED_ELSEWHERE

#endif /* _HASHBELT_CALLS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open file of the device, for the files that serve it.
 *
 * A descriptor has a session: a belt, and what it may do with it, decided when
 * it was bound. Each call works with the session that it found, under a
 * reference of its own, so that another thread may bind anew at any time.
 */
#ifndef _HASHBELT_SESSION_H
#define _HASHBELT_SESSION_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>

#include "belt/link.h"
#include "hashbelt_core.h"
#include "registry.h"

/**
 * struct hb_session - what a descriptor is bound to
 * @named:	the belt, with a reference; constant
 * @access:	HASHBELT_MAY_*; constant
 * @ref:	one for the descriptor, one for each call that goes on
 * @lock:	protects all below but @rcu
 * @acks:	what is read stays in @in_flight until it is acknowledged; readers see
 *		the mode as of their call, without @lock
 * @requests:	what is read is of its own requests; likewise, but who waits is woken
 *		when it changes
 * @in_flight:	events that were read, and are owned by this session
 * @lost:	what their records said was lost ...
 * @told:	... the last of them in that of this sequence number
 * @client:	what is bound to the descriptor; made when that is first needed
 * @watch:	wakes the descriptor's pollers when the belt has events
 * @watching:	@watch is in the belt's wait queue
 * @listen:	wakes them when requests are completed
 * @listening:	@listen is in the client's wait queue
 * @left:	the descriptor is bound to another belt, or closed
 * @rcu:	for freeing it
 */
struct hb_session {
	struct hb_named_belt *named;
	u32 access;
	refcount_t ref;
	struct mutex lock;	/* taken outside of a belt's locks */
	bool acks;
	bool requests;
	struct hb_fifo in_flight;
	u64 lost;
	u64 told;
	struct hb_client *client;
	wait_queue_entry_t watch;
	bool watching;
	wait_queue_entry_t listen;
	bool listening;
	bool left;
	struct rcu_head rcu;
};

/**
 * struct hb_file - an open file of the device
 * @session:	changed by xchg(); NULL where there was no default belt
 * @wait:	pollers: these outlive a session
 */
struct hb_file {
	struct hb_session __rcu *session;
	wait_queue_head_t wait;
};

struct hb_session *hb_session_alloc(void);
void hb_file_bind(struct file *filp, struct hb_session *session, struct hb_named_belt *named,
		  u32 access);
void hb_session_close(struct hb_session *session);
void hb_session_free(struct hb_session *session);
void hb_session_return_in_flight(struct hb_session *session);
struct hb_client *hb_session_client(struct hb_session *session);
int hb_file_bind_name(struct file *filp, const char *name, bool powerless);
int hb_file_open(struct inode *inode, struct file *filp);
int hb_file_release(struct inode *inode, struct file *filp);

static inline void hb_session_put(struct hb_session *session)
{
	if (unlikely(refcount_dec_and_test(&session->ref)))
		hb_session_free(session);
}

/* The session of a descriptor, with a reference, or an error. */
static inline struct hb_session *hb_session_get(struct hb_file *file, u32 access)
{
	struct hb_session *session;
	int err;

	rcu_read_lock();
	do {
		session = rcu_dereference(file->session);
	} while (session && !refcount_inc_not_zero(&session->ref));
	rcu_read_unlock();
	if (unlikely(!session))
		return ERR_PTR(-EIDRM);
	if (unlikely((session->access & access) != access))
		err = -EPERM;
	else if (unlikely(hashbelt_is_dead(session->named->belt)))
		err = -EIDRM;
	else
		return session;
	hb_session_put(session);
	return ERR_PTR(err);
}

/*
 * Wakes the pollers of a file: all of them, or where @news has the key of a wakeup, one of the
 * exclusive ones.
 */
static inline void hb_file_wake_pollers(struct hb_file *file, void *news)
{
	wait_queue_head_t *wait = &file->wait;

	/*
	 * Benign race in poll and epoll: they look without a lock at what a wakeup changes, and
	 * then again under the lock.
	 */
	data_race((news ? wake_up_poll(wait, key_to_poll(news)) : wake_up_all(wait), 0));
}

#endif /* _HASHBELT_SESSION_H */

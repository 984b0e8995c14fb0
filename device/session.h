/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_SESSION_H
#define _HASHBELT_SESSION_H

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "belt/events/link.h"
#include "belt/ground/poller.h"
#include "belt/belt.h"
#include "registry.h"

/**
 * struct hb_session - a descriptor that is bound to a belt
 * @named:	the belt, with a reference; constant
 * @file:	the descriptor, with a reference; constant
 * @place:	in named->sessions; under named->lock
 * @access:	HASHBELT_MAY_*; constant
 * @copies:	the last put has found an entry of its key, and took no memory from it: the next one
 *		tries that first. A hint, without a lock
 * @ref:	docs/design.md, "Lifetimes", lists the holders of references
 * @acks:	events that are read stay in @in_flight until they are acknowledged; a reader reads
 *		this once for each call, without @lock
 * @requests:	reads return the descriptor's completed requests; a reader reads this once for each
 *		call, without @lock, and a waiting reader is woken when it changes
 * @in_flight:	events that were read, owned by this session
 * @lost:	sum of @lost in the records that were read; 0 once @lost_sequence is acknowledged
 * @lost_sequence: that of the last of these records that has a @lost
 * @client:	to which entries are bound; made when it is first needed, and constant then
 * @poller:	notifies tasks that poll the descriptor of the belt's events; constant once it is
 *		initialized, but for its own lock
 * @left:	the descriptor is bound to another belt or to none, or closed
 * @rcu:	for freeing it
 */
struct hb_session {
	struct hb_named_belt *named;
	struct hb_file *file;
	struct list_head place;
	u32 access;
	bool copies;
	refcount_t ref;
	/** @lock: protects all below but @rcu. Inside it: queue->lock, pollers->lock. */
	struct mutex lock;
	bool acks;
	bool requests;
	struct hb_fifo in_flight;
	u64 lost;
	u64 lost_sequence;
	struct hb_client *client;
	struct hb_poller poller;
	bool left;
	struct rcu_head rcu;
};

/**
 * struct hb_file - an open file of the device
 * @session:	changed by xchg(); NULL if there was no default belt, or the belt was destroyed
 * @wait:	tasks that poll, whatever session the file has
 * @mapped:	the last window that the descriptor has mapped, and has not unmapped; without a
 *		reference: only compared
 * @ref:	docs/design.md, "Lifetimes", lists the holders of references
 * @rcu:	for freeing it: a task that wakes @wait may have found it by a poller
 */
struct hb_file {
	struct hb_session __rcu *session;
	wait_queue_head_t wait;
	struct hb_window *mapped;
	refcount_t ref;
	struct rcu_head rcu;
};

void hb_file_bind(struct file *filp, struct hb_session *session, struct hb_named_belt *named,
		  u32 access);
void hb_session_close(struct hb_session *session);
int hb_session_deny(const struct hb_session *session, u32 needs);
void hb_session_free(struct hb_session *session);
void hb_session_return_in_flight(struct hb_session *session);
struct hb_client *hb_session_client(struct hb_session *session);
int hb_file_bind_name(struct file *filp, const char *name, const kuid_t *owner, bool powerless);
void hb_named_belt_unbind(struct hb_named_belt *named);
int hb_file_open(struct inode *inode, struct file *filp);
int hb_file_release(struct inode *inode, struct file *filp);

/* For hb_file_bind(), which must not fail. */
static inline struct hb_session *hb_session_alloc(void)
{
	return kzalloc(sizeof(struct hb_session), GFP_KERNEL_ACCOUNT);
}

static inline void hb_session_put(struct hb_session *session)
{
	if (refcount_dec_and_test(&session->ref))
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
	if (!session)
		return ERR_PTR(-EIDRM);
	if ((session->access & access) != access)
		err = hb_session_deny(session, access);
	else if (hb_is_dead(session->named->belt))
		err = -EIDRM;
	else
		return session;
	hb_session_put(session);
	return ERR_PTR(err);
}

#endif /* _HASHBELT_SESSION_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An open file of the device, for the files that serve it.
 *
 * A descriptor has a binding: a belt, and what it may do with it, decided when
 * it was bound. Each call works with the binding that it found, under a
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
 * struct binding - what a descriptor is bound to
 * @listing:	the belt, with a reference; constant
 * @access:	HASHBELT_MAY_*; constant
 * @ref:	one for the descriptor, one for each call that goes on
 * @lock:	protects all below but @rcu
 * @acks:	what is read stays in @in_flight until it is acknowledged; readers see
 *		the mode as of their call, without @lock
 * @requests:	what is read is of its own requests; likewise, but who waits is woken
 *		when it changes
 * @in_flight:	events that were read, and are owned by this binding
 * @lost:	what their records said was lost ...
 * @told:	... the last of them in that of this sequence number
 * @holder:	what is bound to the descriptor; made when that is first needed
 * @watch:	wakes the descriptor's pollers when the belt has events
 * @watching:	@watch is in the belt's wait queue
 * @listen:	wakes them when requests are completed
 * @listening:	@listen is in the holder's wait queue
 * @left:	the descriptor is bound to another belt, or closed
 * @rcu:	for freeing it
 */
struct binding {
	struct hb_listing *listing;
	u32 access;
	refcount_t ref;
	struct mutex lock;	/* taken outside of a belt's locks */
	bool acks;
	bool requests;
	struct hb_fifo in_flight;
	u64 lost;
	u64 told;
	struct hb_holder *holder;
	wait_queue_entry_t watch;
	bool watching;
	wait_queue_entry_t listen;
	bool listening;
	bool left;
	struct rcu_head rcu;
};

/**
 * struct descriptor - an open file of the device
 * @binding:	changed by xchg(); NULL where there was no default belt
 * @wait:	pollers: these outlive a binding
 */
struct descriptor {
	struct binding __rcu *binding;
	wait_queue_head_t wait;
};

struct binding *hb_binding_alloc(void);
void hb_bind(struct file *file, struct binding *binding, struct hb_listing *listing,
	     u32 access);
void hb_binding_leave(struct binding *binding);
void hb_binding_free(struct binding *binding);
void hb_return_in_flight(struct binding *binding);
struct hb_holder *hb_binding_holder(struct binding *binding);
int hb_bind_name(struct file *file, const char *name, bool powerless);
int hb_open(struct inode *inode, struct file *file);
int hb_release(struct inode *inode, struct file *file);

static inline void hb_binding_put(struct binding *binding)
{
	if (unlikely(refcount_dec_and_test(&binding->ref)))
		hb_binding_free(binding);
}

/* The binding of a descriptor, with a reference, or an error. */
static inline struct binding *hb_binding_get(struct descriptor *descriptor, u32 access)
{
	struct binding *binding;
	int err;

	rcu_read_lock();
	do {
		binding = rcu_dereference(descriptor->binding);
	} while (binding && !refcount_inc_not_zero(&binding->ref));
	rcu_read_unlock();
	if (unlikely(!binding))
		return ERR_PTR(-EIDRM);
	if (unlikely((binding->access & access) != access))
		err = -EPERM;
	else if (unlikely(hashbelt_is_dead(binding->listing->belt)))
		err = -EIDRM;
	else
		return binding;
	hb_binding_put(binding);
	return ERR_PTR(err);
}

/*
 * Wakes those who poll a descriptor: for news (which have a key) one of those who want it for
 * themselves, else all.
 */
static inline void hb_wake_pollers(struct descriptor *descriptor, void *news)
{
	wait_queue_head_t *wait = &descriptor->wait;

	/*
	 * Who polls looks without a lock at what a wakeup changes, and then again with it: poll's
	 * and epoll's own affair.
	 */
	data_race((news ? wake_up_poll(wait, key_to_poll(news)) : wake_up_all(wait), 0));
}

#endif /* _HASHBELT_SESSION_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * An open file of the device: which belt it is bound to, and what it may do with it.
 */
#include <linux/slab.h>

#include "hashbelt_core.h"
#include "registry.h"
#include "session.h"

/* What was read and not acknowledged, or said of it, goes back; under session->lock. */
void hb_session_return_in_flight(struct hb_session *session)
{
	lockdep_assert_held(&session->lock);
	if (session->in_flight.count)
		hashbelt_return_events(session->named->belt, &session->in_flight, true,
				       session->lost);
	session->lost = 0;
}

/* The last reference to a session is gone. */
void hb_session_free(struct hb_session *session)
{
	hashbelt_client_put(session->client);
	hb_named_belt_put(session->named);
	kfree_rcu(session, rcu);
}

/* The client of what is bound to a descriptor, valid as long as the session is. */
struct hb_client *hb_session_client(struct hb_session *session)
{
	struct hb_client *client;

	mutex_lock(&session->lock);
	if (!session->client && !session->left)
		session->client = hashbelt_client_new(session->named->belt);
	client = session->client ?: ERR_PTR(session->left ? -EIDRM : -ENOMEM);
	mutex_unlock(&session->lock);
	return client;
}

/*
 * A descriptor gives up its session, what it read and did not acknowledge, and what is
 * bound to it.
 */
void hb_session_close(struct hb_session *session)
{
	mutex_lock(&session->lock);
	session->left = true;
	if (session->watching)
		remove_wait_queue(hashbelt_event_wait(session->named->belt),
				  &session->watch);
	if (session->listening)
		remove_wait_queue(&session->client->wait, &session->listen);
	hb_session_return_in_flight(session);
	mutex_unlock(&session->lock);
	if (session->client)
		hashbelt_client_close(session->named->belt, session->client);
	hb_session_put(session);
}

/* Binds a descriptor to a belt; takes over @session and the reference to @named. */
void hb_file_bind(struct file *filp, struct hb_session *session, struct hb_named_belt *named,
		  u32 access)
{
	struct hb_file *file = filp->private_data;

	if (!(filp->f_mode & FMODE_READ))
		access &= ~HASHBELT_MAY_READ;
	if (!(filp->f_mode & FMODE_WRITE))
		access &= ~(HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN);
	session->named = named;
	session->access = access;
	refcount_set(&session->ref, 1);
	mutex_init(&session->lock);
	session = unrcu_pointer(xchg(&file->session, RCU_INITIALIZER(session)));
	if (!session)
		return;
	hb_session_close(session);
	/* Pollers have another belt to look at. */
	hb_file_wake_pollers(file, NULL);
}

/* What hb_file_bind() needs, made first: binding is the step that must not fail. */
struct hb_session *hb_session_alloc(void)
{
	return kzalloc(sizeof(struct hb_session), GFP_KERNEL_ACCOUNT);
}

/* Binds a descriptor to a belt by name; @powerless: even if it may do nothing. */
int hb_file_bind_name(struct file *filp, const char *name, bool powerless)
{
	struct hb_named_belt *named = hb_registry_open(name);
	struct hb_session *session;
	u32 access;
	int err;

	if (IS_ERR(named))
		return PTR_ERR(named);
	err = -EACCES;
	access = hb_named_belt_access(named);
	if (!access && !powerless)
		goto err_listing;
	err = -ENOMEM;
	session = hb_session_alloc();
	if (!session)
		goto err_listing;
	hb_file_bind(filp, session, named, access);
	return 0;

err_listing:
	hb_named_belt_put(named);
	return err;
}

int hb_file_open(struct inode *inode, struct file *filp)
{
	struct hb_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	int err;

	if (!file)
		return -ENOMEM;
	/* What is read has no position, and several may read at once. */
	stream_open(inode, filp);
	init_waitqueue_head(&file->wait);
	filp->private_data = file;
	err = hb_file_bind_name(filp, HASHBELT_DEFAULT_BELT, true);
	/* Without that belt one may still bind to another. */
	if (err != -ENOMEM)
		return 0;
	kfree(file);
	return err;
}

int hb_file_release(struct inode *inode, struct file *filp)
{
	struct hb_file *file = filp->private_data;
	struct hb_session *session = rcu_dereference_protected(file->session, true);

	if (session)
		hb_session_close(session);
	kfree(file);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
#include <linux/slab.h>

#include "belt/ground/trace.h"
#include "belt/wait/client.h"
#include "belt/events/queue.h"
#include "registry.h"
#include "rights.h"
#include "session.h"

/* Gives the events in flight, and the number of lost ones, back to the queue. Under its lock. */
void hb_session_return_in_flight(struct hb_session *session)
{
	lockdep_assert_held(&session->lock);
	if (session->in_flight.count)
		hb_return_events(session->named->belt, &session->in_flight, true,
				 session->lost, true);
	session->lost = 0;
}

void hb_session_free(struct hb_session *session)
{
	hb_client_put(session->client);
	hb_named_belt_put(session->named);
	kfree_rcu(session, rcu);
}

/* A call needs rights that the session does not have. Return: -EPERM. */
int hb_session_deny(const struct hb_session *session, u32 needs)
{
	trace_hashbelt_denied(session->named->name, needs, session->access);
	return -EPERM;
}

/*
 * Makes @client, which may be NULL, that of a session that has none. Return: the client that the
 * session has then, or an error.
 */
static struct hb_client *set_client(struct hb_session *session, struct hb_client *client)
{
	struct hb_client *spare = client;

	mutex_lock(&session->lock);
	if (client && !session->client && !session->left) {
		/* Pairs with the acquires in hb_session_client() and touch_bound(). */
		smp_store_release(&session->client, client);
		spare = NULL;
	}
	client = session->client ?: ERR_PTR(session->left ? -EIDRM : -ENOMEM);
	mutex_unlock(&session->lock);
	if (spare) {
		hb_client_close(session->named->belt, spare);
		hb_client_put(spare);
	}
	return client;
}

/* The client of a session, valid as long as the session is; or an error. */
struct hb_client *hb_session_client(struct hb_session *session)
{
	/* Pairs with the release in set_client(). */
	struct hb_client *client = smp_load_acquire(&session->client);

	/*
	 * Not under session->lock: DESTROY takes that, and must not wait for a task that waits for
	 * memory of its cgroup.
	 */
	return client ?: set_client(session, hb_client_new(session->named->belt));
}

static void file_put(struct hb_file *file)
{
	if (refcount_dec_and_test(&file->ref))
		kfree_rcu(file, rcu);
}

/* A descriptor gives up its session, the events in flight, and the entries that are bound to it. */
void hb_session_close(struct hb_session *session)
{
	struct hb_named_belt *named = session->named;

	spin_lock(&named->lock);
	list_del_init(&session->place);
	spin_unlock(&named->lock);
	mutex_lock(&session->lock);
	session->left = true;
	hb_session_return_in_flight(session);
	mutex_unlock(&session->lock);
	hb_poller_close(&session->poller);
	if (session->client)
		hb_client_close(named->belt, session->client);
	/* The pollers of session and client are closed. */
	file_put(session->file);
	hb_session_put(session);
}

/* Makes @session that of @file. Return: the one before. False in @bound: the belt was destroyed. */
static struct hb_session *publish(struct hb_file *file, struct hb_session *session, bool *bound)
{
	struct hb_named_belt *named = session->named;
	struct hb_session *next;

	spin_lock(&named->lock);
	*bound = !named->destroyed;
	if (*bound)
		list_add_tail(&session->place, &named->sessions);
	next = *bound ? session : NULL;
	next = unrcu_pointer(xchg(&file->session, RCU_INITIALIZER(next)));
	spin_unlock(&named->lock);
	return next;
}

/* Binds a descriptor to a belt; takes over @session and the reference to @named. */
void hb_file_bind(struct file *filp, struct hb_session *session, struct hb_named_belt *named,
		  u32 access)
{
	struct hb_file *file = filp->private_data;
	struct hb_session *before;
	bool bound;

	if (!(filp->f_mode & FMODE_READ))
		access &= ~(HASHBELT_MAY_READ | HASHBELT_MAY_CONSUME);
	if (!(filp->f_mode & FMODE_WRITE))
		access &= ~(HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN);
	session->named = named;
	session->file = file;
	refcount_inc(&file->ref);
	INIT_LIST_HEAD(&session->place);
	session->access = access;
	refcount_set(&session->ref, 1);
	mutex_init(&session->lock);
	hb_poller_init(&session->poller, &named->belt->pollers, HB_POLL_EVENTS);
	before = publish(file, session, &bound);
	if (before)
		hb_session_close(before);
	if (!bound)
		hb_session_close(session);
	/* They are not armed for this belt, even if the file had none before. */
	hb_wake_polling(&file->wait, true);
}

/*
 * Takes one of the belt's sessions from its descriptor, and wakes the tasks that poll that. *@taken
 * is the session, to be closed; NULL if its descriptor closes it. Return: false if there is none.
 */
static bool take_session(struct hb_named_belt *named, struct hb_session **taken)
{
	struct hb_session *session;
	struct hb_file *file;

	*taken = NULL;
	spin_lock(&named->lock);
	session = list_first_entry_or_null(&named->sessions, struct hb_session, place);
	if (session) {
		list_del_init(&session->place);
		/* A task that closes the session, and drops its file, takes named->lock before. */
		file = session->file;
		if (unrcu_pointer(cmpxchg(&file->session, RCU_INITIALIZER(session), NULL)) ==
		    session)
			*taken = session;
	}
	spin_unlock(&named->lock);
	if (*taken)
		hb_wake_polling(&file->wait, true);
	return session;
}

/*
 * Unbinds all descriptors from a belt that was destroyed: they would keep its memory, which is
 * charged to its owner, and their events in flight. Calls on it that go on keep it until they end.
 * Context: may sleep.
 */
void hb_named_belt_unbind(struct hb_named_belt *named)
{
	struct hb_session *session;

	spin_lock(&named->lock);
	named->destroyed = true;
	spin_unlock(&named->lock);
	while (take_session(named, &session)) {
		if (session)
			hb_session_close(session);
		cond_resched();
	}
}

/*
 * Binds a descriptor to a belt by name. The rights are those that the current task and the task
 * that opened the device both have now; as with files, they do not change later. @owner: NULL, or
 * the owner that it must have. @powerless: also if it has no rights, where the error is else
 * -ENOENT.
 */
int hb_file_bind_name(struct file *filp, const char *name, const kuid_t *owner, bool powerless)
{
	struct hb_named_belt *named = hb_registry_open(name);
	struct hb_session *session;
	u32 access;
	int err = 0;

	if (IS_ERR(named))
		return PTR_ERR(named);
	access = hb_named_belt_access(named, filp->f_cred);
	/* It cannot be told from a belt that does not exist. */
	if (!access && !powerless)
		err = -ENOENT;
	else if (owner && !hb_named_belt_is_of(named, *owner))
		err = -EPERM;
	session = err ? NULL : hb_session_alloc();
	if (session)
		hb_file_bind(filp, session, named, access);
	else
		hb_named_belt_put(named);
	return session ? 0 : err ?: -ENOMEM;
}

int hb_file_open(struct inode *inode, struct file *filp)
{
	struct hb_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	int err;

	if (!file)
		return -ENOMEM;
	/* Events have no position, and several threads may read at once. */
	stream_open(inode, filp);
	/* A read that must not wait does not: so io_uring polls where it would occupy a thread. */
	filp->f_mode |= FMODE_NOWAIT;
	init_waitqueue_head(&file->wait);
	refcount_set(&file->ref, 1);
	filp->private_data = file;
	err = hb_file_bind_name(filp, HASHBELT_DEFAULT_BELT, NULL, true);
	/* Without the default belt the caller may still bind to another. */
	if (err != -ENOMEM)
		return 0;
	kfree(file);
	return err;
}

int hb_file_release(struct inode *inode, struct file *filp)
{
	struct hb_file *file = filp->private_data;
	struct hb_session *session = unrcu_pointer(xchg(&file->session, NULL));

	if (session)
		hb_session_close(session);
	file_put(file);
	return 0;
}

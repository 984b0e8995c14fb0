// SPDX-License-Identifier: GPL-2.0
/*
 * An open file of the device: which belt it is bound to, and what it may do with it.
 */
#include <linux/slab.h>

#include "hashbelt_core.h"
#include "registry.h"
#include "session.h"

/* What was read and not acknowledged, or said of it, goes back; under binding->lock. */
void hb_return_in_flight(struct binding *binding)
{
	lockdep_assert_held(&binding->lock);
	if (binding->in_flight.count)
		hashbelt_return_events(binding->listing->belt, &binding->in_flight, true,
				       binding->lost);
	binding->lost = 0;
}

/* The last reference to a binding is gone. */
void hb_binding_free(struct binding *binding)
{
	hashbelt_holder_put(binding->holder);
	hb_listing_put(binding->listing);
	kfree_rcu(binding, rcu);
}

/* The holder of what is bound to a descriptor, valid as long as the binding is. */
struct hb_holder *hb_binding_holder(struct binding *binding)
{
	struct hb_holder *holder;

	mutex_lock(&binding->lock);
	if (!binding->holder && !binding->left)
		binding->holder = hashbelt_holder_new(binding->listing->belt);
	holder = binding->holder ?: ERR_PTR(binding->left ? -EIDRM : -ENOMEM);
	mutex_unlock(&binding->lock);
	return holder;
}

/*
 * A descriptor gives up its binding, what it read and did not acknowledge, and what is
 * bound to it.
 */
void hb_binding_leave(struct binding *binding)
{
	mutex_lock(&binding->lock);
	binding->left = true;
	if (binding->watching)
		remove_wait_queue(hashbelt_event_wait(binding->listing->belt),
				  &binding->watch);
	if (binding->listening)
		remove_wait_queue(&binding->holder->wait, &binding->listen);
	hb_return_in_flight(binding);
	mutex_unlock(&binding->lock);
	if (binding->holder)
		hashbelt_holder_leave(binding->listing->belt, binding->holder);
	hb_binding_put(binding);
}

/* Binds a descriptor to a belt; takes over @binding and the reference to @listing. */
void hb_bind(struct file *file, struct binding *binding, struct hb_listing *listing,
	     u32 access)
{
	struct descriptor *descriptor = file->private_data;

	if (!(file->f_mode & FMODE_READ))
		access &= ~HASHBELT_MAY_READ;
	if (!(file->f_mode & FMODE_WRITE))
		access &= ~(HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN);
	binding->listing = listing;
	binding->access = access;
	refcount_set(&binding->ref, 1);
	mutex_init(&binding->lock);
	binding = unrcu_pointer(xchg(&descriptor->binding, RCU_INITIALIZER(binding)));
	if (!binding)
		return;
	hb_binding_leave(binding);
	/* Pollers have another belt to look at. */
	hb_wake_pollers(descriptor, NULL);
}

/* What hb_bind() needs, made first: binding is the step that must not fail. */
struct binding *hb_binding_alloc(void)
{
	return kzalloc(sizeof(struct binding), GFP_KERNEL_ACCOUNT);
}

/* Binds a descriptor to a belt by name; @powerless: even if it may do nothing. */
int hb_bind_name(struct file *file, const char *name, bool powerless)
{
	struct hb_listing *listing = hb_registry_open(name);
	struct binding *binding;
	u32 access;
	int err;

	if (IS_ERR(listing))
		return PTR_ERR(listing);
	err = -EACCES;
	access = hb_listing_access(listing);
	if (!access && !powerless)
		goto err_listing;
	err = -ENOMEM;
	binding = hb_binding_alloc();
	if (!binding)
		goto err_listing;
	hb_bind(file, binding, listing, access);
	return 0;

err_listing:
	hb_listing_put(listing);
	return err;
}

int hb_open(struct inode *inode, struct file *file)
{
	struct descriptor *descriptor = kzalloc(sizeof(*descriptor), GFP_KERNEL_ACCOUNT);
	int err;

	if (!descriptor)
		return -ENOMEM;
	/* What is read has no position, and several may read at once. */
	stream_open(inode, file);
	init_waitqueue_head(&descriptor->wait);
	file->private_data = descriptor;
	err = hb_bind_name(file, HASHBELT_DEFAULT_BELT, true);
	/* Without that belt one may still bind to another. */
	if (err != -ENOMEM)
		return 0;
	kfree(descriptor);
	return err;
}

int hb_release(struct inode *inode, struct file *file)
{
	struct descriptor *descriptor = file->private_data;
	struct binding *binding = rcu_dereference_protected(descriptor->binding, true);

	if (binding)
		hb_binding_leave(binding);
	kfree(descriptor);
	return 0;
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libhashbelt: binding handles to belts.
 *
 * A handle that is kept bound makes its calls by call_kept(). A call that finds the belt destroyed
 * binds the handle to the belt that has the name now, and is made once more there. Versions, tokens
 * and cursors of one belt may have another meaning in the next one: a call that has such an
 * argument is not made once more.
 */
#include <string.h>

#include "client_bind.h"
#include "client_window.h"

/* Copies a name to where HASHBELT_NAME_SIZE zeros are. */
static int copy_name(char *to, const char *name)
{
	size_t len = strlen(name);

	if (len >= HASHBELT_NAME_SIZE)
		return -ENAMETOOLONG;
	memcpy(to, name, len);
	return 0;
}

/* Makes a call that binds the handle, to the one belt that it finds now. */
static int bind_once(struct hashbelt *belt, unsigned long request, void *arg)
{
	int err;

	pthread_mutex_lock(&belt->lock);
	err = hashbelt_window_bind(belt, request, arg);
	if (!err) {
		__atomic_store_n(&belt->is_bound, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&belt->call, NULL, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&belt->lock);
	return err;
}

/**
 * hashbelt_bind() - bind a handle to a belt
 * @belt:	the handle
 * @name:	the belt's name
 *
 * Return: 0; -ENOENT, also if the caller may neither read, write nor own it;
 * -EINVAL or -ENAMETOOLONG for an invalid name. After an error the
 * handle is bound as before.
 */
int hashbelt_bind(struct hashbelt *belt, const char *name)
{
	struct hashbelt_name arg = { 0 };
	int err = copy_name(arg.name, name);

	return err ? err : bind_once(belt, HASHBELT_IOC_OPEN, &arg);
}

/**
 * hashbelt_bind_owned() - bind a handle to a belt of a certain owner
 * @belt:	the handle
 * @name:	the belt's name
 * @uid:	the user that must own the belt
 *
 * For a belt under a name that other users know: any user may have made it.
 *
 * Return: what hashbelt_bind() returns; -EPERM if another user owns the belt.
 */
int hashbelt_bind_owned(struct hashbelt *belt, const char *name, uid_t uid)
{
	struct hashbelt_name arg = { .flags = HASHBELT_OF_OWNER, .uid = uid };
	int err = copy_name(arg.name, name);

	return err ? err : bind_once(belt, HASHBELT_IOC_OPEN, &arg);
}

/**
 * hashbelt_create() - make a belt and bind the handle to it
 * @belt:	the handle
 * @name:	the belt's name; NULL or "" for one that lives as long as a
 *		descriptor that is bound to it
 * @settings:	its settings; the name is ignored, and so is @gid unless
 *		@fields has it; NULL for the defaults and mode 0600
 *
 * Return: 0; -EEXIST; -EINVAL for a setting or a name that cannot be; -EPERM for
 * a group of which the caller is no member; -EACCES for the name HASHBELT_DEFAULT_BELT, which is
 * root's to give; -ENOSPC or -EDQUOT if there are as many belts as there may be, or as
 * the caller may have; -ENAMETOOLONG; -ENOMEM.
 */
int hashbelt_create(struct hashbelt *belt, const char *name,
		    const struct hashbelt_settings *settings)
{
	struct hashbelt_settings arg = { .mode = 0600 };
	int err;

	if (settings)
		arg = *settings;
	memset(arg.name, 0, sizeof(arg.name));
	err = copy_name(arg.name, name ? name : "");
	return err ? err : bind_once(belt, HASHBELT_IOC_CREATE, &arg);
}

/* Binds the handle to the belt of its name, under its lock. */
static int bind_kept(struct hashbelt *belt)
{
	__u32 watch = __atomic_load_n(&belt->watch, __ATOMIC_RELAXED);
	int err = hashbelt_window_bind(belt, HASHBELT_IOC_OPEN, &belt->name);

	if (!err && watch)
		err = call_here(belt, HASHBELT_IOC_WATCH, &watch);
	__atomic_store_n(&belt->is_bound, !err, __ATOMIC_RELEASE);
	if (err) {
		hashbelt_window_leave(belt);
		return err;
	}
	__atomic_fetch_add(&belt->bindings, 1, __ATOMIC_RELEASE);
	/* Without a window gets are calls. */
	if (__atomic_load_n(&belt->maps, __ATOMIC_RELAXED))
		hashbelt_window_renew(belt);
	return 0;
}

/**
 * hashbelt_bind_anew() - bind a handle that is kept bound, after its belt was destroyed
 * @belt:	the handle
 * @bindings:	the number of its bindings before the call that found the belt destroyed
 *
 * Another thread may have bound it since. It stays bound then: locks, entries and requests may be
 * bound to it already.
 *
 * Return: 1; 0 if the handle was not bound before; -EIDRM if no belt has the name; else as
 * hashbelt_keep_bound().
 */
int hashbelt_bind_anew(struct hashbelt *belt, unsigned int bindings)
{
	int err = 0;

	pthread_mutex_lock(&belt->lock);
	if (!is_kept(belt))
		err = -EIDRM;
	else if (!belt->is_bound || belt->bindings == bindings)
		err = bind_kept(belt);
	pthread_mutex_unlock(&belt->lock);
	if (err)
		return err == -ENOENT ? -EIDRM : err;
	return bindings > 0;
}

/**
 * hashbelt_bind_first() - bind a handle that is kept bound, if it is bound to no belt
 * @belt:	the handle
 * @bindings:	returned: the number of its bindings, for hashbelt_bind_anew()
 *
 * Return: 0 if it was bound; else as hashbelt_bind_anew().
 */
int hashbelt_bind_first(struct hashbelt *belt, unsigned int *bindings)
{
	int result = 0;

	*bindings = __atomic_load_n(&belt->bindings, __ATOMIC_ACQUIRE);
	if (!__atomic_load_n(&belt->is_bound, __ATOMIC_ACQUIRE)) {
		result = hashbelt_bind_anew(belt, *bindings);
		*bindings = __atomic_load_n(&belt->bindings, __ATOMIC_ACQUIRE);
	}
	return result;
}

/*
 * The result of a call that names what the belt gave that was destroyed: that is gone. 0 if the
 * call names nothing of that kind.
 */
static int result_of_gone(unsigned long request, const void *arg)
{
	const struct hashbelt_fill *fill = arg;

	switch (request) {
	case HASHBELT_IOC_PUT:
	case HASHBELT_IOC_REMOVE:
		return names_former(arg) ? -ESTALE : 0;
	case HASHBELT_IOC_FILL:
		return fill->how & (HASHBELT_GIVE_UP | HASHBELT_RENEW_LEASE | HASHBELT_FAIL) ?
		       -ENOENT : 0;
	default:
		return 0;
	}
}

/* A call of a handle that is kept bound. Each turn finds the belt of another binding. */
static int call_kept(struct hashbelt *belt, unsigned long request, void *arg)
{
	unsigned int bindings;
	int result, err;

	result = hashbelt_bind_first(belt, &bindings);
	while (result >= 0) {
		err = result ? result_of_gone(request, arg) : 0;
		if (!err)
			err = call_here(belt, request, arg);
		if (err != -EIDRM)
			return err;
		result = hashbelt_bind_anew(belt, bindings);
		bindings = __atomic_load_n(&belt->bindings, __ATOMIC_ACQUIRE);
	}
	return result;
}

/**
 * hashbelt_keep_bound() - bind a handle to the belt that has a name, whichever that is
 * @belt:	the handle
 * @name:	the belt's name
 * @owner:	the user that must own the belt; NULL: any
 * @flags:	HASHBELT_ONE_THREAD: no two threads use the handle at once, so that it can unmap
 *		the windows of former belts; or 0
 *
 * A call that finds the belt destroyed binds the handle to the belt of that name, if there is
 * another one by now, and is made once more. hashbelt_bindings() counts that. As long as there is
 * none, each call looks for it, and returns -EIDRM. What the former belt has given has no meaning
 * any more: a put or remove with a version or token returns -ESTALE once, and another call with a
 * token -ENOENT. What was bound to the handle is gone with the former belt.
 *
 * hashbelt_window_map() then maps the windows of further belts as well, and hashbelt_watch() has an
 * effect on further belts. A walk does not go on in another belt: it ends with -EIDRM, and needs a
 * handle that no other call binds meanwhile. hashbelt_bind(), hashbelt_bind_owned() and
 * hashbelt_create() end the keeping.
 *
 * Return: 0; -ENOENT if there is no such belt yet, or the caller may neither read, write nor own
 * it; -EPERM if another user owns it; -EINVAL or -ENAMETOOLONG for an invalid name; -EINVAL for
 * other flags; -ENOMEM. After -ENAMETOOLONG, and other flags, the handle is bound as before. After
 * each other error the next call tries again.
 */
int hashbelt_keep_bound(struct hashbelt *belt, const char *name, const uid_t *owner,
			unsigned int flags)
{
	struct hashbelt_name arg = { 0 };
	int err = flags & ~HASHBELT_ONE_THREAD ? -EINVAL : copy_name(arg.name, name);

	if (err)
		return err;
	if (owner) {
		arg.flags = HASHBELT_OF_OWNER;
		arg.uid = *owner;
	}
	pthread_mutex_lock(&belt->lock);
	belt->name = arg;
	__atomic_store_n(&belt->one_thread, flags & HASHBELT_ONE_THREAD, __ATOMIC_RELAXED);
	__atomic_store_n(&belt->maps, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&belt->watch, 0, __ATOMIC_RELAXED);
	err = bind_kept(belt);
	__atomic_store_n(&belt->call, call_kept, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&belt->lock);
	return err;
}

/**
 * hashbelt_bindings() - how often hashbelt_keep_bound() has bound a handle
 * @belt:	the handle
 *
 * A program that has to do something for each new belt compares it with the number before.
 *
 * Return: the number of belts that the handle was bound to by hashbelt_keep_bound(), and by calls
 * that found the belt before destroyed.
 */
unsigned int hashbelt_bindings(const struct hashbelt *belt)
{
	return __atomic_load_n(&belt->bindings, __ATOMIC_ACQUIRE);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The ioctls that make, open, list and destroy belts, and change, report or scan one belt. */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "belt/belts/clear.h"
#include "belt/belts/info.h"
#include "belt/belts/set.h"
#include "belt/belts/time.h"
#include "belt/ground/trace.h"
#include "belt/wait/lock.h"
#include "calls.h"
#include "rights.h"

static int list_entries(struct hashbelt_belt *belt, void *request, void *buffer, u32 *used)
{
	return hb_scan(belt, request, buffer, used);
}

int hb_call_scan(const struct hb_call *call, void *arg)
{
	struct hashbelt_scan *scan = arg;

	if (scan->reserved)
		return -EINVAL;
	if (scan->size > HASHBELT_SCAN_MAX)
		return -E2BIG;
	return hb_call_list(call, scan->buffer, scan->size, scan, list_entries);
}

int hb_call_info(const struct hb_call *call, void *arg)
{
	struct hashbelt_info *info = arg;

	hb_named_belt_info(call->session->named, call->session->access, info);
	return 0;
}

int hb_call_stat(const struct hb_call *call, void *arg)
{
	u64 counters[HASHBELT_STAT_COUNT], lags[HASHBELT_LAGS];
	struct hashbelt_stat *stat = arg;

	hb_stat(call->belt, counters, lags);
	if (copy_to_user(u64_to_user_ptr(stat->counters), counters,
			 min_t(size_t, stat->count, HASHBELT_STAT_COUNT) * sizeof(u64)) ||
	    copy_to_user(u64_to_user_ptr(stat->lags), lags,
			 min_t(size_t, stat->lag_count, HASHBELT_LAGS) * sizeof(u64)))
		return -EFAULT;
	stat->count = HASHBELT_STAT_COUNT;
	stat->lag_count = HASHBELT_LAGS;
	return 0;
}

static int list_buckets(struct hashbelt_belt *belt, void *request, void *buffer, u32 *used)
{
	struct hashbelt_buckets *buckets = request;

	*used = buckets->count * sizeof(u64);
	memset(buffer, 0, *used);
	return hb_buckets(belt, &buckets->cursor, buffer, buckets->count);
}

int hb_call_buckets(const struct hb_call *call, void *arg)
{
	struct hashbelt_buckets *buckets = arg;

	if (!buckets->count || buckets->reserved)
		return -EINVAL;
	if (buckets->count > HASHBELT_BUCKETS_MAX)
		return -E2BIG;
	return hb_call_list(call, buckets->counts, buckets->count * sizeof(u64), buckets,
			    list_buckets);
}

int hb_call_clear(const struct hb_call *call, void *arg)
{
	hb_clear(call->belt);
	return 0;
}

int hb_call_time(const struct hb_call *call, void *arg)
{
	const u64 *ms = arg;

	switch (call->cmd) {
	case HASHBELT_IOC_HALT:
		hb_halt(call->belt);
		return 0;
	case HASHBELT_IOC_RESUME:
		hb_resume(call->belt);
		return 0;
	case HASHBELT_IOC_ROTATE:
		return hb_rotate(call->belt);
	default:
		return *ms > HASHBELT_TTL_MAX_MS ? -EINVAL :
			hb_advance(call->belt, *ms * NSEC_PER_MSEC);
	}
}

/* A name has no control characters and no '/', and zeros after its end. */
static int check_name(const char *name)
{
	size_t len = strnlen(name, HASHBELT_NAME_SIZE), i;

	if (len == HASHBELT_NAME_SIZE || memchr_inv(name + len, 0, HASHBELT_NAME_SIZE - len))
		return -EINVAL;
	for (i = 0; i < len; i++)
		if ((u8)name[i] < ' ' || name[i] == 0x7f || name[i] == '/')
			return -EINVAL;
	return 0;
}

/* Checks the settings of @fields that the belt does not check itself. */
static int check_settings(const struct hashbelt_settings *settings, u32 fields)
{
	if ((fields & HASHBELT_SET_MODE && settings->mode & ~0666) ||
	    (fields & HASHBELT_SET_CONSUMERS && settings->consumers > HASHBELT_CONSUMERS_OWNER) ||
	    memchr_inv(settings->reserved, 0, sizeof(settings->reserved)))
		return -EINVAL;
	return 0;
}

static int create(const struct hb_call *call, const struct hashbelt_settings *settings)
{
	struct hashbelt_config config = hb_config_of(settings);
	kgid_t gid = current_fsgid();
	struct hb_named_belt *named;
	struct hb_session *session;
	int err = 0;

	if (check_settings(settings, HASHBELT_SET_ALL) || check_name(settings->name) ||
	    settings->fields & ~HASHBELT_SET_GID)
		return -EINVAL;
	if (!(call->filp->f_mode & FMODE_WRITE))
		return -EPERM;
	if (settings->fields & HASHBELT_SET_GID)
		err = hb_group(settings->gid, call->filp->f_cred, &gid);
	if (err)
		return err;
	session = hb_session_alloc();
	if (!session)
		return -ENOMEM;
	named = hb_registry_create(settings->name,
				   hb_rights(gid, settings->mode, settings->consumers), &config,
				   call->filp->f_cred);
	if (IS_ERR(named)) {
		kfree(session);
		return PTR_ERR(named);
	}
	/* The task that makes a belt may use it, whatever its mode, as with files. */
	hb_file_bind(call->filp, session, named,
		     HASHBELT_MAY_READ | HASHBELT_MAY_WRITE | HASHBELT_MAY_OWN |
		     HASHBELT_MAY_CONSUME);
	return 0;
}

static int set(const struct hb_call *call, const struct hashbelt_settings *settings)
{
	struct hashbelt_config config = hb_config_of(settings);
	u32 fields = settings->fields;
	kgid_t gid = GLOBAL_ROOT_GID;
	int err = 0;

	if (check_settings(settings, fields) || !fields || fields & ~HASHBELT_SET_ALL ||
	    memchr_inv(settings->name, 0, sizeof(settings->name)))
		return -EINVAL;
	if (fields & HASHBELT_SET_GID)
		err = hb_group(settings->gid, call->filp->f_cred, &gid);
	if (!err && fields & HASHBELT_SET_POLICY && settings->policy & HASHBELT_PINNED &&
	    !hb_named_belt_may_pin(call->session->named, call->filp->f_cred))
		err = -EPERM;
	if (!err)
		err = hb_set(call->belt, &config, fields);
	if (err)
		return err;
	hb_named_belt_set_rights(call->session->named,
				 hb_rights(gid, settings->mode & 0666, settings->consumers),
				 fields);
	return 0;
}

/* @flags: those that may be set. */
static int check_named(const struct hashbelt_name *name, u32 flags)
{
	if (name->flags & ~flags || (!name->flags && name->uid) || !*name->name)
		return -EINVAL;
	return check_name(name->name);
}

static int open(const struct hb_call *call, const struct hashbelt_name *name)
{
	kuid_t owner = make_kuid(current_user_ns(), name->uid);
	int err = check_named(name, HASHBELT_OF_OWNER);

	if (err || (name->flags && !uid_valid(owner)))
		return -EINVAL;
	return hb_file_bind_name(call->filp, name->name, name->flags ? &owner : NULL, false);
}

static int destroy(const struct hb_call *call, const struct hashbelt_name *name)
{
	struct hb_named_belt *named;
	int err = check_named(name, 0);

	if (err)
		return err;
	if (!(call->filp->f_mode & FMODE_WRITE))
		return -EPERM;
	named = hb_registry_remove(name->name, call->filp->f_cred);
	if (IS_ERR(named))
		return PTR_ERR(named);
	/* Before the descriptors lose their locks and fill leases: no waiter gets one of them. */
	hb_kill(named->belt);
	hb_named_belt_unbind(named);
	hb_named_belt_put_wait(named);
	return 0;
}

/* The argument of hb_call_manage() begins with a name. */
static_assert(!offsetof(struct hashbelt_settings, name) && !offsetof(struct hashbelt_name, name));

/* CREATE, SET, OPEN and DESTROY, each with a trace point at its end. */
int hb_call_manage(const struct hb_call *call, void *arg)
{
	const char *name = arg, *what;
	int err;

	switch (call->cmd) {
	case HASHBELT_IOC_SET:
		err = set(call, arg);
		trace_hashbelt_manage("set", call->session->named->name, err);
		return err;
	case HASHBELT_IOC_CREATE:
		what = "create";
		err = create(call, arg);
		break;
	case HASHBELT_IOC_OPEN:
		what = "open";
		err = open(call, arg);
		break;
	default:
		what = "destroy";
		err = destroy(call, arg);
	}
	trace_hashbelt_manage(what, err == -EINVAL ? NULL : name, err);
	return err;
}

int hb_call_next(const struct hb_call *call, void *arg)
{
	struct hashbelt_info *info = arg;
	struct hb_named_belt *named;
	u32 access;

	if (check_name(info->name))
		return -EINVAL;
	named = hb_registry_next(info->name, call->filp->f_cred, &access);
	if (IS_ERR(named))
		return PTR_ERR(named);
	hb_named_belt_info(named, access, info);
	hb_named_belt_put(named);
	return 0;
}

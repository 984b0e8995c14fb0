/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Places where locks are: a belt of this machine, or a table that many machines
 * share. The commands on locks work on either and cannot tell them apart.
 */
#ifndef HBCTL_LOCK_H
#define HBCTL_LOCK_H

#include "command.h"
#include "json.h"
#include "signals.h"

/* The belt of locks if none is named. */
#define LOCK_BELT	"locks"

/* The default lease, milliseconds, unless the longest possible one is shorter. */
#define LOCK_LEASE_MS	(60 * 1000ULL)

/**
 * struct lock_ask - the arguments of a call on a lock
 * @name:	the lock's name
 * @owner:	for whom
 * @ttl_ms:	the lease, milliseconds; 0: LOCK_LEASE_MS, or the longest possible one
 * @wait_ms:	how long to wait; 0: not at all, HASHBELT_TTL_NEVER: for ever
 * @bound:	it shall go when this process ends; a place that cannot know of that
 *		goes by the lease alone
 * @fresh:	only if the owner does not have it already
 * @conflict:	the exit status if it is not granted, because another owner has it, or @fresh
 * @shared:	with @bound: the command keeps it, too, and so do the processes that the
 *		command leaves behind; only where the place has a descriptor
 */
struct lock_ask {
	struct key name;
	struct key owner;
	__u64 ttl_ms;
	__u64 wait_ms;
	bool bound;
	bool fresh;
	int conflict;
	bool shared;
};

/**
 * struct lock_held - a lock that is held
 * @name:	its name; of a list alone
 * @owner:	its owner
 * @owner_len:	length of the owner, bytes
 * @ttl_ms:	time left, milliseconds
 * @held_ms:	time since it was granted
 * @token:	the fencing token
 * @bound:	it goes with the process that has it; of a list alone
 */
struct lock_held {
	struct key name;
	char owner[HASHBELT_OWNER_MAX];
	size_t owner_len;
	__u64 ttl_ms;
	__u64 held_ms;
	__u64 token;
	bool bound;
};

struct lock_place;

/**
 * struct lock_ops - the operations of a place
 * @lock:	as HASHBELT_IOC_LOCK. -EINTR: @signals of the place caught one. -EALREADY: the
 *		lock was to be fresh, and the owner has it already; it stays as it is
 * @unlock:	as HASHBELT_IOC_UNLOCK
 * @renew:	as HASHBELT_IOC_RENEW
 * @holder:	as HASHBELT_IOC_HOLDER
 * @list:	calls @each for each lock that is held, of an owner or, with NULL, of all
 * @release:	unlocks all that an owner has; with NULL, all whose lease is over
 * @fail:	prints an error that is none of those that all places
 *		share: EBUSY, EALREADY, ETIMEDOUT, EINTR, ENOENT, EACCES. Return: the exit
 *		status
 * @reason:	the same as a few words, for the message of a caller; valid until the next
 *		call
 * @descriptor:	the one to whose last copy a bound lock is bound; NULL for a store, which has
 *		none
 * @create:	makes the table that a store needs, and returns the exit status; NULL for a belt
 * @close:	frees the place
 *
 * All but the last five return 0 or a negative errno.
 */
struct lock_ops {
	int (*lock)(struct lock_place *place, const struct lock_ask *ask,
		    struct lock_held *held);
	int (*unlock)(struct lock_place *place, const struct lock_ask *ask);
	int (*renew)(struct lock_place *place, const struct lock_ask *ask,
		     struct lock_held *held);
	int (*holder)(struct lock_place *place, const struct key *name,
		      struct lock_held *held);
	int (*list)(struct lock_place *place, const struct key *owner,
		    void (*each)(const struct lock_held *held, void *data), void *data);
	int (*release)(struct lock_place *place, const struct key *owner, __u64 *count);
	enum status (*fail)(struct lock_place *place, int err);
	const char *(*reason)(struct lock_place *place, int err);
	int (*descriptor)(const struct lock_place *place);
	enum status (*create)(struct lock_place *place);
	void (*close)(struct lock_place *place);
};

/**
 * struct lock_place - a place, the first member of what an implementation needs
 * @ops:	its operations
 * @request:	the arguments of hbctl
 * @signals:	signals that may interrupt a wait, and are handled during one; or NULL
 * @answer_timeout_ms: how long to wait for an answer, where answers come from elsewhere
 */
struct lock_place {
	const struct lock_ops *ops;
	struct request *request;
	struct signals *signals;
	__u64 answer_timeout_ms;
};

/* The longest and the shortest time that answer_timeout() returns. */
#define ANSWER_TIMEOUT_MAX_MS	(10 * 1000ULL)
#define ANSWER_TIMEOUT_MIN_MS	1000ULL

/**
 * struct store_spec - a table of locks, and the type of objects in it
 * @conninfo:	how to reach the database: a connection string or URI of libpq
 * @table:	the table's name
 * @type:	the type of the objects that are locked
 * @answer_timeout_ms: as in struct lock_place
 */
struct store_spec {
	const char *conninfo;
	const char *table;
	const char *type;
	__u64 answer_timeout_ms;
};

__u64 clock_ms(void);
__u64 answer_timeout(__u64 wait_ms);

enum status lock_device_open(struct request *request, bool make,
			     struct lock_place **place);
enum status lock_store_open(struct request *request, const struct store_spec *spec,
			    struct lock_place **place);

const char *lock_store_of(const struct request *request);
enum status lock_check_place(const struct request *request);
enum status lock_open_place(struct request *request, bool make, __u64 wait_ms,
			    struct lock_place **place);
enum status lock_take_owner(const struct request *request, bool needed, struct key *owner);
void lock_json_held(struct json *object, const struct lock_held *held);
struct json lock_json(const struct key *name, const void *owner, size_t owner_len);

bool lock_is_own(const struct lock_ask *ask, const struct lock_held *held);
enum status fail_lock(struct lock_place *place, const struct lock_ask *ask, int err);
int refuse_lock(struct lock_place *place, const struct lock_ask *ask, int err);
int lock_run(struct lock_place *place, const struct lock_ask *ask, char **command);

#endif /* HBCTL_LOCK_H */

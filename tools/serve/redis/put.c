// SPDX-License-Identifier: GPL-2.0-only
/* Operations that change an entry, and the replies to them. */
#include <errno.h>
#include <strings.h>

#include "options.h"
#include "put.h"

/**
 * put_fill() - complete a put
 * @item:	the put
 * @value:	the value
 * @ttl_ms:	its time-to-live
 */
void put_fill(struct hashbelt_item *item, const struct word *value, __u64 ttl_ms)
{
	item->value = (uintptr_t)value->at;
	item->value_len = value->len;
	item->ttl_ms = ttl_ms;
	item->flags = 0;
}

/**
 * put_fits() - whether a value is not too long
 * @work:	the work
 * @value:	the value
 *
 * Return: whether.
 */
bool put_fits(const struct work *work, const struct word *value)
{
	return value->len <= work->service->options->item_max;
}

/* The condition of an operation did not hold. */
static bool is_refused(const struct hashbelt_item *item)
{
	int err = item->result;

	return err == -ENOENT || (err == -EEXIST && item->how & HASHBELT_IF_ABSENT) ||
	       err == -ESTALE || err == -EALREADY;
}

/**
 * put_write_ok() - the reply of SET
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool put_write_ok(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];

	if (!item->result) {
		count(&work->service->counters.cmd_set);
		return redis_commit(work, reply, "+OK");
	}
	return is_refused(item) ? redis_commit_nil(work, reply) :
				  redis_commit_failure(work, item->result);
}

/**
 * put_write_one() - the reply 1 if the operation was carried out, and else 0
 * @work:	the work
 * @reply:	the reply
 *
 * Return: false if there is no memory.
 */
bool put_write_one(struct work *work, const struct reply *reply)
{
	const struct hashbelt_item *item = &work->item[reply->item];

	if (!item->result)
		return redis_commit(work, reply, ":1");
	return is_refused(item) ? redis_commit(work, reply, ":0") :
				  redis_commit_failure(work, item->result);
}

/**
 * put_bad_time() - answer that a time-to-live is not valid
 * @work:	the work
 * @redis:	the client
 *
 * Return: STARTED, NOT_STARTED or NO_MEMORY.
 */
enum started put_bad_time(struct work *work, const struct redis *redis)
{
	char name[24];
	unsigned int i;

	if (work->replies)
		return NOT_STARTED;
	for (i = 0; redis->command->name[i]; i++)
		name[i] = redis->command->name[i] | 0x20;
	name[i] = '\0';
	return answer_error(work, "ERR invalid expire time in '%s' command", name);
}

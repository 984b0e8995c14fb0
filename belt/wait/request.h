/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HASHBELT_REQUEST_H
#define _HASHBELT_REQUEST_H

#include "belt/ground/entry.h"

struct hb_waitpoint;
struct hb_shard;

/**
 * struct hb_watch - one key of a request
 * @place:	in the list of @waitpoint, under the lock of that shard; once off that, for the task
 *		that has claimed the request
 * @waitpoint:	the waitpoint while @place is there, else NULL; under the lock of that shard
 * @request:	the request; constant
 * @stamp:	number of versions that the shard had given when the watch was added
 * @hash:	of the key; constant
 * @at:		offset of the key in the request's value, bytes; constant
 * @len:	its length; constant
 */
struct hb_watch {
	struct list_head place;
	struct hb_waitpoint *waitpoint;
	struct hb_request *request;
	u64 stamp;
	u32 hash;
	u32 at;
	u32 len;
};

/**
 * struct hb_request - tail of a request
 * @link:	to the descriptor that is told
 * @linking:	its watches are being added: the task that does so takes them out if the request
 *		ends; under the shard's lock
 * @done:	it has left the belt, and its completion was queued; under the shard's lock
 * @which:	index of the watch that completed it, or the number of watches; for the task that
 *		has claimed it
 * @besides:	bytes of the waitpoints that it needs where no other request waits for its keys,
 *		with their share of the index; constant
 * @watches:	one for each key
 */
struct hb_request {
	struct hb_link link;
	size_t besides;
	bool linking;
	bool done;
	u32 which;
	struct hb_watch watches[];
};

extern const struct hb_kind_ops hb_request_ops;

bool hb_requests_claim(struct hb_shard *shard, struct hb_waitpoint *waitpoint,
		       enum hashbelt_cause cause, u64 stamp, struct list_head *claimed);
unsigned int hb_requests_finish(struct hashbelt_belt *belt, struct list_head *claimed);
unsigned int hb_requests_complete(struct hashbelt_belt *belt, u32 hash, const void *key,
				  u32 key_len, enum hashbelt_cause cause, u64 stamp);
bool hb_requests_step(struct hb_shard *shard);

struct hashbelt_entry *hb_request_alloc(struct hashbelt_belt *belt, struct hb_client *client,
					u64 id, u32 count, u32 bytes);
void *hb_request_key(struct hashbelt_entry *request, u32 number, u32 at, u32 len);
int hb_request_add(struct hashbelt_belt *belt, struct hashbelt_entry *request, u64 ttl_ms);
int hb_request_cancel(struct hashbelt_belt *belt, struct hb_client *client, u64 id);
u32 hb_complete(struct hashbelt_belt *belt, const void *key, u32 key_len);

#endif /* _HASHBELT_REQUEST_H */

/* SPDX-License-Identifier: GPL-2.0 */
/* Requests that wait for keys. */
#ifndef _HASHBELT_REQUEST_H
#define _HASHBELT_REQUEST_H

#include "entry.h"

struct hb_shard;

bool hb_requests_claim(struct hb_shard *shard, struct hb_point *point,
		       enum hashbelt_cause cause, u64 stamp, struct list_head *claimed);
unsigned int hb_requests_finish(struct hashbelt_belt *belt, struct list_head *claimed);
void hb_request_leave(struct hb_shard *shard, struct hashbelt_entry *entry);
unsigned int hb_requests_complete(struct hashbelt_belt *belt, u32 hash, const void *key,
				  u32 key_len, enum hashbelt_cause cause, u64 stamp);
bool hb_request_release(struct hashbelt_belt *belt, struct hashbelt_entry *entry);
void hb_requests_step(struct hb_shard *shard);

struct hashbelt_entry *hashbelt_request_alloc(struct hashbelt_belt *belt,
					      struct hb_holder *holder, u64 id,
					      u32 count, u32 bytes);
void *hashbelt_request_key(struct hashbelt_entry *request, u32 number, u32 at, u32 len);
int hashbelt_request(struct hashbelt_belt *belt, struct hashbelt_entry *request,
		     u64 ttl_ms);
int hashbelt_cancel(struct hashbelt_belt *belt, struct hb_holder *holder, u64 id);
u32 hashbelt_complete(struct hashbelt_belt *belt, const void *key, u32 key_len);

#endif /* _HASHBELT_REQUEST_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Helpers for tests of requests. Keys are numbers. */
#ifndef _REQUEST_H
#define _REQUEST_H

#include "fixture.h"

#define NO_KEY	(~0u)

static inline struct hashbelt_entry *draft(struct fixture *f, unsigned int client, u64 id,
					   const unsigned int *keys, u32 count)
{
	struct hashbelt_entry *entry;
	u32 i;

	entry = hashbelt_request_alloc(f->belt, f->clients[client], id, count,
				       count * sizeof(*keys));
	if (IS_ERR(entry))
		return entry;
	for (i = 0; i < count; i++)
		memcpy(hashbelt_request_key(entry, i, i * sizeof(*keys), sizeof(*keys)),
		       &keys[i], sizeof(*keys));
	return entry;
}

static inline int ask_for(struct fixture *f, unsigned int client, u64 id, const unsigned int *keys,
			  u32 count, u64 ttl_ms)
{
	struct hashbelt_entry *entry = draft(f, client, id, keys, count);

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	return hashbelt_request(f->belt, entry, ttl_ms);
}

/* Requests one key for the first client. */
static inline int ask(struct fixture *f, u64 id, unsigned int key, u64 ttl_ms)
{
	return ask_for(f, 0, id, &key, 1, ttl_ms);
}

static inline u32 complete_key(struct hashbelt_belt *belt, unsigned int key)
{
	return hb_complete(belt, &key, sizeof(key));
}

/* Takes and settles the next completion of a client. Return: its cause, 0 if there is none. */
static inline u32 take_completion(struct fixture *f, unsigned int client,
				  struct hashbelt_event *record,
				  unsigned int *key)
{
	struct hb_fifo events = {};
	const void *data;

	*key = NO_KEY;
	*record = (struct hashbelt_event){};
	if (hashbelt_take_completed(f->clients[client], &events, SIZE_MAX, 1))
		return 0;
	data = hashbelt_describe_event(events.first, record);
	if (record->key_len == sizeof(*key))
		memcpy(key, data, sizeof(*key));
	hashbelt_settle_completed(f->belt, &events);
	return record->reason;
}

/* Checks the next completion of the first client. */
static inline void expect_completion(struct kunit *test, u64 id, enum hashbelt_cause cause,
				     unsigned int key)
{
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int is;

	KUNIT_EXPECT_EQ(test, take_completion(f, 0, &record, &is), (u32)cause);
	KUNIT_EXPECT_EQ(test, record.version, id);
	KUNIT_EXPECT_EQ(test, is, key);
}

static inline void expect_no_completion(struct kunit *test)
{
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int i, key;

	for (i = 0; i < ARRAY_SIZE(f->clients); i++)
		if (f->clients[i])
			KUNIT_EXPECT_EQ(test, take_completion(f, i, &record, &key), 0u);
}

#endif /* _REQUEST_H */

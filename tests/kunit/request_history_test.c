// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests over a random history, step by step against a model. Guarantee 19 of docs/guarantees.md.
 */
#include <kunit/test.h>

#include "belt/room/evict.h"
#include "request.h"

#define KEYS	200

/* A request as the case expects it. */
struct asked {
	bool waits;
	unsigned int client;
	u64 id;
	u64 deadline;
	u32 count;
	unsigned int keys[HASHBELT_REQUEST_KEYS];
};

/**
 * struct model - the requests as the case expects them
 * @asked:	requests that wait, and free slots
 * @last_id:	the newest id
 * @taken:	completions after the last step, by cause
 */
struct model {
	struct asked asked[60];
	u64 last_id;
	unsigned int taken[HASHBELT_BY_PRESSURE + 1];
};

static bool waits_for(const struct asked *asked, unsigned int key)
{
	u32 i;

	for (i = 0; asked->waits && i < asked->count; i++)
		if (asked->keys[i] == key)
			return true;
	return false;
}

static struct asked *find_asked(struct model *model, unsigned int client, u64 id)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		if (model->asked[i].waits && model->asked[i].client == client &&
		    model->asked[i].id == id)
			return &model->asked[i];
	return NULL;
}

/* Checks that each completion is of a request that waits, and has this cause and key. */
static void take_all_completions(struct kunit *test, struct model *model, enum hashbelt_cause cause,
				 unsigned int key)
{
	struct fixture *f = test->priv;
	struct hashbelt_event record;
	unsigned int client, is;
	struct asked *asked;

	memset(model->taken, 0, sizeof(model->taken));
	for (client = 0; client < ARRAY_SIZE(f->clients); client++) {
		while (take_completion(f, client, &record, &is)) {
			asked = find_asked(model, client, record.id);
			KUNIT_ASSERT_NOT_NULL(test, asked);
			KUNIT_ASSERT_EQ(test, record.deadline_ns, asked->deadline == HB_NEVER ?
					HASHBELT_TTL_NEVER : asked->deadline);
			/* A request past its deadline has timed out, or was cleared after it. */
			if (asked->deadline <= hashbelt_now(f->belt) &&
			    record.reason != HASHBELT_BY_CLEAR) {
				KUNIT_ASSERT_EQ(test, record.reason, (u32)HASHBELT_BY_TIMEOUT);
				KUNIT_ASSERT_EQ(test, is, NO_KEY);
			} else {
				KUNIT_ASSERT_EQ(test, record.reason, (u32)cause);
				KUNIT_ASSERT_EQ(test, is, key);
				KUNIT_ASSERT_TRUE(test, key == NO_KEY || waits_for(asked, key));
			}
			model->taken[record.reason]++;
			asked->waits = false;
		}
	}
}

static void ask_and_compare(struct kunit *test, struct model *model)
{
	struct fixture *f = test->priv;
	unsigned int i = prandom_u32_state(&f->rnd) % ARRAY_SIZE(model->asked);
	struct asked *asked = &model->asked[i];
	u64 ttl_ms;
	u32 n;

	if (asked->waits) {
		/* The id is in use until the deadline. */
		if (asked->deadline > hashbelt_now(f->belt))
			KUNIT_ASSERT_EQ(test, ask_for(f, asked->client, asked->id, asked->keys,
						      1, 0), -EEXIST);
		return;
	}
	ttl_ms = 1 + prandom_u32_state(&f->rnd) % 240000;
	asked->client = prandom_u32_state(&f->rnd) % ARRAY_SIZE(f->clients);
	asked->count = 1 + prandom_u32_state(&f->rnd) % HASHBELT_REQUEST_KEYS;
	for (n = 0; n < asked->count; n++)
		asked->keys[n] = n % 3 == 2 ? asked->keys[n / 2] :
				 prandom_u32_state(&f->rnd) % KEYS;
	asked->id = ++model->last_id;
	asked->deadline = hashbelt_now(f->belt) + ttl_ms * MS;
	if (asked->id % 8 == 0) {
		asked->deadline = HB_NEVER;
		ttl_ms = HASHBELT_TTL_NEVER;
	}
	KUNIT_ASSERT_EQ(test, 0, ask_for(f, asked->client, asked->id, asked->keys,
					 asked->count, ttl_ms));
	asked->waits = true;
}

/* Checks that no request waits for this key. */
static void expect_completed(struct kunit *test, struct model *model, unsigned int key)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		KUNIT_ASSERT_FALSE(test, waits_for(&model->asked[i], key));
}

static void complete_and_compare(struct kunit *test, struct model *model, unsigned int key)
{
	struct fixture *f = test->priv;
	u32 count = complete_key(f->belt, key);

	take_all_completions(test, model, HASHBELT_BY_COMPLETE, key);
	expect_completed(test, model, key);
	KUNIT_ASSERT_EQ(test, count, model->taken[HASHBELT_BY_COMPLETE]);
}

static void put_and_compare(struct kunit *test, struct model *model, unsigned int key,
			    u32 random)
{
	struct fixture *f = test->priv;
	int err;

	if (random % 2)
		err = put_bytes(f->belt, &key, sizeof(key), "7", 1, &(struct hashbelt_item){});
	else
		err = hashbelt_add(f->belt, &key, sizeof(key), &(struct hashbelt_item){},
				   &(struct hashbelt_sum){ .by = 1 });
	KUNIT_ASSERT_EQ(test, err, 0);
	take_all_completions(test, model, HASHBELT_BY_PUT, key);
	expect_completed(test, model, key);
}

static void cancel_and_compare(struct kunit *test, struct model *model, u32 random)
{
	struct asked *asked = &model->asked[random % ARRAY_SIZE(model->asked)];
	struct fixture *f = test->priv;
	bool waits = asked->waits && asked->deadline > hashbelt_now(f->belt);

	KUNIT_ASSERT_EQ(test, hb_request_cancel(f->belt, f->clients[asked->client], asked->id),
			waits ? 0 : -ENOENT);
	if (waits)
		asked->waits = false;
	take_all_completions(test, model, 0, NO_KEY);
	KUNIT_ASSERT_FALSE(test, asked->waits);
}

static void advance_and_compare(struct kunit *test, struct model *model, u64 by)
{
	struct fixture *f = test->priv;
	unsigned int i;

	hashbelt_advance(f->belt, by);
	take_all_completions(test, model, 0, NO_KEY);
	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		KUNIT_ASSERT_TRUE(test, !model->asked[i].waits ||
				  model->asked[i].deadline + INTERVAL > hashbelt_now(f->belt));
}

static void close_and_compare(struct kunit *test, struct model *model, unsigned int client)
{
	struct fixture *f = test->priv;
	unsigned int i;

	drop_client(f, client);
	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		if (model->asked[i].client == client)
			model->asked[i].waits = false;
	f->clients[client] = hashbelt_client_new(f->belt);
	KUNIT_ASSERT_NOT_NULL(test, f->clients[client]);
}

static void evict_or_clear_and_compare(struct kunit *test, struct model *model, u32 random)
{
	struct fixture *f = test->priv;
	enum hashbelt_cause cause = HASHBELT_BY_CLEAR;
	unsigned int i, done = ~0;

	if (random % 8) {
		cause = random % 2 ? HASHBELT_BY_EVICTION : HASHBELT_BY_PRESSURE;
		done = hb_evict(f->belt, (enum hashbelt_reason)cause, random % 5);
	} else {
		hashbelt_clear(f->belt);
	}
	flush_work(&f->belt->work);
	take_all_completions(test, model, cause, NO_KEY);
	KUNIT_ASSERT_LE(test, model->taken[cause], done);
	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		KUNIT_ASSERT_TRUE(test, cause != HASHBELT_BY_CLEAR || !model->asked[i].waits);
}

static void one_step(struct kunit *test, struct model *model, u32 op, u32 random)
{
	unsigned int key = random % KEYS;
	struct fixture *f = test->priv;

	switch (op % 32) {
	case 0 ... 2:
		put_and_compare(test, model, key, random / KEYS);
		break;
	case 3 ... 4:
		complete_and_compare(test, model, key);
		break;
	case 5 ... 6:
		cancel_and_compare(test, model, random);
		break;
	case 7 ... 8:
		advance_and_compare(test, model, random % (40 * SEC));
		break;
	case 9:
		move_time_only(f->belt, random % (10 * SEC));
		break;
	case 10:
		if (random % 4 == 0)
			close_and_compare(test, model, random / 4 % 4);
		break;
	case 11:
		evict_or_clear_and_compare(test, model, random / KEYS);
		break;
	case 12:
		take_out(f->belt, key);
		take_all_completions(test, model, 0, NO_KEY);
		break;
	default:
		ask_and_compare(test, model);
	}
}

static unsigned int count_waiting(const struct model *model)
{
	unsigned int i, count = 0;

	for (i = 0; i < ARRAY_SIZE(model->asked); i++)
		count += model->asked[i].waits;
	return count;
}

static void requests_are_completed_once_over_a_random_history(struct kunit *test)
{
	struct hashbelt_belt *belt = make(test, (struct hashbelt_config){
		.policy = HASHBELT_EVICT, .handler = HASHBELT_NOTIFY, .max_events = 100,
	});
	struct model *model = kunit_kzalloc(test, sizeof(*model), GFP_KERNEL);
	struct fixture *f = test->priv;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, model);
	for (i = 0; i < 8000; i++) {
		u32 op = prandom_u32_state(&f->rnd);

		one_step(test, model, op, prandom_u32_state(&f->rnd));
		check_accounting(test, belt);
		/* The worker may have found timeouts. */
		flush_work(&belt->work);
		take_all_completions(test, model, 0, NO_KEY);
		KUNIT_ASSERT_EQ(test, info_of(belt).requests, (u64)count_waiting(model));
		if (i % 500 == 0)
			KUNIT_ASSERT_EQ(test, memory_besides(belt), f->besides);
	}
	KUNIT_EXPECT_GT(test, stat_of(belt, HASHBELT_STAT_TIMED_OUT), 50ULL);
	KUNIT_EXPECT_GT(test, stat_of(belt, HASHBELT_STAT_COMPLETED), 500ULL);
	for (i = 0; i < ARRAY_SIZE(f->clients); i++)
		close_and_compare(test, model, i);
	KUNIT_EXPECT_EQ(test, info_of(belt).requests, 0ULL);
	KUNIT_EXPECT_EQ(test, census_of(belt).of_kind[HB_WAITPOINT], 0ULL);
}

static struct kunit_case request_history_test_cases[] = {
	KUNIT_CASE(requests_are_completed_once_over_a_random_history),
	{}
};

static struct kunit_suite request_history_suite = {
	.name = "hashbelt_request_history",
	.init = fixture_init,
	.exit = fixture_exit,
	.test_cases = request_history_test_cases,
};

kunit_test_suites(&request_history_suite);

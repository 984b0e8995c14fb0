// SPDX-License-Identifier: GPL-2.0-only
/*
 * The atomic word of a node: what each function makes of each kind of word. Functions that claim a
 * node under its shard's lock are not called for one that is claimed.
 */
#include <kunit/test.h>

#include "belt/ground/clock.h"
#include "belt/ground/wheel.h"

#define SEC		((u64)NSEC_PER_SEC)
#define DEADLINE	(3600 * SEC)
#define BEFORE		(DEADLINE - HB_GRAIN)
#define LATER		(DEADLINE + SEC)
#define SOONER		(DEADLINE - SEC)
#define SEALED		(DEADLINE - HB_SEALED)

/* Times at which a task looks at a node: its deadline is ahead, reached, and past. */
static const u64 times[] = { SOONER, BEFORE, DEADLINE, LATER };

static void set(struct hb_node *node, u64 word)
{
	atomic64_set(&node->deadline, word);
}

static u64 word_of(const struct hb_node *node)
{
	return atomic64_read(&node->deadline);
}

static u64 claimed(u64 deadline, enum hashbelt_reason reason)
{
	return HB_CLAIMED | deadline | reason;
}

static void a_word_tells_the_deadline(struct kunit *test)
{
	unsigned int reason;

	KUNIT_EXPECT_EQ(test, hb_deadline(DEADLINE), DEADLINE);
	KUNIT_EXPECT_EQ(test, hb_deadline(SEALED), DEADLINE);
	KUNIT_EXPECT_EQ(test, hb_deadline(HB_NEVER), HB_NEVER);
	for (reason = 0; reason <= HB_REASON; reason++) {
		KUNIT_EXPECT_EQ(test, hb_deadline(claimed(DEADLINE, reason)), DEADLINE);
		KUNIT_EXPECT_EQ(test, hb_deadline(claimed(HB_NEVER, reason)), HB_NEVER);
		KUNIT_EXPECT_EQ(test, (unsigned int)hb_reason(claimed(DEADLINE, reason)), reason);
	}
}

static void a_seal_keeps_the_deadline_and_is_set_once(struct kunit *test)
{
	struct hb_node node;

	set(&node, DEADLINE);
	KUNIT_EXPECT_FALSE(test, hb_node_seal(&node, LATER));
	KUNIT_EXPECT_EQ(test, word_of(&node), DEADLINE);
	KUNIT_EXPECT_TRUE(test, hb_node_seal(&node, DEADLINE));
	KUNIT_EXPECT_EQ(test, word_of(&node), SEALED);
	KUNIT_EXPECT_TRUE(test, hb_node_seal(&node, SEALED));
	KUNIT_EXPECT_EQ(test, word_of(&node), SEALED);
	KUNIT_EXPECT_EQ(test, hb_node_deadline(&node), DEADLINE);
}

/* With @keep the new node gets the deadline of the old one. */
static void a_sealed_node_is_not_superseded(struct kunit *test)
{
	struct hb_node node, by;
	unsigned int keep;

	for (keep = 0; keep < 2; keep++) {
		set(&by, LATER);
		set(&node, SEALED);
		KUNIT_EXPECT_FALSE(test, hb_node_supersede(&node, &by, keep));
		KUNIT_EXPECT_EQ(test, word_of(&node), SEALED);
		KUNIT_EXPECT_EQ(test, word_of(&by), LATER);
	}
}

static void a_node_that_is_not_sealed_is_superseded(struct kunit *test)
{
	static const u64 words[] = { DEADLINE, HB_NEVER };
	struct hb_node node, by;
	unsigned int keep, i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		for (keep = 0; keep < 2; keep++) {
			set(&by, LATER);
			set(&node, words[i]);
			KUNIT_EXPECT_TRUE(test, hb_node_supersede(&node, &by, keep));
			KUNIT_EXPECT_EQ(test, word_of(&node), claimed(words[i], HASHBELT_REPLACED));
			KUNIT_EXPECT_EQ(test, word_of(&by), keep ? words[i] : LATER);
		}
	}
}

static void a_sealed_node_is_not_renewed(struct kunit *test)
{
	struct hb_node node;
	unsigned int keep;

	for (keep = 0; keep < 2; keep++) {
		set(&node, SEALED);
		KUNIT_EXPECT_EQ(test, hb_node_renew(&node, LATER, keep), 0ULL);
		KUNIT_EXPECT_EQ(test, hb_node_renew(&node, SOONER, keep), 0ULL);
		KUNIT_EXPECT_EQ(test, word_of(&node), SEALED);
	}
}

static void a_node_that_is_not_sealed_is_renewed(struct kunit *test)
{
	static const u64 words[] = { DEADLINE, HB_NEVER };
	struct hb_node node;
	unsigned int keep, i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		for (keep = 0; keep < 2; keep++) {
			set(&node, words[i]);
			KUNIT_EXPECT_EQ(test, hb_node_renew(&node, SOONER, keep), words[i]);
			KUNIT_EXPECT_EQ(test, word_of(&node), keep ? words[i] : SOONER);
		}
	}
}

/* Also by a task whose clock value is older than that of the reader that has sealed it. */
static void a_sealed_node_expires_and_is_not_moved(struct kunit *test)
{
	struct hb_node node;
	unsigned int i, shorten;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		for (shorten = 0; shorten < 2; shorten++) {
			set(&node, SEALED);
			KUNIT_EXPECT_EQ(test, hb_node_move(&node, times[i], LATER + SEC, shorten),
					(u64)HB_GONE);
			KUNIT_EXPECT_EQ(test, word_of(&node), SEALED);
		}
		KUNIT_EXPECT_TRUE(test, hb_node_claim_due(&node, times[i]));
		KUNIT_EXPECT_EQ(test, word_of(&node), claimed(DEADLINE, HASHBELT_EXPIRED));
	}
}

static void a_node_expires_from_its_deadline_on(struct kunit *test)
{
	struct hb_node node;
	unsigned int i;
	bool due;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		due = times[i] >= DEADLINE;
		set(&node, DEADLINE);
		KUNIT_EXPECT_EQ(test, hb_node_claim_due(&node, times[i]), due);
		KUNIT_EXPECT_EQ(test, word_of(&node),
				due ? claimed(DEADLINE, HASHBELT_EXPIRED) : DEADLINE);
	}
	set(&node, HB_NEVER);
	KUNIT_EXPECT_FALSE(test, hb_node_claim_due(&node, LATER));
}

static void a_node_is_moved_until_its_deadline(struct kunit *test)
{
	struct hb_node node;
	unsigned int i;
	bool due;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		due = times[i] >= DEADLINE;
		set(&node, DEADLINE);
		KUNIT_EXPECT_EQ(test, hb_node_move(&node, times[i], LATER + SEC, false),
				due ? (u64)HB_GONE : LATER + SEC);
		KUNIT_EXPECT_EQ(test, word_of(&node), due ? DEADLINE : LATER + SEC);
	}
	set(&node, DEADLINE);
	KUNIT_EXPECT_EQ(test, hb_node_move(&node, SOONER, BEFORE, false), DEADLINE);
	KUNIT_EXPECT_EQ(test, hb_node_move(&node, SOONER, BEFORE, true), BEFORE);
	KUNIT_EXPECT_EQ(test, word_of(&node), BEFORE);
}

/* No function but those that claim it changes a node; the reason of the first one stays. */
static void a_claimed_node_stays_as_it_is(struct kunit *test)
{
	struct hb_node node;
	unsigned int reason, i;
	u64 word;

	for (reason = 0; reason <= HB_REASON; reason++) {
		word = claimed(DEADLINE, reason);
		set(&node, word);
		for (i = 0; i < ARRAY_SIZE(times); i++) {
			KUNIT_EXPECT_EQ(test, hb_node_move(&node, times[i], LATER + SEC, true),
					reason == HASHBELT_REPLACED ? (u64)HB_ELSEWHERE :
								      (u64)HB_GONE);
			KUNIT_EXPECT_FALSE(test, hb_node_claim_due(&node, times[i]));
		}
		KUNIT_EXPECT_FALSE(test, hb_node_try_claim(&node, HASHBELT_REMOVED));
		KUNIT_EXPECT_EQ(test, word_of(&node), word);
	}
}

static void a_claim_keeps_the_deadline_of_a_sealed_node(struct kunit *test)
{
	struct hb_node node;

	set(&node, SEALED);
	KUNIT_EXPECT_EQ(test, hb_node_claim(&node, HASHBELT_REMOVED), SEALED);
	KUNIT_EXPECT_EQ(test, word_of(&node), claimed(DEADLINE, HASHBELT_REMOVED));
	set(&node, SEALED);
	KUNIT_EXPECT_TRUE(test, hb_node_try_claim(&node, HASHBELT_EVICTED));
	KUNIT_EXPECT_EQ(test, word_of(&node), claimed(DEADLINE, HASHBELT_EVICTED));
	set(&node, HB_NEVER);
	KUNIT_EXPECT_EQ(test, hb_node_claim(&node, HASHBELT_EVICTED), HB_NEVER);
	KUNIT_EXPECT_EQ(test, word_of(&node), claimed(HB_NEVER, HASHBELT_EVICTED));
}

static struct kunit_case node_cases[] = {
	KUNIT_CASE(a_word_tells_the_deadline),
	KUNIT_CASE(a_seal_keeps_the_deadline_and_is_set_once),
	KUNIT_CASE(a_sealed_node_is_not_superseded),
	KUNIT_CASE(a_node_that_is_not_sealed_is_superseded),
	KUNIT_CASE(a_sealed_node_is_not_renewed),
	KUNIT_CASE(a_node_that_is_not_sealed_is_renewed),
	KUNIT_CASE(a_sealed_node_expires_and_is_not_moved),
	KUNIT_CASE(a_node_expires_from_its_deadline_on),
	KUNIT_CASE(a_node_is_moved_until_its_deadline),
	KUNIT_CASE(a_claimed_node_stays_as_it_is),
	KUNIT_CASE(a_claim_keeps_the_deadline_of_a_sealed_node),
	{}
};

static struct kunit_suite node_suite = { .name = "hashbelt_node", .test_cases = node_cases };

kunit_test_suites(&node_suite);

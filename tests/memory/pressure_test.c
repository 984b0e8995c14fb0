// SPDX-License-Identifier: GPL-2.0-only
/*
 * pressure_test - belts give memory back under memory pressure.
 *
 * drop_caches calls the shrinkers by hand, and asks for all objects. So the outcome does
 * not depend on the system's load.
 */
#define _GNU_SOURCE
#include "events.h"

#define MANY	20000

static void put_many(int belt, unsigned int n)
{
	static unsigned char value[200];
	struct hashbelt_item item;
	unsigned int i;

	for (i = 0; i < n; i++) {
		item = (struct hashbelt_item){
			.key = address(&i), .key_len = sizeof(i),
			.value = address(value), .value_len = sizeof(value),
			.ttl_ms = 1000 + i * 7919ULL % 600000,
		};
		if (i % 16 == 15)
			item.ttl_ms = HASHBELT_TTL_NEVER;
		must(belt, HASHBELT_IOC_PUT, &item);
	}
}

static bool is_empty(void *arg)
{
	if (!info_of(*(int *)arg).entries)
		return true;
	drop_caches();
	return false;
}

static void test_asked(void)
{
	__u64 before = get_parameter("used_bytes"), full, after;
	int belt = new_belt(0), evicting = new_belt(HASHBELT_EVICT), pinned;

	pinned = new_belt(HASHBELT_PINNED);
	put_many(belt, MANY);
	put_many(evicting, MANY);
	put_many(pinned, MANY);
	full = get_parameter("used_bytes");
	drop_caches();
	note("of %u entries %llu are left, and %llu in the belt that evicts", MANY,
	     info_of(belt).entries, info_of(evicting).entries);
	ok(info_of(belt).entries < MANY / 2,
	   "drop_caches makes a belt give up more than half of its entries");
	is_int(info_of(belt).entries + counter(belt, HASHBELT_STAT_PRESSURE), MANY,
	       "entries given up under memory pressure are counted as that");
	is_int(counter(belt, HASHBELT_STAT_EVICTED), 0,
	       "entries given up under memory pressure are not counted as evicted");
	ok(at_last(is_empty, &belt) && at_last(is_empty, &evicting),
	   "repeated drop_caches empties a belt, whether it evicts or not");
	is_int(info_of(pinned).entries, MANY, "drop_caches takes no entry of a pinned belt");
	used_at_last(before + (full - before) / 2);
	after = get_parameter("used_bytes");
	ok(after - before <= (full - before) / 2,
	   "used_bytes falls by at least half when entries are given up");
	note("%llu bytes before, %llu full, %llu after", before, full, after);
	put_text(belt, "key", "value", 0);
	ok(holds_text(belt, "key", "value"), "a belt that has given up all entries takes new ones");
	SET(pinned, .fields = HASHBELT_SET_POLICY);
	ok(at_last(is_empty, &pinned), "drop_caches empties a belt that was unpinned");
	put_text(pinned, "key", "value", 0);
	at_last(is_empty, &pinned);
	is_errno(on_key(pinned, HASHBELT_IOC_GET, "key"), ENOENT,
		 "get of an entry that was given up returns ENOENT");
	is_int(counter(pinned, HASHBELT_STAT_MISSES_EVICTED), 1,
	       "a miss of an entry that was given up is counted in misses_evicted");
	close(belt);
	close(evicting);
	close(pinned);
}

/* Events take memory as well: those of entries taken under pressure are bounded. */
static void test_bound(void)
{
	__u64 before = get_parameter("used_bytes"), full;
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);
	struct stream stream = stream_of(belt, HASHBELT_EVENT_MAX);
	const struct hashbelt_event *event;
	unsigned int expired = 0;

	queue_events(belt, 1000);
	put_many(belt, MANY);
	full = get_parameter("used_bytes") - before;
	at_last(is_empty, &belt);
	used_at_last(before + full / 2);
	ok(info_of(belt).queued > 1000 && get_parameter("used_bytes") < before + full / 2,
	   "pressure queues events and frees at least half of used_bytes");
	while ((event = next_event(&stream)))
		expired += event->reason == HASHBELT_EXPIRED;
	is_int(stream.count + stream.lost, 1000 + MANY,
	       "each entry taken by pressure is reported or counted as lost");
	is_int(expired, 1000, "pressure drops no event of an expired entry");
	note("%llu reported, %llu lost", stream.count, stream.lost);
	free(stream.buffer);
	close(belt);
}

/* An expired entry that the shrinker frees is reported as expired. */
static void test_expired(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);

	put_text(belt, "expired", "value", 1);
	advance(belt, 2);
	at_last(is_empty, &belt);
	ok(counter(belt, HASHBELT_STAT_EXPIRED) == 1 &&
	   !counter(belt, HASHBELT_STAT_PRESSURE) && has_events(belt, 1, 1),
	   "an expired entry that pressure frees is reported as expired");
	close(belt);
}

/* The shrinker frees no queued events. */
static void test_events(void)
{
	int belt = reporting_belt(HASHBELT_NOTIFY, 0);

	queue_events(belt, 1000);
	drop_caches();
	drop_caches();
	ok(has_events(belt, 1, 1000), "drop_caches drops no queued event");
	close(belt);
}

int main(void)
{
	__u64 before = get_parameter("used_bytes");

	test_asked();
	test_bound();
	test_expired();
	test_events();
	ok(used_at_last(before), "used_bytes returns to what it was before the test");
	return done_testing();
}

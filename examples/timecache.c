// SPDX-License-Identifier: GPL-2.0-only
/*
 * timecache - entries that expire unless they are put again, with a callback for each.
 *
 *	timecache [TTL [BUCKETS]]
 *
 * Shows Storm's TimeCacheMap (later RotatingMap): a time-to-live, a number of buckets,
 * and a callback that gets the key and value of each entry that expires. A put replaces
 * the value and brings the entry to the front; a get does not refresh. The callback is
 * called for an entry between TTL and TTL * (1 + 1 / (BUCKETS - 1)) after its last put.
 *
 * The first half of this file is the map, to be copied; the second half exercises it.
 * One thing is stricter than in Storm: from TTL on, get and contains do not find the
 * entry, though the callback may come up to one interval later.
 *
 * Relies on: HASHBELT_NOTIFY reports each expired entry exactly once, at most one
 * interval after its deadline; the interval is TTL / (BUCKETS - 1).
 */
#include "example.h"

#define DEFAULT_BUCKETS	3
#define DEFAULT_TTL_S	30

static const char usage[] =
	"usage: timecache [TTL [BUCKETS]]\n"
	"A time cache with a callback. TTL in seconds (30), BUCKETS 2 or more (3).\n";

/* Called for each expired entry; @age: time from the last put to the callback, ms. */
typedef void (*expired_fn)(const char *key, const char *value, __u64 age, void *arg);

/**
 * struct time_cache - the map, of strings to strings
 * @belt:	its belt
 * @ttl_ns:	time-to-live
 * @expired:	the callback
 * @arg:	passed on to it
 */
struct time_cache {
	struct hashbelt *belt;
	__u64 ttl_ns;
	expired_fn expired;
	void *arg;
};

/**
 * time_cache_new() - make a map
 * @cache:	the map
 * @ttl_ms:	time-to-live of an entry
 * @buckets:	number of buckets, 2 or more
 * @expired:	called from time_cache_poll() for each expired entry
 * @arg:	passed on to it
 *
 * Return: 0, or -EINVAL for less than 2 buckets.
 */
static int time_cache_new(struct time_cache *cache, __u64 ttl_ms, unsigned int buckets,
			  expired_fn expired, void *arg)
{
	if (buckets < 2)
		return -EINVAL;
	cache->belt = new_belt(NULL, (struct hashbelt_settings){
		.ttl_ms = ttl_ms,
		.buckets = buckets,
		.policy = HASHBELT_POLICY_TIMECACHE,
		.handler = HASHBELT_NOTIFY,
	});
	cache->ttl_ns = ttl_ms * 1000000;
	cache->expired = expired;
	cache->arg = arg;
	return 0;
}

static void time_cache_put(struct time_cache *cache, const char *key, const char *value)
{
	must("put",
	     hashbelt_put(cache->belt, key, strlen(key), value, strlen(value), NULL));
}

/* Return: false if the key is absent. */
static bool time_cache_get(struct time_cache *cache, const char *key, char *value,
			   size_t size)
{
	struct hashbelt_item item = {};
	int err = hashbelt_get(cache->belt, key, strlen(key), value, size - 1, &item);

	if (err == -ENOENT)
		return false;
	must("get", err);
	value[item.value_len] = 0;
	return true;
}

static bool time_cache_contains(struct time_cache *cache, const char *key)
{
	struct hashbelt_item item = { .how = HASHBELT_NO_VALUE };
	int err = hashbelt_get(cache->belt, key, strlen(key), NULL, 0, &item);

	if (err != -ENOENT)
		must("contains", err);
	return !err;
}

/* Return: false if the key was absent. */
static bool time_cache_remove(struct time_cache *cache, const char *key)
{
	int err = hashbelt_remove(cache->belt, key, strlen(key), NULL);

	if (err != -ENOENT)
		must("remove", err);
	return !err;
}

static size_t time_cache_size(struct time_cache *cache)
{
	return info_of(cache->belt).entries;
}

static void call_back(const struct hashbelt_event *event, void *arg)
{
	struct time_cache *cache = arg;
	char key[64], value[64];
	/* Rounded to the nearest millisecond: a deadline is rounded down to 8 ns. */
	__u64 age_ns = event->handed_ns - event->deadline_ns + cache->ttl_ns + 500000;

	snprintf(key, sizeof(key), "%.*s", (int)event->key_len,
		 (const char *)hashbelt_event_key(event));
	snprintf(value, sizeof(value), "%.*s", (int)event->value_len,
		 (const char *)hashbelt_event_value(event));
	cache->expired(key, value,
		       age_ns / 1000000,
		       cache->arg);
}

/* Calls the callback for each expired entry. A real program calls this from a thread. */
static void time_cache_poll(struct time_cache *cache)
{
	read_events(cache->belt, call_back, cache);
}

static void time_cache_free(struct time_cache *cache)
{
	hashbelt_close(cache->belt);
}

/**
 * struct death - an entry that the callback was called for
 * @age:	time from the last put to the callback, ms
 * @key:	its key
 * @value:	its value
 */
struct death {
	__u64 age;
	char key[32];
	char value[32];
};

/**
 * struct play - results so far
 * @now_ms:	time since the beginning
 * @ttl_ms:	time-to-live
 * @latest_ms:	greatest age allowed at the callback
 * @least_ms:	smallest age found
 * @most_ms:	greatest age found
 * @total:	number of calls of the callback
 * @deaths:	entries of this step's calls
 * @count:	number of entries in @deaths
 */
struct play {
	__u64 now_ms;
	__u64 ttl_ms;
	__u64 latest_ms;
	__u64 least_ms;
	__u64 most_ms;
	unsigned int total;
	struct death deaths[16];
	unsigned int count;
};

/* The callback. */
static void told(const char *key, const char *value, __u64 age, void *arg)
{
	struct play *play = arg;
	struct death *death = &play->deaths[play->count];

	promise(age >= play->ttl_ms, "no entry expires before its time-to-live is over");
	promise(age <= play->latest_ms,
		"the callback comes at most one interval after the time-to-live");
	if (!play->total || age < play->least_ms)
		play->least_ms = age;
	if (age > play->most_ms)
		play->most_ms = age;
	play->total++;
	if (play->count == ARRAY_SIZE(play->deaths))
		return;
	play->count++;
	death->age = age;
	snprintf(death->key, sizeof(death->key), "%s", key);
	snprintf(death->value, sizeof(death->value), "%s", value);
}

static int by_age(const void *a, const void *b)
{
	const struct death *one = a, *other = b;

	if (one->age != other->age)
		return one->age < other->age ? 1 : -1;
	return strcmp(one->key, other->key);
}

/* The entries of one bucket come in any order, so sort them: the oldest first. */
static void print_deaths(struct play *play)
{
	unsigned int i;

	qsort(play->deaths, play->count, sizeof(play->deaths[0]), by_age);
	for (i = 0; i < play->count; i++)
		printf("%.2f s: expired %s, %s, which lived %.2f s\n", play->now_ms / 1e3,
		       play->deaths[i].key, play->deaths[i].value,
		       play->deaths[i].age / 1e3);
	play->count = 0;
}

/*
 * Uses the cache at a step. @per steps are an interval, @life steps a time-to-live.
 * Return: the number of keys that were put and had been absent.
 */
static unsigned int play_step(struct time_cache *cache, unsigned int step,
			      unsigned int per, unsigned int life)
{
	bool lives = step < life;
	char key[32], value[32];
	unsigned int puts = 0;

	if (step < per && step % 4 == 0) {
		snprintf(key, sizeof(key), "once-%u", step / 4);
		time_cache_put(cache, key, "put once");
		puts++;
	}
	if (step % (life / 2) == 1 && step < 2 * life) {
		snprintf(value, sizeof(value), "put %u times", 1 + step / (life / 2));
		time_cache_put(cache, "again", value);
		puts += step == 1;
	}
	if (!step) {
		time_cache_put(cache, "read", "read all the time");
		puts++;
	}
	promise(time_cache_get(cache, "read", value, sizeof(value)) == lives,
		"get does not refresh, and finds an entry until its deadline");
	promise(time_cache_contains(cache, "again") ==
		(step && step < 2 * life + life / 2 + 1),
		"put brings an entry to the front");
	return puts;
}

static void play_with(struct time_cache *cache, struct play *play)
{
	__u64 interval_ms = info_of(cache->belt).interval_ns / 1000000;
	__u64 step_ms = interval_ms / 20 ?: 1;
	unsigned int life = (play->ttl_ms + step_ms - 1) / step_ms;
	unsigned int per = interval_ms / step_ms;
	unsigned int step, puts = 0;

	/*
	 * Time moves in steps. If a step does not divide the interval, a bucket may
	 * fall off between two steps, and its callbacks come at the second step.
	 */
	play->latest_ms = play->ttl_ms + interval_ms;
	if (info_of(cache->belt).interval_ns % (step_ms * 1000000))
		play->latest_ms += step_ms;
	for (step = 0; step < 4 * life + 2 * per; step++) {
		if (step) {
			must("advance", hashbelt_advance(cache->belt, step_ms));
			play->now_ms += step_ms;
		}
		time_cache_poll(cache);
		print_deaths(play);
		puts += play_step(cache, step, per, life);
	}
	promise(play->total == puts, "the callback is called once for each expired entry");
}

static void try_operations(struct time_cache *cache)
{
	char value[32] = "";

	time_cache_put(cache, "a", "1");
	time_cache_put(cache, "a", "2");
	promise(time_cache_get(cache, "a", value, sizeof(value)) && !strcmp(value, "2"),
		"put replaces a value");
	time_cache_put(cache, "b", "3");
	printf("a is %s, size %zu\n", value, time_cache_size(cache));
	promise(time_cache_size(cache) == 2, "size counts entries");
	promise(time_cache_contains(cache, "b") && !time_cache_contains(cache, "c"),
		"contains is true for a key that was put, and for no other");
	promise(time_cache_remove(cache, "a") && !time_cache_remove(cache, "a") &&
		time_cache_remove(cache, "b"),
		"remove returns true for a key that is there, and for no other");
	printf("removed both, size %zu\n", time_cache_size(cache));
	promise(!time_cache_size(cache), "size is 0 when all entries are removed");
}

int main(int argc, char **argv)
{
	struct time_cache cache;
	unsigned int buckets = DEFAULT_BUCKETS;
	struct play play = { .ttl_ms = DEFAULT_TTL_S * 1000 };

	arguments(argc, argv, 2, usage);
	if (argc > 1)
		play.ttl_ms = number(argv[1], "TTL", 1, 1000000) * 1000;
	if (argc > 2)
		buckets = number(argv[2], "BUCKETS", 0, HASHBELT_BUCKETS_MAX);
	if (time_cache_new(&cache, play.ttl_ms, buckets, told, &play) == -EINVAL) {
		fprintf(stderr, "timecache: there must be at least 2 buckets, not %u\n",
			buckets);
		return 2;
	}
	try_operations(&cache);
	play_with(&cache, &play);
	printf("ttl %.2f buckets %u deaths %u lived %.2f to %.2f of at most %.2f\n",
	       play.ttl_ms / 1e3, buckets, play.total, play.least_ms / 1e3,
	       play.most_ms / 1e3, play.latest_ms / 1e3);
	time_cache_free(&cache);
	return verdict();
}

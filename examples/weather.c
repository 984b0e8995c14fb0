// SPDX-License-Identifier: GPL-2.0-only
/*
 * weather - weather reports that are fetched once and read by many.
 *
 *	weather
 *
 * Shows William Grosso's standard hashbelt: 5 containers, one rotation a minute. A
 * weather station is slow to answer, so each report is kept for four minutes, however
 * often it is read: a get leaves an entry where it is on the belt. A put over a report
 * that is there keeps the old report, so all readers see the same one. Entries that
 * fall off are dropped (Grosso's null handler).
 *
 * Relies on: no get returns an entry at or past its deadline; a put over an entry, with
 * HASHBELT_POLICY_STANDARD, changes neither its value nor its deadline; the memory of
 * an expired entry is freed.
 */
#include "example.h"

#define CONTAINERS	5
#define ROTATION_MS	60000
#define LIFE_MIN	(CONTAINERS - 1)	/* of a report, minutes */
#define END_MIN		10
#define REPORT_MAX	64

static const char usage[] =
	"usage: weather\n"
	"Ten minutes of weather reports on a standard belt.\n";

/* Writes the report of a city's station, which changes each minute. */
static size_t ask_station(const char *city, unsigned int minute, char *report)
{
	return snprintf(report, REPORT_MAX, "%u degrees at minute %u",
			3 + (city[0] + minute * 5) % 11, minute);
}

/* Prints the report of a city; returns true if the station had to be asked. */
static bool show_report(struct hashbelt *belt, const char *city, unsigned int minute)
{
	struct hashbelt_item item = {};
	char report[REPORT_MAX];
	bool asked = false;
	size_t len;
	int err;

	while ((err = hashbelt_get(belt, city, strlen(city), report, sizeof(report),
				   &item))) {
		if (err != -ENOENT)
			die("get", err);
		len = ask_station(city, minute, report);
		err = hashbelt_put(belt, city, strlen(city), report, len, NULL);
		/* EEXIST: another process put a report meanwhile; that one is shown. */
		if (err && err != -EEXIST)
			die("put", err);
		asked = !err;
		item = (struct hashbelt_item){};
	}
	printf("%2u min  %-6s  %.*s, %s, %llu s to live\n", minute, city,
	       (int)item.value_len, report, asked ? "asked the station" : "from the belt",
	       item.ttl_ms / 1000);
	return asked;
}

/* Puts a report over the one that is there. */
static void put_late(struct hashbelt *belt, const char *city, unsigned int minute)
{
	struct hashbelt_item before = {}, after = {};
	char report[REPORT_MAX], was[REPORT_MAX], is[REPORT_MAX];
	size_t len = ask_station(city, minute, report);
	int err;

	must("get", hashbelt_get(belt, city, strlen(city), was, sizeof(was), &before));
	err = hashbelt_put(belt, city, strlen(city), report, len, NULL);
	must("get", hashbelt_get(belt, city, strlen(city), is, sizeof(is), &after));
	printf("%2u min  %-6s  a put of '%s': %s\n", minute, city, report,
	       err == -EEXIST ? "there is one" : strerror(-err));
	promise(err == -EEXIST && after.version == before.version &&
		after.value_len == before.value_len && !memcmp(is, was, after.value_len),
		"put over an entry keeps its value and its version");
	promise(after.ttl_ms == before.ttl_ms, "put over an entry keeps its deadline");
}

/* The report of Oslo is read each minute, that of Bergen at the beginning and the end. */
static void play(struct hashbelt *belt)
{
	unsigned int minute;
	bool asked;

	for (minute = 0; minute < END_MIN; minute++) {
		asked = show_report(belt, "Oslo", minute);
		promise(asked == (minute % LIFE_MIN == 0),
			"a get does not make a report live longer");
		if (minute % (END_MIN - 1) == 0)
			promise(show_report(belt, "Bergen", minute),
				"a report that is not read expires as well");
		if (minute == 2)
			put_late(belt, "Oslo", minute);
		must("rotate", hashbelt_rotate(belt));
	}
}

int main(int argc, char **argv)
{
	struct hashbelt_info before, after;
	unsigned int i;
	char event[64];
	struct hashbelt *belt;

	arguments(argc, argv, 0, usage);
	belt = new_belt(NULL, (struct hashbelt_settings){
		.ttl_ms = LIFE_MIN * ROTATION_MS,
		.buckets = CONTAINERS,
		.policy = HASHBELT_POLICY_STANDARD,
		.handler = HASHBELT_DROP,
	});
	before = info_of(belt);
	play(belt);
	for (i = 0; i < CONTAINERS; i++)
		must("rotate", hashbelt_rotate(belt));
	after = info_of(belt);
	printf("the end: %llu entries, %lld bytes more than at first, %s\n",
	       after.entries, (long long)(after.bytes - before.bytes),
	       hashbelt_read(belt, event, sizeof(event)) == -ENODATA ?
	       "no events" : "events");
	promise(!after.entries && after.bytes == before.bytes,
		"the memory of an expired entry is freed");
	hashbelt_close(belt);
	return verdict();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * weather - weather reports that are asked for once and read by many.
 *
 *	weather
 *
 * Shows William Grosso's standard hashbelt: 5 containers, one rotation a minute. A
 * station is slow to ask, so what it says is kept until it is too old to be of use,
 * however often it is read: get leaves an entry where it is on the belt. Who comes
 * with a report while there is one comes too late: put keeps what is there, so all
 * readers see the same. What falls off is dropped (Grosso's null handler).
 *
 * Relies on: no read returns an entry at or past its deadline; a put with
 * HASHBELT_POLICY_STANDARD changes neither the value nor the deadline of what is
 * there; an entry that expires gives its memory back.
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

/* What the station of a city says: something else each minute. */
static size_t ask_station(const char *city, unsigned int minute, char *report)
{
	return snprintf(report, REPORT_MAX, "%u degrees at minute %u",
			3 + (city[0] + minute * 5) % 11, minute);
}

/* Prints the report of a city; returns true if the station had to be asked. */
static bool show_report(int fd, const char *city, unsigned int minute)
{
	struct hashbelt_item item = {};
	char report[REPORT_MAX];
	bool asked = false;
	size_t len;
	int err;

	while ((err = hashbelt_get(fd, city, strlen(city), report, sizeof(report),
				   &item))) {
		if (err != -ENOENT)
			die("get", err);
		len = ask_station(city, minute, report);
		err = hashbelt_put(fd, city, strlen(city), report, len, NULL);
		/* EEXIST: somebody else asked meanwhile, and that report is shown. */
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

/* Somebody puts a report without a look at what is there. */
static void put_late(int fd, const char *city, unsigned int minute)
{
	struct hashbelt_item before = {}, after = {};
	char report[REPORT_MAX], was[REPORT_MAX], is[REPORT_MAX];
	size_t len = ask_station(city, minute, report);
	int err;

	must("get", hashbelt_get(fd, city, strlen(city), was, sizeof(was), &before));
	err = hashbelt_put(fd, city, strlen(city), report, len, NULL);
	must("get", hashbelt_get(fd, city, strlen(city), is, sizeof(is), &after));
	printf("%2u min  %-6s  a put of '%s': %s\n", minute, city, report,
	       err == -EEXIST ? "there is one" : strerror(-err));
	promise(err == -EEXIST && after.version == before.version &&
		after.value_len == before.value_len && !memcmp(is, was, after.value_len),
		"a put keeps what is there");
	promise(after.ttl_ms == before.ttl_ms,
		"a put leaves the deadline of what is there");
}

/* Everybody reads about Oslo; about Bergen somebody at the beginning and the end. */
static void play(int fd)
{
	unsigned int minute;
	bool asked;

	for (minute = 0; minute < END_MIN; minute++) {
		asked = show_report(fd, "Oslo", minute);
		promise(asked == (minute % LIFE_MIN == 0),
			"reading does not make a report live longer");
		if (minute % (END_MIN - 1) == 0)
			promise(show_report(fd, "Bergen", minute),
				"a report that nobody reads is gone as well");
		if (minute == 2)
			put_late(fd, "Oslo", minute);
		must("rotate", hashbelt_rotate(fd));
	}
}

int main(int argc, char **argv)
{
	struct hashbelt_info before, after;
	unsigned int i;
	char event[64];
	int fd;

	arguments(argc, argv, 0, usage);
	fd = new_belt(NULL, (struct hashbelt_settings){
		.ttl_ms = LIFE_MIN * ROTATION_MS,
		.buckets = CONTAINERS,
		.policy = HASHBELT_POLICY_STANDARD,
		.handler = HASHBELT_DROP,
	});
	before = info_of(fd);
	play(fd);
	for (i = 0; i < CONTAINERS; i++)
		must("rotate", hashbelt_rotate(fd));
	after = info_of(fd);
	printf("the end: %llu entries, %lld bytes more than at first, %s to be told\n",
	       after.entries, (long long)(after.bytes - before.bytes),
	       hashbelt_read(fd, event, sizeof(event)) == -ENODATA ?
	       "nothing" : "something");
	promise(!after.entries && after.bytes == before.bytes,
		"what falls off the belt gives its memory back");
	hashbelt_close(fd);
	return verdict();
}

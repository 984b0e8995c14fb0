// SPDX-License-Identifier: GPL-2.0-only
/*
 * connections - long connections that are closed when they have been silent.
 *
 *	connections [COUNT]
 *
 * Shows a manager of long connections as it is built on Netty's HashedWheelTimer. A
 * connection times out after a minute of silence; any activity restarts the minute.
 * The owner is told of each timeout. Here a connection is an entry, and an activity is
 * a touch: one store to the entry's deadline. The entry stays in its bucket, and is
 * moved to the bucket of its new deadline when the old bucket falls off: once in a
 * time-to-live, not once in an activity. A busy connection does not delay the timeouts
 * of the others in its bucket.
 *
 * All COUNT connections (100,000) are opened at once. One of ten is busy: it has an
 * activity each second for three minutes. The others have one activity in the first 50
 * seconds. The first connection is busy.
 *
 * Relies on: a touch is O(1); no entry expires before its last
 * deadline; HASHBELT_NOTIFY reports each expired entry exactly once, at most one
 * interval (a second) after its deadline.
 */
#include "example.h"

#define TIMEOUT_S	60
#define BUSY_S		180	/* how long the busy connections are active */
#define ONCE_S		50	/* the others are active once before this time */
#define END_S		(BUSY_S + TIMEOUT_S + 2)
#define DEFAULT_COUNT	100000

static const char usage[] =
	"usage: connections [COUNT]\n"
	"Closes connections after a minute of silence. COUNT connections (100000).\n";

/**
 * struct connection - a connection, as its owner knows it
 * @active:	time of the last activity, s
 * @closed:	time at which the timeout was reported, s; 0: not yet
 */
struct connection {
	unsigned int active;
	unsigned int closed;
};

/**
 * struct manager - all connections
 * @belt:	the belt
 * @now:	time, s
 * @count:	number of connections
 * @connections: the connections
 * @refreshed:	number of activities
 * @told:	number of timeouts reported
 * @least:	shortest silence before a reported timeout, s
 * @most:	longest silence before a reported timeout, s
 */
struct manager {
	struct hashbelt *belt;
	unsigned int now;
	unsigned int count;
	struct connection *connections;
	unsigned long refreshed;
	unsigned int told;
	unsigned int least;
	unsigned int most;
};

static bool is_busy(unsigned int i)
{
	return i % 10 == 0;
}

static unsigned int count_busy(struct manager *manager)
{
	return (manager->count + 9) / 10;
}

static void open_connection(struct manager *manager, unsigned int i)
{
	must("put", hashbelt_put(manager->belt, &i, sizeof(i), NULL, 0, NULL));
}

static void refresh(struct manager *manager, unsigned int i)
{
	must("touch",
	     hashbelt_touch(manager->belt, &i, sizeof(i), HASHBELT_TTL_BELT, NULL));
	manager->connections[i].active = manager->now;
	manager->refreshed++;
}

/* Called for each timeout. A real owner would close the connection here. */
static void close_connection(const struct hashbelt_event *event, void *arg)
{
	struct manager *manager = arg;
	struct connection *connection;
	unsigned int i, silent;

	memcpy(&i, hashbelt_event_key(event), sizeof(i));
	connection = &manager->connections[i];
	promise(!connection->closed, "a timeout is reported once");
	connection->closed = manager->now;
	silent = manager->now - connection->active;
	promise(silent >= TIMEOUT_S, "no connection times out before a minute of silence");
	promise(silent <= TIMEOUT_S + 1, "a timeout is reported at most one interval late");
	if (!manager->told || silent < manager->least)
		manager->least = silent;
	if (silent > manager->most)
		manager->most = silent;
	manager->told++;
}

static void activity(struct manager *manager)
{
	unsigned int i;

	for (i = 0; i < manager->count; i++)
		if (is_busy(i) ? manager->now <= BUSY_S : i % ONCE_S == manager->now)
			refresh(manager, i);
}

static void report(struct manager *manager)
{
	printf("%3u s  %llu open, %lu refreshed, %u timed out\n", manager->now,
	       info_of(manager->belt).entries, manager->refreshed, manager->told);
}

static void play(struct manager *manager)
{
	unsigned int i, busy = count_busy(manager);

	for (i = 0; i < manager->count; i++)
		open_connection(manager, i);
	report(manager);
	while (manager->now < END_S) {
		must("advance", hashbelt_advance(manager->belt, 1000));
		manager->now++;
		read_events(manager->belt, close_connection, manager);
		activity(manager);
		if (manager->now == BUSY_S)
			promise(manager->told == manager->count - busy &&
				info_of(manager->belt).entries == busy,
				"a busy connection does not delay the timeouts of others");
		if (manager->now % 30 == 0 || manager->now == END_S)
			report(manager);
	}
}

int main(int argc, char **argv)
{
	struct manager manager = { .count = DEFAULT_COUNT };
	__u64 moved;

	arguments(argc, argv, 1, usage);
	if (argc > 1)
		manager.count = number(argv[1], "COUNT", 1, 10000000);
	manager.connections = calloc(manager.count, sizeof(*manager.connections));
	if (!manager.connections)
		die("connections", -ENOMEM);
	manager.belt = new_belt(NULL, (struct hashbelt_settings){
		.ttl_ms = TIMEOUT_S * 1000,
		.buckets = TIMEOUT_S + 1,
		.handler = HASHBELT_NOTIFY,
	});
	play(&manager);
	moved = counter_of(manager.belt, HASHBELT_STAT_CASCADED);
	printf("connections %u refreshed %lu moved %llu told %u silent %u to %u\n",
	       manager.count, manager.refreshed, moved, manager.told, manager.least,
	       manager.most);
	promise(manager.told == manager.count && !info_of(manager.belt).entries,
		"each timeout is reported to the owner");
	/* A busy connection is moved once in each timeout, the others once in all. */
	promise(moved <= manager.count + count_busy(&manager) * (BUSY_S / TIMEOUT_S + 1),
		"an activity does not move the connection on the wheel");
	hashbelt_close(manager.belt);
	free(manager.connections);
	return verdict();
}

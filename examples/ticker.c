// SPDX-License-Identifier: GPL-2.0
/*
 * ticker - pushes stock prices to each client every few intervals.
 *
 *	ticker
 *
 * Shows the reinserting handler of William Grosso's hashbelt. Each client is an entry
 * of the belt; when it falls off it is told to a callback, which pushes the prices,
 * and goes back to the front. So a belt of N containers calls each client every N
 * intervals, counted from when it came: no timer for any of them, and no list that
 * is walked. Who leaves is removed, and not called again.
 *
 * Relies on: HASHBELT_REINSERT reports an expired entry exactly once for each of its
 * lives, and gives it the belt's time-to-live again; an entry that is removed is
 * not reported any more.
 */
#include "example.h"

#define CONTAINERS	5
#define ROTATION_MS	15000
#define END		24	/* intervals */

static const char usage[] =
	"usage: ticker\n"
	"Prices for three clients, pushed to each of them every 5 intervals.\n";

/**
 * struct client - who wants prices
 * @name:	its name, the entry's key
 * @symbols:	what it wants prices of, the entry's value
 * @comes:	the interval at which it subscribes
 * @leaves:	and leaves
 * @called:	the interval of the last push; before the first, when it came
 * @pushes:	how many there were
 */
struct client {
	const char *name;
	const char *symbols;
	unsigned int comes;
	unsigned int leaves;
	unsigned int called;
	unsigned int pushes;
};

/* No two of them are due in the same interval: nobody promises who is first then. */
static struct client clients[] = {
	{ .name = "alice", .symbols = "ACME INIT", .comes = 0, .leaves = END },
	{ .name = "bob", .symbols = "INIT", .comes = 2, .leaves = END },
	{ .name = "carol", .symbols = "ACME", .comes = 3, .leaves = 16 },
};

/* Cents, at an interval. */
static unsigned int price(const char *symbol, unsigned int when)
{
	return 10000 + symbol[0] * 7 + (when * 37 + symbol[1]) % 101;
}

static struct client *find_client(const struct hashbelt_event *event)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(clients); i++)
		if (strlen(clients[i].name) == event->key_len &&
		    !memcmp(clients[i].name, hashbelt_event_key(event), event->key_len))
			return &clients[i];
	return NULL;
}

/* The callback. The entry is on the belt again already. */
static void push(const struct hashbelt_event *event, void *arg)
{
	struct client *client = find_client(event);
	unsigned int now = *(unsigned int *)arg, cents;
	char symbols[64], *symbol;

	promise(client, "only clients are told of");
	if (!client)
		return;
	snprintf(symbols, sizeof(symbols), "%.*s", (int)event->value_len,
		 (const char *)hashbelt_event_value(event));
	printf("%2u  push to %s:", now, client->name);
	for (symbol = strtok(symbols, " "); symbol; symbol = strtok(NULL, " ")) {
		cents = price(symbol, now);
		printf(" %s %u.%02u", symbol, cents / 100, cents % 100);
	}
	printf("\n");
	promise(now < client->leaves, "nobody is called after leaving");
	promise(now - client->called == CONTAINERS,
		"a client is called every N intervals");
	client->called = now;
	client->pushes++;
}

static void come_and_go(int fd, unsigned int now)
{
	struct client *client;

	for (client = clients; client < clients + ARRAY_SIZE(clients); client++) {
		if (client->comes == now) {
			must("put", hashbelt_put(fd, client->name, strlen(client->name),
						 client->symbols, strlen(client->symbols),
						 NULL));
			client->called = now;
			printf("%2u  %s comes, for %s\n", now, client->name,
			       client->symbols);
		}
		if (client->leaves == now) {
			must("remove", hashbelt_remove(fd, client->name,
						       strlen(client->name), NULL));
			printf("%2u  %s leaves\n", now, client->name);
		}
	}
}

int main(int argc, char **argv)
{
	struct client *client;
	unsigned int now, wanted;
	int fd;

	arguments(argc, argv, 0, usage);
	fd = new_belt(NULL, (struct hashbelt_settings){
		.ttl_ms = (CONTAINERS - 1) * ROTATION_MS,
		.buckets = CONTAINERS,
		.handler = HASHBELT_REINSERT,
	});
	for (now = 0; now < END; now++) {
		if (now)
			must("rotate", hashbelt_rotate(fd));
		read_events(fd, push, &now);
		come_and_go(fd, now);
	}
	for (client = clients; client < clients + ARRAY_SIZE(clients); client++) {
		printf("%s: %u pushes\n", client->name, client->pushes);
		wanted = (client->leaves - 1 - client->comes) / CONTAINERS;
		promise(client->pushes == wanted, "no call is left out");
	}
	promise(info_of(fd).entries == 2, "who has not left is still on the belt");
	hashbelt_close(fd);
	return verdict();
}

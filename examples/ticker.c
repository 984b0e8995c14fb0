// SPDX-License-Identifier: GPL-2.0-only
/*
 * ticker - pushes stock prices to each client every few intervals.
 *
 *	ticker
 *
 * Shows the reinserting handler of William Grosso's hashbelt. Each client is an entry
 * of the belt. When the entry expires, it is reported to a callback, which pushes the
 * prices, and the entry goes back to the front. So a belt of N containers sends each
 * client a push every N intervals from its arrival on, without a timer for each client
 * and without walking a list. A client that leaves is removed, and gets no more pushes.
 *
 * Relies on: HASHBELT_REINSERT reports an entry exactly once each time it expires, and
 * gives it the belt's time-to-live again; an entry that was removed is not reported.
 */
#include "example.h"

#define CONTAINERS	5
#define ROTATION_MS	15000
#define END		24	/* intervals */

static const char usage[] =
	"usage: ticker\n"
	"Prices for three clients, pushed to each of them every 5 intervals.\n";

/**
 * struct client - a client that wants prices
 * @name:	its name, the entry's key
 * @symbols:	the stocks that it wants prices of, the entry's value
 * @comes:	the interval at which it subscribes
 * @leaves:	the interval at which it leaves
 * @called:	the interval of the last push; before the first, of the arrival
 * @pushes:	number of pushes so far
 */
struct client {
	const char *name;
	const char *symbols;
	unsigned int comes;
	unsigned int leaves;
	unsigned int called;
	unsigned int pushes;
};

/* No two clients are due in the same interval: their order would be undefined. */
static struct client clients[] = {
	{ .name = "alice", .symbols = "ACME INIT", .comes = 0, .leaves = END },
	{ .name = "bob", .symbols = "INIT", .comes = 2, .leaves = END },
	{ .name = "carol", .symbols = "ACME", .comes = 3, .leaves = 16 },
};

/* The price of a stock at an interval, in cents. */
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

/* The callback. The entry is already on the belt again. */
static void push(const struct hashbelt_event *event, void *arg)
{
	struct client *client = find_client(event);
	unsigned int now = *(unsigned int *)arg, cents;
	char symbols[64], *symbol;

	promise(client, "each reported entry is a client");
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
	promise(now < client->leaves, "a client that has left gets no push");
	promise(now - client->called == CONTAINERS,
		"a client gets a push every 5 intervals");
	client->called = now;
	client->pushes++;
}

static void come_and_go(struct hashbelt *belt, unsigned int now)
{
	struct client *client;

	for (client = clients; client < clients + ARRAY_SIZE(clients); client++) {
		if (client->comes == now) {
			must("put", hashbelt_put(belt, client->name, strlen(client->name),
						 client->symbols, strlen(client->symbols),
						 NULL));
			client->called = now;
			printf("%2u  %s comes, for %s\n", now, client->name,
			       client->symbols);
		}
		if (client->leaves == now) {
			must("remove", hashbelt_remove(belt, client->name,
						       strlen(client->name), NULL));
			printf("%2u  %s leaves\n", now, client->name);
		}
	}
}

int main(int argc, char **argv)
{
	struct client *client;
	unsigned int now, wanted;
	struct hashbelt *belt;

	arguments(argc, argv, 0, usage);
	belt = new_belt(NULL, (struct hashbelt_settings){
		.ttl_ms = (CONTAINERS - 1) * ROTATION_MS,
		.buckets = CONTAINERS,
		.handler = HASHBELT_REINSERT,
	});
	for (now = 0; now < END; now++) {
		if (now)
			must("rotate", hashbelt_rotate(belt));
		read_events(belt, push, &now);
		come_and_go(belt, now);
	}
	for (client = clients; client < clients + ARRAY_SIZE(clients); client++) {
		printf("%s: %u pushes\n", client->name, client->pushes);
		wanted = (client->leaves - 1 - client->comes) / CONTAINERS;
		promise(client->pushes == wanted, "a client gets all of its pushes");
	}
	promise(info_of(belt).entries == 2, "each client that has not left is on the belt");
	hashbelt_close(belt);
	return verdict();
}

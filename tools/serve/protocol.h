/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A protocol that clients speak, and what all protocols share: requests are taken from the bytes of
 * a client, and become operations of one batch, whose replies are sent in order.
 */
#ifndef HBSERVE_PROTOCOL_H
#define HBSERVE_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#include "batch.h"
#include "pushes.h"

struct protocol;

/**
 * struct client - the state of a client between requests
 * @protocol:	the protocol of its listener
 * @fd:		its socket, which names it in the log
 * @skip:	bytes that belong to a request that was answered, and are dropped
 * @need:	bytes that the request that is not whole yet has at least; 0: not known
 * @may_ask:	it need not name a user and the password, or has done so
 * @scan:	its walk over keys that is not at its end; NULL for none
 * @state:	the further state that its protocol keeps; NULL for none
 * @subscriptions: their number: messages may come that no request asks for
 * @pushes:	messages that wait until the socket takes them, and the replies before them
 * @is_binary:	it speaks the binary protocol, and is refused
 * @is_over:	the client has quit
 * @reason:	the reason for which it has to be closed; NULL if the client expects that
 */
struct client {
	const struct protocol *protocol;
	int fd;
	size_t skip;
	size_t need;
	bool may_ask;
	struct belt_scan *scan;
	void *state;
	unsigned int subscriptions;
	struct pushes pushes;
	bool is_binary;
	bool is_over;
	const char *reason;
};

enum done {
	DONE_ALL,		/* all whole requests were carried out */
	DONE_SOME,		/* replies have to be sent before more can be done */
	DONE_CLOSE,		/* close the connection, once replies are sent */
	DONE_BROKEN,		/* there is no memory: close the connection */
};

/* A request that was taken. */
enum started {
	STARTED,
	NOT_STARTED,		/* the batch has to be carried out first */
	NO_MEMORY,
};

/**
 * struct protocol - a protocol
 * @name:	its name on the command line
 * @too_many:	the answer to a client that is too many
 * @look:	looks at the first byte of a client. Return: what is wrong with it, for the log, or
 *		NULL. May be NULL
 * @take:	takes the next request. After PARSED_CLOSE the client has a reason
 * @start:	starts the request that was taken, or goes on with it
 * @deliver:	adds messages about records of the feed to the pushes of a client that has
 *		subscriptions. False: there are too many. May be NULL if no client has any
 * @end:	frees the state of a client. May be NULL
 */
struct protocol {
	const char *name;
	const char *too_many;
	const char *(*look)(struct client *client, unsigned char first);
	enum parsed (*take)(struct work *work, struct client *client);
	enum started (*start)(struct work *work, struct client *client);
	bool (*deliver)(struct client *client, const char *records, size_t len);
	void (*end)(struct client *client);
};

extern const struct protocol protocol_memcached, protocol_redis;

enum done protocol_run(struct work *work, struct client *client);

#endif /* HBSERVE_PROTOCOL_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests of a client, carried out and answered in order. */
#ifndef HBSERVE_COMMAND_H
#define HBSERVE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "batch.h"

/**
 * struct client - the state of a client between requests
 * @skip:	bytes that belong to a request that was answered, and are dropped
 * @need:	bytes that the request that is not whole yet has at least; 0: not known
 * @may_ask:	it need not name a user and the password, or has done so
 * @scan:	its walk over keys that is not at its end; NULL for none
 * @is_binary:	it speaks the binary protocol, and is refused
 * @is_over:	the client has quit
 * @reason:	the reason for which it has to be closed; NULL if the client expects that
 */
struct client {
	size_t skip;
	size_t need;
	bool may_ask;
	struct belt_scan *scan;
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

enum done command_run(struct work *work, struct client *client);

#endif /* HBSERVE_COMMAND_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* A client: what it sends is read, carried out and answered. */
#ifndef HBSERVE_CONNECTION_H
#define HBSERVE_CONNECTION_H

#include <pthread.h>
#include <stdbool.h>

#include "batch.h"
#include "poller.h"

struct connection;
struct listener;
struct tls_context;

/**
 * struct worker - the common part of the connections of a thread
 * @service:	for their requests
 * @poller:	waits for its connections
 * @spares:	works that are not lent
 * @spare_count: their number
 * @lock:	held to change the list of connections, and by other threads to read it
 * @first:	the connections
 * @count:	their number
 * @subscribers: those that have subscriptions
 * @is_ending:	they are closed once they are answered
 * @tls:	for those that encrypt
 * @closed:	called after a connection was closed
 * @owner:	its argument
 */
struct worker {
	struct service service;
	struct poller poller;
	struct work *spares;
	unsigned int spare_count;
	pthread_mutex_t lock;
	struct connection *first;
	unsigned int count;
	struct connection *subscribers;
	bool is_ending;
	struct tls_context *tls;
	void (*closed)(void *owner);
	void *owner;
};

bool connection_open(struct worker *worker, int fd, const struct listener *listener);
void connections_deliver(struct worker *worker, const char *records, size_t len);
void connections_check_idle(struct worker *worker, unsigned int seconds);
void connections_end(struct worker *worker);
void connections_close(struct worker *worker);
bool connections_list(struct worker *worker, struct output *output);
void worker_empty(struct worker *worker);

#endif /* HBSERVE_CONNECTION_H */

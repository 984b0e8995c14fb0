/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests that one call carries out, and their replies in order. */
#ifndef HBSERVE_BATCH_H
#define HBSERVE_BATCH_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belts.h"
#include "output.h"
#include "parser.h"
#include "stats.h"

struct auth;
struct client;
struct options;
struct work;

/* Bytes that are read from a client at once. A longer request gets memory of its own. */
#define INPUT_SIZE	(16 * 1024)

/* Memory for replies from which on nothing more is done until they are sent, bytes. */
#define OUTPUT_MAX	(1024 * 1024)

/**
 * struct server_figures - numbers of the server for "stats"
 * @started:	seconds since it was started
 * @connections: clients now
 * @total:	clients ever
 * @rejected:	clients that were too many
 * @structures:	structures of connections
 * @disabled:	how often new clients had to wait, for want of descriptors
 * @accepting:	false while they have to
 * @libevent:	the version of libevent
 */
struct server_figures {
	uint64_t started;
	uint64_t connections;
	uint64_t total;
	uint64_t rejected;
	uint64_t structures;
	uint64_t disabled;
	bool accepting;
	const char *libevent;
};

/**
 * struct service_calls - the calls of requests into the rest of the server
 * @clear_later:	clear the plain belt after this time; 0 cancels that
 * @list_clients:	print the connections, for "stats conns"
 * @sum_counters:	add up the counters of all workers
 * @reset_counters:	let them begin at 0
 * @shut_down:		end the server
 * @figures:		numbers for "stats"
 * @join:		let the keys that expire in the belt of a database come to the worker; what
 *			feed_join() returns
 * @leave:		undo that
 */
struct service_calls {
	void (*clear_later)(void *owner, unsigned int seconds);
	bool (*list_clients)(void *owner, struct output *output);
	void (*sum_counters)(void *owner, uint64_t *sums);
	void (*reset_counters)(void *owner);
	void (*shut_down)(void *owner);
	void (*figures)(void *owner, struct server_figures *figures);
	int (*join)(void *owner, unsigned int database);
	void (*leave)(void *owner, unsigned int database);
};

/**
 * struct service - the common part of the requests of a worker
 * @options:	the command line
 * @auth:	users and passwords; NULL for none
 * @belts:	the belts
 * @counters:	its counters
 * @pool:	chunks for replies
 * @guess:	room for a value that a get offers at first, bytes
 * @largest:	of the values since @guess was set, bytes
 * @since:	number of these values
 * @calls:	into the rest of the server
 * @owner:	their first argument
 */
struct service {
	const struct options *options;
	const struct auth *auth;
	struct belts *belts;
	struct counters counters;
	struct chunk_pool pool;
	size_t guess;
	size_t largest;
	unsigned int since;
	const struct service_calls *calls;
	void *owner;
};

/**
 * struct reply - a reply that waits for the results of its operations
 * @request:	the request, of memcached's protocol
 * @write:	writes the reply. False: there is no memory
 * @settle:	called before, if the operation has failed: it may make another; else NULL
 * @text:	a reply that is known; else NULL
 * @space:	space for the reply
 * @value_at:	where in it the value is
 * @item:	the first of its operations
 * @prefix:	bytes before the key that name the belt
 * @is_last:	the last reply to its request
 * @number:	a number that @write needs
 */
struct reply {
	const struct request *request;
	bool (*write)(struct work *work, const struct reply *reply);
	void (*settle)(struct work *work, const struct reply *reply, struct hashbelt_item *item);
	const char *text;
	char *space;
	uint16_t value_at;
	uint16_t item;
	uint8_t prefix;
	bool is_last;
	int64_t number;
};

/* Space behind a value. */
#define REPLY_TAIL	8

/* Keys of a batch, by their hashes. */
struct key_set {
	uint64_t bits[16];
};

/**
 * struct work - requests that are carried out, lent to a connection for as long as it needs
 * @service:	that of the worker
 * @client:	the client to which it is lent
 * @next:	the next one that is not lent
 * @text:	the bytes of the client
 * @len:	their number
 * @used:	bytes that were taken
 * @output:	the replies
 * @is_pending:	the last request has not been started, or not for all its keys
 * @has_keys:	whether each of @keys has some; one that has none is not cleared
 * @request:	of memcached's protocol: that request; else NULL
 * @requests:	number of requests in @request_of
 * @items:	number of operations
 * @replies:	number of replies
 * @written:	replies that were written
 * @settles:	replies with @settle
 * @is_done:	the operations were carried out
 * @yields:	the request in progress has taken its share of time: the rest comes later
 * @failed:	a key of the get whose replies are written has failed
 * @belt:	the belt of the operations, if there are any
 * @belt_name:	its name while the replies to them wait for the client; else ""
 * @keys:	keys that operations read, and keys that they change
 * @failure:	the answer in place of the end of that get
 * @request_of:	the requests
 * @item:	the operations
 * @reply:	the replies
 * @input:	the bytes of a client whose request needs no more
 */
struct work {
	struct service *service;
	struct client *client;
	struct work *next;
	char *text;
	size_t len;
	size_t used;
	struct output output;
	bool is_pending;
	bool has_keys[2];
	struct request *request;
	unsigned int requests;
	unsigned int items;
	unsigned int replies;
	unsigned int written;
	unsigned int settles;
	bool is_done;
	bool yields;
	bool failed;
	struct belt *belt;
	char belt_name[HASHBELT_NAME_SIZE];
	struct key_set keys[2];
	char failure[BELT_REASON_SIZE];
	struct request request_of[HASHBELT_BATCH_MAX];
	struct hashbelt_item item[HASHBELT_BATCH_MAX];
	struct reply reply[HASHBELT_BATCH_MAX];
	char input[INPUT_SIZE];
};

void service_begin(struct service *service);
struct work *work_new(struct service *service);
void work_free(struct work *work);

bool batch_takes(struct work *work, struct belt *belt, const char *key, size_t key_len,
		 bool changes);
void batch_settle(struct work *work,
		  void (*settle)(struct work *work, const struct reply *reply,
				 struct hashbelt_item *item));
char *batch_fetch_again(struct work *work, const struct reply *reply, struct hashbelt_item *item);
bool batch_text(struct work *work, const char *text);
void batch_run(struct work *work);
bool batch_write(struct work *work, bool *full);

bool is_full(int err);
bool exptime_to_ttl(int64_t exptime, __u64 *ttl_ms);
void note_length(struct service *service, size_t len);

/**
 * batch_has_room() - whether a further request fits
 * @work:	the work
 *
 * Return: whether.
 */
static inline bool batch_has_room(const struct work *work)
{
	/* A request has two operations at most. */
	return work->replies < HASHBELT_BATCH_MAX && work->items + 2 <= HASHBELT_BATCH_MAX &&
	       !work->is_done && work->output.held < OUTPUT_MAX;
}

/**
 * batch_reply() - add a reply to the request in progress, for the operation that is added next
 * @work:	the work
 * @write:	writes it
 * @size:	space that it needs at most, bytes
 *
 * Return: the reply; NULL if there is no memory.
 */
static inline struct reply *batch_reply(struct work *work,
					bool (*write)(struct work *work, const struct reply *reply),
					size_t size)
{
	struct reply *reply = &work->reply[work->replies];
	char *space = output_reserve(&work->output, size);

	if (!space)
		return NULL;
	work->replies++;
	reply->request = work->request;
	reply->write = write;
	reply->space = space;
	reply->item = work->items;
	reply->prefix = 0;
	reply->is_last = true;
	reply->settle = NULL;
	return reply;
}

/**
 * batch_item() - add an operation
 * @work:	the work
 * @op:		the operation
 * @key:	the key, without a prefix
 * @key_len:	its length
 *
 * Return: the operation.
 */
static inline struct hashbelt_item *batch_item(struct work *work, enum hashbelt_op op,
					       const char *key, size_t key_len)
{
	struct hashbelt_item *item = &work->item[work->items++];

	*item = hashbelt_item(op, key, key_len, NULL, 0);
	return item;
}

/**
 * batch_fetch() - the value of a get
 * @work:	the work, whose operations were carried out
 * @reply:	the reply, with room before the value and behind it
 * @item:	its operation
 *
 * If there was too little room for it, it is read again.
 *
 * Return: the value; NULL if there is none now, and @item says why, or if there is no memory, and
 * then the result is 0.
 */
static inline char *batch_fetch(struct work *work, const struct reply *reply,
				struct hashbelt_item *item)
{
	if (!item->result)
		return reply->space + reply->value_at;
	return item->result == -ERANGE ? batch_fetch_again(work, reply, item) : NULL;
}

#endif /* HBSERVE_BATCH_H */

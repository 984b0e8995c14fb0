/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of a client of the protocol of Redis, and the table of commands. */
#ifndef HBSERVE_SESSION_H
#define HBSERVE_SESSION_H

#include "protocol.h"
#include "resp.h"

struct redis;

/* Properties of a command. The first three are those of COMMAND. */
#define REDIS_WRITE	0x01	/* it may change an entry */
#define REDIS_READ	0x02	/* it reads entries */
#define REDIS_ADMIN	0x04	/* it is about the connection or the server */
#define REDIS_NO_AUTH	0x08	/* it needs no password */
#define REDIS_NO_QUEUE	0x10	/* MULTI does not queue it */
#define REDIS_ALONE	0x20	/* it is carried out after all before it, and answers at once */
#define REDIS_SUBSCRIBED 0x40	/* a subscriber may send it by RESP 2 as well */

/**
 * struct redis_command - a row of the table of commands
 * @name:	in capitals
 * @arity:	number of arguments with the name; negative: at least so many
 * @flags:	REDIS_*
 * @first:	the argument that is the first key; 0: it has none
 * @last:	the last one; negative: counted from the end
 * @step:	from one key to the next
 * @help:	its arguments and effect, for people
 * @start:	adds its operations to the batch, or carries it out
 */
struct redis_command {
	const char *name;
	int8_t arity;
	uint8_t flags;
	int8_t first;
	int8_t last;
	int8_t step;
	const char *arguments;
	const char *help;
	enum started (*start)(struct work *work, struct redis *redis);
};

const struct redis_command *redis_command(unsigned int number);
const struct redis_command *redis_find(const struct word *name);

/* Most arguments of a command that has no list of keys. */
#define REDIS_WORDS	16

/* Commands that are found without a search. */
#define REDIS_KNOWN	8

/* Bytes of a name that a client gives itself. */
#define REDIS_NAME_MAX	64

/* Bytes of an error. */
#define REDIS_ERROR_SIZE	320

/* Bytes of the requests that MULTI queues. */
#define REDIS_QUEUE_MAX	(8 * 1024 * 1024)

/**
 * struct redis_queue - the requests behind MULTI
 * @bytes:	the requests
 * @len:	their length, bytes
 * @size:	size of the memory
 * @at:		while they are carried out: bytes of those that were taken
 * @count:	number of requests
 */
struct redis_queue {
	char *bytes;
	size_t len;
	size_t size;
	size_t at;
	uint32_t count;
};

/**
 * struct redis - the state of a client
 * @place:	in the request that is being read
 * @request:	the last one that was taken
 * @command:	its command; NULL: only @error is to be answered
 * @known:	commands that were found last, by a hash of their names
 * @error:	the error that is the answer to it; "" for none
 * @is_last:	after that answer the connection is closed
 * @rest:	its arguments that are not started yet; NULL: it has not begun
 * @left:	their number
 * @line:	the arguments of an inline command, which is carried out alone
 * @version:	2 or 3: RESP 2 or RESP 3
 * @is_counting: a command of several keys is being answered
 * @failed:	its error; "" for none
 * @sum:	its number so far
 * @ttl_ms:	for MSETEX: the time-to-live; 0: it is over
 * @how:	for MSETEX: HASHBELT_IF_ABSENT, HASHBELT_IF_PRESENT or 0
 * @database:	the database
 * @name:	that the client has given itself
 * @id:		its number
 * @in_multi:	requests are queued
 * @is_dirty:	a request was wrong: EXEC carries none out
 * @in_exec:	the queue is carried out
 * @queue:	the queue
 * @channels:	subscriptions to the keys that expire in databases, by SUBSCRIBE: bits by databases
 * @patterns:	those by PSUBSCRIBE, with a bit for all databases
 * @service:	of its worker
 * @logged:	refused commands that the log has named: bits by rows of the table of these
 */
struct redis {
	struct resp_place place;
	struct resp_request request;
	const struct redis_command *command;
	const struct redis_command *known[REDIS_KNOWN];
	bool is_last;
	const char *rest;
	uint32_t left;
	char *line;
	uint8_t version;
	bool is_counting;
	int64_t sum;
	uint64_t ttl_ms;
	uint32_t how;
	unsigned int database;
	char name[REDIS_NAME_MAX];
	uint64_t id;
	bool in_multi;
	bool is_dirty;
	bool in_exec;
	struct redis_queue queue;
	uint32_t channels;
	uint32_t patterns;
	struct service *service;
	uint64_t logged[4];
	char error[REDIS_ERROR_SIZE];
	char failed[REDIS_ERROR_SIZE];
};

static inline struct redis *redis_of(const struct work *work)
{
	return work->client->state;
}

/* The belt of the database that the client has selected. */
static inline struct belt *redis_belt(const struct work *work, const struct redis *redis)
{
	return belts_database(work->service->belts, redis->database);
}

#endif /* HBSERVE_SESSION_H */

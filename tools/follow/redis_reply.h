/* SPDX-License-Identifier: GPL-2.0-only */
/* Answers and messages of Redis, in RESP2. */
#ifndef HBFOLLOW_REDIS_REPLY_H
#define HBFOLLOW_REDIS_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include <hiredis/hiredis.h>

/* The channel on which Redis tells changes. */
#define REPLY_CHANNEL	"__redis__:invalidate"

/*
 * Limits of a reply, beyond which the connection is given up: bytes, parts of an array, and arrays
 * in arrays.
 */
#define REPLY_BYTES_MAX	(64 << 20)
#define REPLY_PARTS_MAX	1048576
#define REPLY_DEPTH_MAX	9	/* that of hiredis before 1.0 */

/* Space for the number of a run of a server, bytes. */
#define REPLY_RUN_SIZE	64

/* Kinds of messages to a subscriber. */
enum reply_told {
	TOLD_KEYS,		/* @keys have changed */
	TOLD_ALL,		/* all keys may have changed */
	TOLD_PONG,
	TOLD_NOTHING,		/* a message of another client, which anyone may publish */
	TOLD_WRONG,
};

/* A longer silence counts as one of so many seconds. */
#define REPLY_SILENCE_MAX	1000000000L

/**
 * struct reply_hello - the answer to HELLO
 * @id:		the number of the connection
 * @is_replica:	the server copies another one
 * @is_cluster:	it is a node of a cluster
 */
struct reply_hello {
	long long id;
	bool is_replica;
	bool is_cluster;
};

/**
 * struct reply_replication - the answer to INFO replication
 * @is_replica:	the server copies another one
 * @is_linked:	it is connected to that, and has all that it had
 * @silence:	seconds, rounded down, since the other one has sent something; negative: unknown
 */
struct reply_replication {
	bool is_replica;
	bool is_linked;
	long silence;
};

redisReader *reply_reader(void);
bool reply_is_too_long(const redisReader *reader);
bool reply_hello(const redisReply *reply, struct reply_hello *hello);
bool reply_run(const redisReply *reply, char *run);
bool reply_replication(const redisReply *reply, struct reply_replication *replication);
bool reply_is_subscribed(const redisReply *reply);
enum reply_told reply_told(const redisReply *reply, const redisReply **keys);
const char *reply_error(const redisReply *reply);

#endif /* HBFOLLOW_REDIS_REPLY_H */

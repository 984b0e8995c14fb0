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

redisReader *reply_reader(void);
bool reply_is_too_long(const redisReader *reader);
bool reply_hello(const redisReply *reply, long long *id, bool *is_replica);
bool reply_run(const redisReply *reply, char *run);
bool reply_is_subscribed(const redisReply *reply);
enum reply_told reply_told(const redisReply *reply, const redisReply **keys);
const char *reply_error(const redisReply *reply);

#endif /* HBFOLLOW_REDIS_REPLY_H */

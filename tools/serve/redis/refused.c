// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that a belt cannot carry out. Their error is that of an unknown command, which clients
 * know. Many clients show it to nobody, so the log says once for each connection and command what
 * to do.
 */
#include <string.h>
#include <strings.h>

#include "array_size.h"
#include "log.h"
#include "refused.h"

#define STRINGS	"the values of a belt are strings: let the program use strings, or another server"
#define EVENTS	"the channels are __keyevent@N__:expired, by SUBSCRIBE and PSUBSCRIBE"
#define KEYS	"operations on two keys are not atomic on a belt, so there is none"
#define SERVER	"hbctl manages belts"
#define ABSENT	"hbserve does not have it"

/* Names that begin thus, and the advice. The last row is for all others. */
static const struct {
	const char *begin;
	const char *advice;
} rows[] = {
	{ "H", STRINGS },
	{ "L", STRINGS },
	{ "LA", ABSENT },
	{ "LC", ABSENT },
	{ "LO", ABSENT },
	{ "RP", STRINGS },
	{ "BL", STRINGS },
	{ "BR", STRINGS },
	{ "S", STRINGS },
	{ "SETBIT", ABSENT },
	{ "SL", ABSENT },
	{ "SUBSTR", "GETRANGE is the same" },
	{ "SW", ABSENT },
	{ "SY", ABSENT },
	{ "Z", STRINGS },
	{ "BZ", STRINGS },
	{ "X", STRINGS },
	{ "GEO", STRINGS },
	{ "PF", STRINGS },
	{ "PUB", EVENTS },
	{ "SPUB", EVENTS },
	{ "PSUB", EVENTS },
	{ "SUBSCRIBE", EVENTS },
	{ "SSUB", EVENTS },
	{ "UNSUB", EVENTS },
	{ "PUNSUB", EVENTS },
	{ "WATCH", KEYS },
	{ "UNWATCH", KEYS },
	{ "RENAME", KEYS },
	{ "MSETNX", KEYS },
	{ "COPY", KEYS },
	{ "MOVE", KEYS },
	{ "SAVE", SERVER },
	{ "BG", SERVER },
	{ "CONFIG", SERVER },
	{ "SHUTDOWN", SERVER },
	{ "DEBUG", SERVER },
	{ "MONITOR", SERVER },
	{ "ACL", SERVER },
	{ "", ABSENT },
};

/* The row with the longest beginning. */
static unsigned int find_row(const struct word *name)
{
	unsigned int best = ARRAY_SIZE(rows) - 1, i;

	for (i = 0; i < ARRAY_SIZE(rows) - 1; i++) {
		size_t len = strlen(rows[i].begin);

		if (len <= name->len && len > strlen(rows[best].begin) &&
		    !strncasecmp(name->at, rows[i].begin, len))
			best = i;
	}
	return best;
}

/**
 * refused_log() - say in the log that a command was refused
 * @redis:	the client
 * @fd:		its socket
 * @name:	the command
 * @advice:	advice for people; NULL for that of the table
 *
 * The log names a command of a connection once. Names are told apart by a hash of them.
 */
void refused_log(struct redis *redis, int fd, const struct word *name, const char *advice)
{
	unsigned int hash = name->len, bit;
	size_t i;

	for (i = 0; i < name->len && i < 32; i++)
		hash = hash * 33 + (name->at[i] | 0x20);
	bit = hash % (64 * ARRAY_SIZE(redis->logged));
	if (redis->logged[bit / 64] >> bit % 64 & 1)
		return;
	redis->logged[bit / 64] |= 1ULL << bit % 64;
	log_line(LOG_TROUBLE, "client %d: '%.*s' is refused: %s", fd,
		 name->len < 40 ? (int)name->len : 40, name->at,
		 advice ?: rows[find_row(name)].advice);
}

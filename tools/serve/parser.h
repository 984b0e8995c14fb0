/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of memcached's text and meta protocol, out of bytes. Pure: no socket, no allocation, no
 * clock.
 */
#ifndef HBSERVE_PARSER_H
#define HBSERVE_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsed.h"

/* Most bytes of a key, and of a line. */
#define PARSER_KEY_MAX	250
#define PARSER_LINE_MAX	(1024 * 1024)

/* Most bytes of a key in base64. */
#define PARSER_BASE64_MAX	((PARSER_KEY_MAX + 2) / 3 * 4)

enum command {
	COMMAND_REFUSED,	/* only @error is to be answered */
	COMMAND_GET,
	COMMAND_GETS,
	COMMAND_GAT,
	COMMAND_GATS,
	COMMAND_SET,
	COMMAND_ADD,
	COMMAND_REPLACE,
	COMMAND_APPEND,
	COMMAND_PREPEND,
	COMMAND_CAS,
	COMMAND_INCR,
	COMMAND_DECR,
	COMMAND_TOUCH,
	COMMAND_DELETE,
	COMMAND_META_GET,
	COMMAND_META_SET,
	COMMAND_META_DELETE,
	COMMAND_META_ARITHMETIC,
	COMMAND_META_NOOP,
	COMMAND_META_DEBUG,
	COMMAND_FLUSH_ALL,
	COMMAND_STATS,
	COMMAND_VERSION,
	COMMAND_VERBOSITY,
	COMMAND_QUIT,
	COMMAND_SHUTDOWN,
	COMMAND_DUMP,
	COMMAND_COUNT
};

/**
 * struct request - a request. Pointers are into the bytes that were parsed
 * @command:	the command
 * @mode:	META_ARITHMETIC: 'I' or 'D'; DUMP: the form
 * @stores:	META_SET: the command that its mode stands for, SET, ADD, REPLACE, APPEND, PREPEND
 *		or CAS; else as @command
 * @quiet:	noreply: nothing is answered; meta: the usual answer is left out
 * @removes:	@error is answered, and the present entry removed, as it would be an old one: of a
 *		set whose value is too large, which has @skip, or of a flag that no belt can have
 * @closes:	after @error the connection is to be closed: where the next request begins is not
 *		known
 * @how:	META_GET with flag U: conditions on the deadline, HASHBELT_IF_*; 0: the version has
 *		to be @unique
 * @key:	the key, decoded
 * @key_len:	its length, bytes
 * @value:	the value
 * @value_len:	its length, bytes
 * @words:	the rest of the line: keys of gets, flags of meta commands, arguments of others
 * @words_end:	its end
 * @error:	the answer, if the request is not to be carried out; else NULL
 * @flags:	client flags
 * @exptime:	the time-to-live as the client gave it
 * @vivify:	META_GET, META_ARITHMETIC: that of flag N
 * @recache:	META_GET: that of flag R
 * @unique:	the version that an entry has to have
 * @delta:	the number that is added or subtracted
 * @initial:	META_ARITHMETIC: the value of a new entry
 * @given:	bits of the flags that were given: meta_bit()
 * @size:	bytes of the request
 * @skip:	further bytes that belong to it, and are to be dropped
 */
struct request {
	enum command command;
	enum command stores;
	char mode;
	bool quiet;
	bool removes;
	bool closes;
	uint32_t how;
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
	const char *words;
	const char *words_end;
	const char *error;
	uint32_t flags;
	int64_t exptime;
	int64_t vivify;
	int64_t recache;
	uint64_t unique;
	uint64_t delta;
	uint64_t initial;
	uint64_t given;
	size_t size;
	size_t skip;
};

/* Forms in which DUMP lists keys: @mode. @delta is the most that it lists. */
#define DUMP_KEYS	'K'	/* metadump: a line for each */
#define DUMP_GETS	'G'	/* mgdump: requests that get them */
#define DUMP_ITEMS	'I'	/* stats cachedump: keys of the text protocol */

/* The bit in @given of a flag of a meta command. */
static inline uint64_t meta_bit(char flag)
{
	return 1ULL << (flag - 'A');
}

enum parsed parser_request(char *text, size_t len, size_t value_max, struct request *request);
bool parser_word(const char **text, const char *end, struct word *word);
bool parser_number(const char *text, size_t len, uint64_t *number);
size_t parser_encode(const char *key, size_t key_len, char *text);

#endif /* HBSERVE_PARSER_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests of the protocol of Redis (RESP), out of bytes: arrays and inline commands. Pure: no
 * socket, no allocation, no clock.
 */
#ifndef HBSERVE_RESP_H
#define HBSERVE_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parsed.h"

/* Bytes of an inline command at most, and of that as an array for each of its bytes. */
#define RESP_INLINE_MAX		(64 * 1024)
#define RESP_INLINE_GROWTH	8

/**
 * struct resp_limits - the limits of requests
 * @count:	arguments of a request
 * @bulk:	bytes of an argument; a request with a longer one is dropped
 * @all:	bytes of a request that is kept; a longer one is dropped
 * @is_strict:	a longer argument ends the connection
 */
struct resp_limits {
	uint32_t count;
	size_t bulk;
	size_t all;
	bool is_strict;
};

/**
 * struct resp_place - how far a request has been read. Zeros: it begins
 * @at:		bytes of it that were looked at
 * @args:	where its arguments begin
 * @count:	the number of its arguments; 0: its head has not been read
 * @left:	of these, the ones that have not been read
 * @drops:	it is too long: it is dropped while it comes
 * @skip:	then: bytes of an argument that have not been dropped yet
 */
struct resp_place {
	size_t at;
	size_t args;
	uint32_t count;
	uint32_t left;
	bool drops;
	size_t skip;
};

/**
 * struct resp_request - a request. Pointers are into the bytes that were parsed
 * @name:	its first argument, the name of its command; not that of an inline command
 * @key:	its second argument, the key of most commands; not that of an inline command
 * @args:	its arguments, for resp_next(); of an inline command its line
 * @end:	their end
 * @count:	their number; 0: there is nothing to answer; not known of an inline command
 * @is_inline:	it is an inline command
 * @is_dropped:	it was too long, and has been dropped
 * @size:	bytes of the request; of a part: that it has at least
 * @dropped:	of a part: bytes from the beginning that are not needed any more
 * @error:	why the connection is closed; NULL: without a word
 * @text:	space for it
 */
struct resp_request {
	struct word name;
	struct word key;
	const char *args;
	const char *end;
	uint32_t count;
	bool is_inline;
	bool is_dropped;
	size_t size;
	size_t dropped;
	const char *error;
	char text[64];
};

enum parsed resp_parse(const char *text, size_t len, const struct resp_limits *limits,
		       struct resp_place *place, struct resp_request *request);
void resp_first(struct resp_request *request);
void resp_next(const char **at, struct word *argument);
bool resp_inline(const char *line, size_t len, char *to, size_t *size, uint32_t *count);
bool resp_integer(const char *text, size_t len, int64_t *number);

#endif /* HBSERVE_RESP_H */

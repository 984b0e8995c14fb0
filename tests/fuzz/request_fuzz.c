// SPDX-License-Identifier: GPL-2.0-only
/*
 * request_fuzz - the parser of hbserve, for libFuzzer. An input is what a client sends, behind
 * two bytes that only connection_fuzz uses. Of each request:
 *
 *	- all that it points to is in the bytes of the request, and within the limits
 *	- each of its beginnings is a part of a request, and asks for no more than all of it
 *	- it is as long without what follows it
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parser.h"

#define VALUE_MAX	1000	/* longest value, bytes */
#define WHOLE_MAX	600	/* of longer requests not all beginnings are tried, bytes */

static void must_be(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDERR_FILENO, "request_fuzz: does not hold: %s\n", what);
	abort();
}

/* A copy of exactly this size, so that an access beyond its end is found. The parser changes it. */
static char *copy_of(const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	return copy;
}

static volatile char sink;

/* Reads all bytes, so that one outside of the request is found. */
static void touch(const char *bytes, size_t length)
{
	while (bytes && length)
		sink ^= bytes[--length];
}

/* The same request with nothing behind it. */
static void check_alone(const uint8_t *data, const struct request *before)
{
	struct request request = { 0 };
	char *text = copy_of(data, before->size);

	must_be(parser_request(text, before->size, VALUE_MAX, &request) == PARSED_REQUEST &&
		request.size == before->size && request.skip == before->skip &&
		request.command == before->command && request.quiet == before->quiet &&
		request.key_len == before->key_len && request.value_len == before->value_len,
		"a request is the same without what follows it");
	must_be(request.command != COMMAND_REFUSED || request.error || request.quiet,
		"a request that is refused has an answer");
	must_be(request.error ||
		(request.key_len <= PARSER_KEY_MAX && request.value_len <= VALUE_MAX),
		"key and value are not too long");
	/* Of one that is only answered, nothing else is used. */
	if (!request.error) {
		touch(request.key, request.key_len);
		touch(request.value, request.value_len);
		touch(request.words, request.words_end - request.words);
	}
	free(text);
}

/* The beginning of @part bytes of a request of @size bytes. */
static void check_part(const uint8_t *data, size_t part, size_t size)
{
	struct request request = { 0 };
	char *text = copy_of(data, part);
	enum parsed parsed = parser_request(text, part, VALUE_MAX, &request);

	must_be(parsed == PARSED_PART || (parsed == PARSED_CLOSE && part > 1024),
		"the beginning of a request is a part, or a line that is too long");
	must_be(parsed != PARSED_PART || !request.size ||
		(request.size > part && request.size <= size),
		"a part asks for more, and at most for the rest");
	free(text);
}

/* Checks the request at the beginning. Return: its bytes; 0 if there is none. */
static size_t check_next(const uint8_t *data, size_t size)
{
	struct request request = { 0 };
	char *text = copy_of(data, size);
	enum parsed parsed = parser_request(text, size, VALUE_MAX, &request);
	size_t part, step;

	if (parsed == PARSED_REQUEST) {
		check_alone(data, &request);
		step = 1 + request.size / WHOLE_MAX;
		for (part = 1; part < request.size; part += step)
			check_part(data, part, request.size);
	}
	must_be(parsed != PARSED_CLOSE || request.error, "a connection is closed for a reason");
	free(text);
	return parsed == PARSED_REQUEST ? request.size + request.skip : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t length;

	if (size < 2)
		return 0;
	data += 2;
	size -= 2;
	for (length = 1; size && length; data += length, size -= length) {
		length = check_next(data, size);
		if (length > size)
			break;
	}
	return 0;
}

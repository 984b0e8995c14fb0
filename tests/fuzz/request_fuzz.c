// SPDX-License-Identifier: GPL-2.0-only
/*
 * request_fuzz - the parser of hbserve, for libFuzzer. An input is what a client sends, behind
 * two bytes that only connection_fuzz uses. Of each request:
 *
 *	- all that it points to is in the bytes of the request, and within the limits
 *	- each of its beginnings is a part of a request, and asks for no more than all of it
 *	- it does not depend on what follows it
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

static bool is_within(const char *part, size_t length, const char *text,
		      const struct request *request)
{
	return !part || !length || (part >= text && part + length <= text + request->size);
}

static void check_request(const struct request *request, const char *text, size_t size)
{
	must_be(request->size && request->size <= size,
		"a request has bytes, and only those that are there");
	must_be(request->command < COMMAND_COUNT, "a request has a command");
	must_be(request->command != COMMAND_REFUSED || request->error || request->quiet,
		"a request that is refused has an answer");
	/* Of one that is only answered, nothing else is used. */
	if (request->error)
		return;
	must_be(request->key_len <= PARSER_KEY_MAX, "a key has at most 250 bytes");
	must_be(request->value_len <= VALUE_MAX, "a value is not too long");
	must_be(is_within(request->key, request->key_len, text, request),
		"the key is in the request");
	must_be(is_within(request->value, request->value_len, text, request),
		"the value is in the request");
	must_be(!request->words || request->words <= request->words_end, "the words have an end");
	must_be(is_within(request->words, request->words_end - request->words, text, request),
		"the words are in the request");
}

/* The beginning of @part bytes of a request of @size bytes. */
static void check_part(const uint8_t *data, size_t part, size_t size)
{
	struct request request = { 0 };
	char *text = copy_of(data, part);

	switch (parser_request(text, part, VALUE_MAX, &request)) {
	case PARSED_PART:
		must_be(!request.size || (request.size > part && request.size <= size),
			"a part asks for more, and at most for the rest");
		break;
	case PARSED_REQUEST:
		must_be(false, "the beginning of a request is no request");
		break;
	case PARSED_CLOSE:
		must_be(part > 1024, "only a long line is given up before its end");
		break;
	case PARSED_LATER:
		must_be(false, "a request of memcached waits for no batch");
		break;
	}
	free(text);
}

/* The same request with nothing behind it. */
static void check_alone(const uint8_t *data, const struct request *before)
{
	struct request request = { 0 };
	char *text = copy_of(data, before->size);

	must_be(parser_request(text, before->size, VALUE_MAX, &request) == PARSED_REQUEST,
		"a request is one without what follows it");
	must_be(request.size == before->size && request.skip == before->skip,
		"a request is as long without what follows it");
	must_be(request.command == before->command && request.quiet == before->quiet,
		"a request is the same command without what follows it");
	must_be(request.key_len == before->key_len && request.value_len == before->value_len,
		"a request has the same key and value without what follows it");
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
		check_request(&request, text, size);
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

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traces in the format of https://github.com/twitter/cache-trace, a request a line:
 *
 *	timestamp (s), key, bytes of key, bytes of value, client, operation, time-to-live (s)
 *
 * Reads have no time-to-live there, and no size of the value if they missed. What is put after a
 * miss is as in the last put of the key before, or else in the first one after, or, for a key that
 * is never put, has the size that the read found and does not expire.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "twitter.h"

#define NO_PUT	UINT64_MAX

/* A table of the keys, in open addressing. Number 0 stands for an empty place. */
struct names {
	char **names;
	uint32_t *numbers;
	size_t size;
	uint32_t count;
};

static uint64_t hash(const char *name)
{
	uint64_t sum = 0xcbf29ce484222325ull;	/* FNV-1a */

	while (*name)
		sum = (sum ^ (uint8_t)*name++) * 0x100000001b3ull;
	return sum;
}

static size_t place_of(const struct names *names, const char *name)
{
	size_t at = hash(name) % names->size;

	while (names->numbers[at] && strcmp(names->names[at], name))
		at = (at + 1) % names->size;
	return at;
}

static void grow_names(struct names *names)
{
	struct names old = *names;

	names->size = old.size ? old.size * 2 : 1024;
	names->names = zalloc(names->size, sizeof(*names->names));
	names->numbers = zalloc(names->size, sizeof(*names->numbers));
	for (size_t i = 0; i < old.size; i++) {
		size_t at = old.numbers[i] ? place_of(names, old.names[i]) : 0;

		if (!old.numbers[i])
			continue;
		names->names[at] = old.names[i];
		names->numbers[at] = old.numbers[i];
	}
	free(old.names);
	free(old.numbers);
}

static uint32_t number_of(struct names *names, const char *name)
{
	size_t at;

	if (2 * (names->count + 1ull) > names->size)
		grow_names(names);
	at = place_of(names, name);
	if (!names->numbers[at]) {
		names->names[at] = strdup(name);
		if (!names->names[at])
			abort();
		names->numbers[at] = ++names->count;
	}
	return names->numbers[at] - 1;
}

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->size; i++)
		free(names->names[i]);
	free(names->names);
	free(names->numbers);
}

static bool read_op(const char *name, uint8_t *op)
{
	static const struct {
		const char *name;
		enum trace_op op;
	} ops[] = {
		{ "get", TRACE_GET }, { "gets", TRACE_GET },
		{ "incr", TRACE_GET }, { "decr", TRACE_GET },
		{ "set", TRACE_SET }, { "replace", TRACE_SET }, { "cas", TRACE_SET },
		{ "append", TRACE_SET }, { "prepend", TRACE_SET },
		{ "add", TRACE_ADD }, { "delete", TRACE_REMOVE },
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(ops[i].name, name)) {
			*op = ops[i].op;
			return true;
		}
	return false;
}

/* From 0 to @most. */
static bool read_number(const char *field, uint64_t most, uint64_t *number)
{
	char *end;

	if (!field || *field < '0' || *field > '9')
		return false;
	*number = strtoull(field, &end, 10);
	return *end == '\0' && *number <= most;
}

static bool read_line(char *line, struct names *names, struct request *request)
{
	uint64_t seconds, key_len, value_len, client, ttl;
	const char *fields[7];

	line[strcspn(line, "\r\n")] = '\0';
	for (unsigned int i = 0; i < 7; i++)
		fields[i] = strsep(&line, ",");
	if (line || !read_number(fields[0], UINT32_MAX, &seconds) ||
	    !fields[1] || !*fields[1] || !read_number(fields[2], UINT16_MAX, &key_len) ||
	    !read_number(fields[3], 1 << 30, &value_len) ||
	    !read_number(fields[4], UINT64_MAX, &client) ||
	    !fields[5] || !read_op(fields[5], &request->op) ||
	    !read_number(fields[6], UINT32_MAX, &ttl))
		return false;
	request->time = seconds * 1000;
	request->key = number_of(names, fields[1]);
	request->key_len = key_len ? key_len : 1;
	request->value_len = value_len;
	request->ttl = ttl * 1000;
	return true;
}

static void add_request(struct trace *trace, size_t *size, const struct request *request)
{
	if (trace->count == *size) {
		struct trace larger = *trace;

		*size = *size ? *size * 2 : 1024;
		larger.requests = zalloc(*size, sizeof(*request));
		if (trace->count)
			memcpy(larger.requests, trace->requests, trace->count * sizeof(*request));
		free(trace->requests);
		*trace = larger;
	}
	trace->requests[trace->count++] = *request;
}

static void learn(struct request *request, struct request *puts)
{
	struct request *put = &puts[request->key];

	if (request->op == TRACE_SET || request->op == TRACE_ADD) {
		*put = *request;
	} else if (put->ttl != NO_PUT) {
		request->ttl = put->ttl;
		request->value_len = put->value_len;
	}
}

/* Backwards first: so a put before a read counts more than one after it. */
static void complete_reads(struct trace *trace)
{
	struct request *puts = zalloc(trace->keys, sizeof(*puts));

	for (uint32_t key = 0; key < trace->keys; key++)
		puts[key].ttl = NO_PUT;
	for (size_t i = trace->count; i--;)
		learn(&trace->requests[i], puts);
	for (uint32_t key = 0; key < trace->keys; key++)
		puts[key].ttl = NO_PUT;
	for (size_t i = 0; i < trace->count; i++)
		learn(&trace->requests[i], puts);
	free(puts);
}

size_t twitter_read(FILE *file, struct trace *trace)
{
	struct names names = { 0 };
	size_t size = 0, length = 0, number = 0, bad = 0;
	struct request request;
	uint64_t first = 0, last = 0;
	char *line = NULL;

	*trace = (struct trace){ 0 };
	while (!bad && getline(&line, &length, file) >= 0) {
		number++;
		if (!read_line(line, &names, &request) || request.time < last) {
			bad = number;
			continue;
		}
		last = request.time;
		if (!trace->count)
			first = last;
		request.time -= first;
		add_request(trace, &size, &request);
	}
	trace->keys = names.count;
	if (bad)
		trace_free(trace);
	else
		complete_reads(trace);
	free(line);
	free_names(&names);
	return bad;
}

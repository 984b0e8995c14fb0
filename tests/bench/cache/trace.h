/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _TRACE_H
#define _TRACE_H

#include <stddef.h>
#include <stdint.h>

/* A TRACE_GET that misses is followed by a put: cache-aside. */
enum trace_op {
	TRACE_GET,
	TRACE_SET,
	TRACE_ADD,	/* a put, unless the key is there */
	TRACE_REMOVE,
};

/**
 * struct request - one request of a trace
 * @time:	milliseconds since the beginning of the trace; never decreases
 * @key:	number of the key
 * @ttl:	time-to-live of a put, milliseconds; 0: it never expires
 * @value_len:	bytes of the value of a put
 * @key_len:	bytes of the key
 * @op:		one of enum trace_op
 */
struct request {
	uint64_t time;
	uint64_t ttl;
	uint32_t key;
	uint32_t value_len;
	uint16_t key_len;
	uint8_t op;
};

/**
 * struct trace - requests in the order of their times
 * @requests:	the requests
 * @count:	number of requests
 * @keys:	number of keys: their numbers are less than this
 */
struct trace {
	struct request *requests;
	size_t count;
	uint32_t keys;
};

void trace_free(struct trace *trace);

/* For a program that cannot go on without this memory. */
void *zalloc(size_t count, size_t size);

#endif /* _TRACE_H */

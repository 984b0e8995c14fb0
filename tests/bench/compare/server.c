// SPDX-License-Identifier: GPL-2.0-only
/*
 * memcached and hbserve, by memcached's text protocol, and Redis, Valkey and hbserve, by RESP2,
 * over a unix socket.
 *
 * Requests and the replies that are expected to them are made while the clock does not run: a
 * client in use has to make the first and to parse the second as well.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../peers/stream.h"
#include "compare.h"

/* A reply that is shorter than expected. */
#define PATIENCE_SECONDS	60

/* Of a message for a key with its value. */
#define MESSAGE_MAX	(VALUE_MAX + 256)

/**
 * struct text - bytes to send, or to compare with those received
 * @bytes:	the bytes
 * @size:	their number
 */
struct text {
	char bytes[SLICE * MESSAGE_MAX];
	size_t size;
};

/**
 * struct exchange - a message, and its reply
 * @sent:	bytes of all messages up to this one
 * @received:	bytes of all replies up to this one
 */
struct exchange {
	size_t sent;
	size_t received;
};

static const struct plan *plan;
static unsigned int count;
static struct stream stream;
static struct text requests, expected;
static struct exchange exchanges[SLICE];
static unsigned int messages;
static char received[SLICE * MESSAGE_MAX];
static unsigned int counted;

__attribute__((format(printf, 2, 3)))
static void add(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text->size += vsnprintf(text->bytes + text->size, sizeof(text->bytes) - text->size, format,
				arguments);
	va_end(arguments);
	if (text->size >= sizeof(text->bytes))
		die("server", "the messages are too long");
}

static void end_message(void)
{
	exchanges[messages++] = (struct exchange){ requests.size, expected.size };
}

static void begin(unsigned int new_count)
{
	count = new_count;
	messages = 0;
	requests.size = 0;
	expected.size = 0;
}

static void open_server(const struct plan *new_plan)
{
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS };

	plan = new_plan;
	if (!plan->socket)
		die("server", "its name needs =SOCKET");
	stream_open(&stream, plan->socket);
	if (setsockopt(stream.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		die("SO_RCVTIMEO", strerror(errno));
}

/* @last: memcached sends a reply for each key, or for the last of a batch. */
static void add_memcached(enum work work, const char *key, bool last)
{
	unsigned int life = seconds(plan->ttl_ms);
	char value[VALUE_MAX + 1];
	size_t size = plan->value_size;

	make_value(value, key, size);
	value[size] = '\0';
	switch (work) {
	case GET:
		add(&requests, "get %s\r\n", key);
		add(&expected, "VALUE %s 0 %zu\r\n%s\r\nEND\r\n", key, size, value);
		break;
	case MISS:
		add(&requests, "get %s\r\n", key);
		add(&expected, "END\r\n");
		break;
	case REMOVE:
		add(&requests, "delete %s\r\n", key);
		add(&expected, "DELETED\r\n");
		break;
	case TOUCH:
		add(&requests, "touch %s %u\r\n", key, life);
		add(&expected, "TOUCHED\r\n");
		break;
	case COUNT:
		break;
	case GET_MANY:
		add(&requests, " %s%s", key, last ? "\r\n" : "");
		add(&expected, "VALUE %s 0 %zu\r\n%s\r\n", key, size, value);
		if (last)
			add(&expected, "END\r\n");
		break;
	case PUT:
	case PUT_MANY:
		add(&requests, "set %s 0 %u %zu%s\r\n%s\r\n", key, life, size,
		    last ? "" : " noreply", value);
		if (last)
			add(&expected, "STORED\r\n");
		break;
	}
}

static void add_redis(enum work work, const char *key)
{
	bool is_whole = plan->ttl_ms % 1000 == 0;
	char value[VALUE_MAX + 1], life[24];
	size_t size = plan->value_size;
	int digits = snprintf(life, sizeof(life), "%llu",
			      (unsigned long long)plan->ttl_ms / (is_whole ? 1000 : 1));

	make_value(value, key, size);
	value[size] = '\0';
	switch (work) {
	case GET:
	case GET_MANY:
		add(&requests, "*2\r\n$3\r\nGET\r\n$%u\r\n%s\r\n", KEY_SIZE, key);
		add(&expected, "$%zu\r\n%s\r\n", size, value);
		break;
	case MISS:
		add(&requests, "*2\r\n$3\r\nGET\r\n$%u\r\n%s\r\n", KEY_SIZE, key);
		add(&expected, "$-1\r\n");
		break;
	case REMOVE:
		add(&requests, "*2\r\n$3\r\nDEL\r\n$%u\r\n%s\r\n", KEY_SIZE, key);
		add(&expected, ":1\r\n");
		break;
	case TOUCH:
		add(&requests, "*3\r\n$%d\r\n%s\r\n$%u\r\n%s\r\n$%d\r\n%s\r\n", is_whole ? 6 : 7,
		    is_whole ? "EXPIRE" : "PEXPIRE", KEY_SIZE, key, digits, life);
		add(&expected, ":1\r\n");
		break;
	case COUNT:
		add(&requests, "*2\r\n$4\r\nINCR\r\n$%u\r\n%s\r\n", KEY_SIZE, key);
		add(&expected, ":%u\r\n", counted);
		break;
	case PUT:
	case PUT_MANY:
		add(&requests, "*5\r\n$3\r\nSET\r\n$%u\r\n%s\r\n$%zu\r\n%s\r\n", KEY_SIZE, key,
		    size, value);
		add(&requests, "$2\r\n%cX\r\n$%d\r\n%s\r\n", is_whole ? 'E' : 'P', digits, life);
		add(&expected, "+OK\r\n");
		break;
	}
}

static bool prepare_memcached(enum work work, const struct key *keys, unsigned int new_count)
{
	bool many = work >= GET_MANY;

	begin(new_count);
	if (work == GET_MANY)
		add(&requests, "get");
	for (unsigned int i = 0; i < count; i++) {
		add_memcached(work, keys[i].text, !many || i == count - 1);
		if (!many || i == count - 1)
			end_message();
	}
	return true;
}

/* It has no entries, and answers a get with as many bytes. */
static bool prepare_echo(enum work work, const struct key *keys, unsigned int new_count)
{
	begin(new_count);
	return work == PUT_MANY || (work == GET && prepare_memcached(work, keys, new_count));
}

static bool prepare_redis(enum work work, const struct key *keys, unsigned int new_count)
{
	begin(new_count);
	counted += work == COUNT;
	for (unsigned int i = 0; i < count; i++) {
		add_redis(work, keys[i].text);
		if (work < GET_MANY || i == count - 1)
			end_message();
	}
	return true;
}

static unsigned int run(void)
{
	size_t sent = 0, got = 0;

	for (unsigned int i = 0; i < messages; i++) {
		struct iovec part = { requests.bytes + sent, exchanges[i].sent - sent };

		stream_send(&stream, &part, 1);
		sent = exchanges[i].sent;
		while (got < exchanges[i].received) {
			ssize_t some = read(stream.fd, received + got,
					     exchanges[i].received - got);

			if (some <= 0)
				die("receive", some ? strerror(errno) : "the server has closed");
			got += some;
		}
	}
	return count;
}

static void check(void)
{
	if (memcmp(received, expected.bytes, expected.size))
		die("unexpected reply", received);
}

static void check_nothing(void)
{
}

const struct peer echo_peer = {
	.name = "echo", .open = open_server, .prepare = prepare_echo, .run = run,
	.check = check_nothing,
};

const struct peer memcached_peer = {
	.name = "memcached", .open = open_server, .prepare = prepare_memcached, .run = run,
	.check = check,
};

const struct peer hbserve_peer = {
	.name = "hbserve", .open = open_server, .prepare = prepare_memcached, .run = run,
	.check = check,
};

const struct peer redis_peer = {
	.name = "redis", .counts = true, .open = open_server, .prepare = prepare_redis, .run = run,
	.check = check,
};

const struct peer valkey_peer = {
	.name = "valkey", .counts = true, .open = open_server, .prepare = prepare_redis, .run = run,
	.check = check,
};

const struct peer hbserve_redis_peer = {
	.name = "hbserve-redis", .counts = true, .open = open_server, .prepare = prepare_redis,
	.run = run, .check = check,
};

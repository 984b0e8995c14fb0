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
#include <sys/un.h>
#include <unistd.h>

#include "compare.h"

/* A reply that is shorter than expected; and a server that was just started, until it listens. */
#define PATIENCE_SECONDS	60
#define START_MS		20000

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

static int server;
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

static void begin(void)
{
	messages = 0;
	requests.size = 0;
	expected.size = 0;
}

static void open_server(void)
{
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!plan.socket)
		die("server", "its name needs =SOCKET");
	strncpy(address.sun_path, plan.socket, sizeof(address.sun_path) - 1);
	server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (int left = START_MS; connect(server, (void *)&address, sizeof(address)); left--) {
		if (!left)
			die(plan.socket, strerror(errno));
		usleep(1000);
	}
	if (setsockopt(server, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		die("SO_RCVTIMEO", strerror(errno));
}

static void send_all(char *bytes, size_t size)
{
	while (size) {
		ssize_t sent = writev(server, &(struct iovec){ bytes, size }, 1);

		if (sent < 0)
			die("send", strerror(errno));
		bytes += sent;
		size -= sent;
	}
}

/* @last: memcached sends a reply for each key, or for the last of a batch. */
static void add_memcached(enum work work, const char *key, bool last)
{
	unsigned int life = seconds(plan.ttl_ms);
	char value[VALUE_MAX + 1];
	size_t size = plan.value_size;

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
	bool is_whole = plan.ttl_ms % 1000 == 0;
	char value[VALUE_MAX + 1], life[24];
	size_t size = plan.value_size;
	int digits = snprintf(life, sizeof(life), "%llu",
			      (unsigned long long)plan.ttl_ms / (is_whole ? 1000 : 1));

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

static bool prepare_memcached(void)
{
	bool many = calls.work >= GET_MANY;

	begin();
	if (calls.work == GET_MANY)
		add(&requests, "get");
	for (unsigned int i = 0; i < calls.count; i++) {
		bool last = !many || i == calls.count - 1;

		add_memcached(calls.work, calls.keys[i].text, last);
		if (last)
			end_message();
	}
	return true;
}

/* It has no entries, and answers a get with as many bytes. */
static bool prepare_echo(void)
{
	begin();
	return calls.work == PUT_MANY || (calls.work == GET && prepare_memcached());
}

static bool prepare_redis(void)
{
	begin();
	counted += calls.work == COUNT;
	for (unsigned int i = 0; i < calls.count; i++) {
		add_redis(calls.work, calls.keys[i].text);
		if (calls.work < GET_MANY || i == calls.count - 1)
			end_message();
	}
	return true;
}

static unsigned int run(void)
{
	size_t sent = 0, got = 0;

	for (unsigned int i = 0; i < messages; i++) {
		send_all(requests.bytes + sent, exchanges[i].sent - sent);
		sent = exchanges[i].sent;
		while (got < exchanges[i].received) {
			ssize_t some = read(server, received + got, exchanges[i].received - got);

			if (some <= 0)
				die("receive", some ? strerror(errno) : "the server has closed");
			got += some;
		}
	}
	return calls.count;
}

static bool check(void)
{
	if (memcmp(received, expected.bytes, expected.size))
		die("unexpected reply", received);
	return false;
}

static bool check_nothing(void)
{
	return false;
}

#define SERVER(title, has_count, make, compare) {				\
	.name = (title), .counts = (has_count), .open = open_server,		\
	.prepare = (make), .run = run, .check = (compare),			\
}

const struct peer echo_peer = SERVER("echo", false, prepare_echo, check_nothing);
const struct peer memcached_peer = SERVER("memcached", false, prepare_memcached, check);
const struct peer hbserve_peer = SERVER("hbserve", false, prepare_memcached, check);
const struct peer redis_peer = SERVER("redis", true, prepare_redis, check);
const struct peer valkey_peer = SERVER("valkey", true, prepare_redis, check);
const struct peer hbserve_redis_peer = SERVER("hbserve-redis", true, prepare_redis, check);

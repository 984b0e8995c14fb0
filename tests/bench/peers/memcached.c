// SPDX-License-Identifier: GPL-2.0-only
/* memcached, by its text protocol. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

/* Larger times would be absolute ones. */
#define SECONDS_MAX	(30 * 24 * 3600)

#define PART(bytes, size)	{ (char *)(bytes), (size) }

static bool get(struct peer *peer, const char *key, size_t key_len)
{
	struct iovec parts[] = { PART("get ", 4), PART(key, key_len), PART("\r\n", 2) };
	const char *line;

	stream_send(&peer->stream, parts, 3);
	line = stream_line(&peer->stream);
	if (!strcmp(line, "END"))
		return false;
	if (strncmp(line, "VALUE ", 6))
		die("get", line);
	stream_skip(&peer->stream, strtoull(strrchr(line, ' ') + 1, NULL, 10));
	stream_line(&peer->stream);
	return true;
}

/* memcached counts seconds: a part of one counts as a whole one. */
static unsigned long seconds(uint64_t ttl)
{
	uint64_t up = (ttl + 999) / 1000;

	return up > SECONDS_MAX ? SECONDS_MAX : up;
}

static bool store(struct peer *peer, const char *command, const char *key, size_t key_len,
		  const char *value, size_t size, uint64_t ttl)
{
	char head[64];
	int length = snprintf(head, sizeof(head), " 0 %lu %zu\r\n", seconds(ttl), size);
	struct iovec parts[] = {
		PART(command, strlen(command)), PART(key, key_len), PART(head, length),
		PART(value, size), PART("\r\n", 2),
	};
	const char *line;

	stream_send(&peer->stream, parts, 5);
	line = stream_line(&peer->stream);
	return !strcmp(line, "STORED") || !strcmp(line, "NOT_STORED");
}

static bool put(struct peer *peer, const char *key, size_t key_len, const char *value, size_t size,
		uint64_t ttl)
{
	return store(peer, "set ", key, key_len, value, size, ttl);
}

static bool add(struct peer *peer, const char *key, size_t key_len, const char *value, size_t size,
		uint64_t ttl)
{
	return store(peer, "add ", key, key_len, value, size, ttl);
}

static void take_out(struct peer *peer, const char *key, size_t key_len)
{
	struct iovec parts[] = { PART("delete ", 7), PART(key, key_len), PART("\r\n", 2) };

	stream_send(&peer->stream, parts, 3);
	stream_line(&peer->stream);
}

static uint64_t used(struct peer *peer)
{
	struct iovec parts[] = { PART("stats\r\n", 7) };
	uint64_t bytes = 0;
	const char *line;

	stream_send(&peer->stream, parts, 1);
	while (strcmp(line = stream_line(&peer->stream), "END"))
		sscanf(line, "STAT bytes %lu", &bytes);
	return bytes;
}

static const struct peer_ops ops = {
	.get = get, .put = put, .add = add, .remove = take_out, .used = used,
};

void memcached_open(struct peer *peer, const char *path)
{
	peer->ops = &ops;
	stream_open(&peer->stream, path);
}

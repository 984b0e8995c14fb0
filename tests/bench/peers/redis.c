// SPDX-License-Identifier: GPL-2.0-only
/* Redis, by its protocol RESP2. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

#define WORDS_MAX	8

struct word {
	const char *bytes;
	size_t size;
};

#define WORD(text)	{ text, sizeof(text) - 1 }

static void send_words(struct peer *peer, const struct word *words, unsigned int count)
{
	struct iovec parts[3 * WORDS_MAX];
	char heads[WORDS_MAX][48];
	unsigned int used = 0;

	for (unsigned int i = 0; i < count; i++) {
		int length = i ? snprintf(heads[i], sizeof(heads[i]), "$%zu\r\n", words[i].size) :
				 snprintf(heads[i], sizeof(heads[i]), "*%u\r\n$%zu\r\n", count,
					  words[i].size);

		parts[used++] = (struct iovec){ heads[i], length };
		parts[used++] = (struct iovec){ (char *)words[i].bytes, words[i].size };
		parts[used++] = (struct iovec){ "\r\n", 2 };
	}
	stream_send(&peer->stream, parts, used);
}

static bool get(struct peer *peer, const char *key, size_t key_len)
{
	const struct word words[] = { WORD("GET"), { key, key_len } };
	const char *line;

	send_words(peer, words, 2);
	line = stream_line(&peer->stream);
	if (*line != '$')
		die("GET", line);
	if (line[1] == '-')
		return false;
	stream_skip(&peer->stream, strtoull(line + 1, NULL, 10));
	return true;
}

static bool store(struct peer *peer, const char *key, size_t key_len, const char *value,
		  size_t size, uint64_t ttl, bool add)
{
	char life[24];
	struct word words[WORDS_MAX] = { WORD("SET"), { key, key_len }, { value, size } };
	unsigned int count = 3;
	const char *line;

	if (ttl) {
		snprintf(life, sizeof(life), "%lu", ttl);
		words[count++] = (struct word)WORD("PX");
		words[count++] = (struct word){ life, strlen(life) };
	}
	if (add)
		words[count++] = (struct word)WORD("NX");
	send_words(peer, words, count);
	line = stream_line(&peer->stream);
	return *line == '+' || *line == '$';
}

static bool put(struct peer *peer, const char *key, size_t key_len, const char *value, size_t size,
		uint64_t ttl)
{
	return store(peer, key, key_len, value, size, ttl, false);
}

static bool add(struct peer *peer, const char *key, size_t key_len, const char *value, size_t size,
		uint64_t ttl)
{
	return store(peer, key, key_len, value, size, ttl, true);
}

static void take_out(struct peer *peer, const char *key, size_t key_len)
{
	const struct word words[] = { WORD("DEL"), { key, key_len } };

	send_words(peer, words, 2);
	stream_line(&peer->stream);
}

static uint64_t used(struct peer *peer)
{
	static const struct word words[] = { WORD("INFO"), WORD("memory") };
	uint64_t bytes = 0;
	const char *line;

	send_words(peer, words, 2);
	stream_line(&peer->stream);
	while (*(line = stream_line(&peer->stream)))
		sscanf(line, "used_memory:%lu", &bytes);
	return bytes;
}

static const struct peer_ops ops = {
	.get = get, .put = put, .add = add, .remove = take_out, .used = used,
};

/* The limit leaves out what an empty server takes. */
void redis_open(struct peer *peer, const char *path, uint64_t bytes)
{
	struct word words[] = { WORD("CONFIG"), WORD("SET"), WORD("maxmemory"), { NULL, 0 } };
	char limit[24];
	const char *line;

	peer->ops = &ops;
	stream_open(&peer->stream, path);
	snprintf(limit, sizeof(limit), "%lu", used(peer) + bytes);
	words[3] = (struct word){ limit, strlen(limit) };
	send_words(peer, words, 4);
	line = stream_line(&peer->stream);
	if (strcmp(line, "+OK"))
		die("CONFIG SET maxmemory", line);
}

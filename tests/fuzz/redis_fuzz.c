// SPDX-License-Identifier: GPL-2.0-only
/*
 * redis_fuzz - connections of hbserve by the protocol of Redis, for libFuzzer. The first two bytes
 * of an input are a place, and the rest is what a client sends: once as a whole, and once in two
 * parts that the server reads one after the other, or byte by byte. The replies have to be the
 * same.
 *
 * This program finds the requests of an input itself, up to the first one that is malformed. Each
 * has one reply, but for those about channels, which have one for each of these. No other ones
 * come: so no part of a value is a request.
 */
#define PROTOCOL	protocol_redis
#define BY_PREFIX	false
#include "talk.h"

/* Bytes that are read. */
struct reader {
	const uint8_t *at;
	const uint8_t *end;
};

static void note_request(const char *bytes, size_t length)
{
	(void)bytes;
	(void)length;
}

/* Reads a number up to its end of line. False: there is none. */
static bool read_number(struct reader *reader, long *number)
{
	const uint8_t *newline = memchr(reader->at, '\n', reader->end - reader->at);
	bool negative = reader->at < reader->end && *reader->at == '-';
	const uint8_t *at = reader->at + negative;

	if (!newline || newline - at < 2 || newline - at > 20 || newline[-1] != '\r')
		return false;
	/* The server takes no zero before another digit, and no '-' before 0. */
	if (*at == '0' && (newline - at > 2 || negative))
		return false;
	for (*number = 0; at < newline - 1; at++) {
		if (*at < '0' || *at > '9' || *number > INPUT_MAX)
			return false;
		*number = 10 * *number + *at - '0';
	}
	*number = negative ? -*number : *number;
	reader->at = newline + 1;
	return true;
}

/* Goes behind a reply. */
static void skip_reply(struct reader *reader, unsigned int depth)
{
	uint8_t type = *reader->at++;
	const uint8_t *newline;
	long number;

	must_be(depth < 8, "a reply is not deep");
	newline = memchr(reader->at, '\n', reader->end - reader->at);
	must_be(newline && newline[-1] == '\r', "a line of a reply has an end");
	if (type == '+' || type == '-' || type == ':' || type == '_') {
		reader->at = newline + 1;
		return;
	}
	must_be(type == '$' || type == '*' || type == '%' || type == '>', "a reply has a type");
	must_be(read_number(reader, &number), "a length is a number");
	if (type == '$') {
		if (number < 0)
			return;
		must_be(number + 2 <= reader->end - reader->at &&
			!memcmp(reader->at + number, "\r\n", 2), "a value of a reply is whole");
		reader->at += number + 2;
		return;
	}
	for (number = type == '%' ? 2 * number : number; number > 0; number--) {
		must_be(reader->at < reader->end, "an array is whole");
		skip_reply(reader, depth + 1);
	}
}

static size_t count_replies(const struct replies *replies)
{
	struct reader reader = {
		(uint8_t *)replies->bytes, (uint8_t *)replies->bytes + replies->length,
	};
	size_t count = 0;

	for (; reader.at < reader.end; count++)
		skip_reply(&reader, 0);
	return count;
}

/* Goes behind an array. Return: the number of its elements; -1 if it is malformed or not whole. */
static long skip_array(struct reader *reader)
{
	long count, length, i;

	reader->at++;
	if (!read_number(reader, &count))
		return -1;
	for (i = 0; i < count; i++) {
		if (reader->at == reader->end || *reader->at++ != '$' ||
		    !read_number(reader, &length) || length < 0 ||
		    length + 2 > reader->end - reader->at ||
		    memcmp(reader->at + length, "\r\n", 2))
			return -1;
		reader->at += length + 2;
	}
	return count;
}

/* Goes behind a line. Return: 1; 0 if it is blank; -1 if it may be malformed. */
static long skip_line(struct reader *reader)
{
	const uint8_t *newline = memchr(reader->at, '\n', reader->end - reader->at), *at;
	bool blank = true;

	if (!newline)
		return -1;
	for (at = reader->at; at < newline; at++) {
		if (*at == '"' || *at == '\'')
			return -1;
		blank &= *at == ' ' || *at == '\t' || *at == '\r' || !*at;
	}
	if (newline - reader->at > 4 && (!strncasecmp((char *)reader->at, "post", 4) ||
					 !strncasecmp((char *)reader->at, "host", 4)))
		return -1;
	reader->at = newline + 1;
	return !blank;
}

/* Counts the requests. *@whole: there is nothing behind them. */
static size_t count_requests(const uint8_t *data, size_t size, bool *whole)
{
	struct reader reader = { data, data + size };
	size_t count = 0;
	long found = 0;

	while (reader.at < reader.end) {
		found = *reader.at == '*' ? skip_array(&reader) : skip_line(&reader);
		if (found < 0)
			break;
		count += found > 0;
	}
	*whole = found >= 0;
	return count;
}

/* Whether an input has a word, in small or capital letters. */
static bool has_word(const uint8_t *data, size_t size, const char *word)
{
	size_t length = strlen(word), i;

	for (i = 0; i + length <= size; i++)
		if (!strncasecmp((const char *)data + i, word, length))
			return true;
	return false;
}

/* Commands after which the connection is closed. */
static bool may_close(const uint8_t *data, size_t size)
{
	return has_word(data, size, "quit") || has_word(data, size, "select");
}

/* Replies that tell a time, a number of a connection, or anything by chance. */
static bool may_differ(const uint8_t *data, size_t size)
{
	static const char * const words[] = { "time", "info", "hello", "client", "random", "at" };
	unsigned int i;

	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (has_word(data, size, words[i]))
			return true;
	return false;
}

static void check_talk(const uint8_t *data, size_t size, const struct replies *replies)
{
	size_t count = count_replies(replies), requests;
	bool whole;

	requests = count_requests(data, size, &whole);
	/* A malformed request has one reply, too, and a part of one has none. */
	must_be(!whole || has_word(data, size, "subscribe") || count <= requests,
		"a request has one reply");
	must_be(may_close(data, size) || count >= requests, "a request has a reply");
}

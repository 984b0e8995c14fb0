// SPDX-License-Identifier: GPL-2.0-only
/*
 * connection_fuzz - connections of hbserve, for libFuzzer. The first two bytes of an input are a
 * place, and the rest is what a client sends: once as a whole, and once in two parts that the
 * server reads one after the other, or byte by byte. The replies have to be the same. Entries are
 * in the memory of this process.
 *
 * The requests that the server carries out have to be those that this program finds: lines, and
 * behind that of a store its value. So no part of a value is a request. A request has one reply.
 */
#define PROTOCOL	protocol_memcached
#define BY_PREFIX	true
#include "talk.h"

/* Lines of an input, or those that the server has taken for requests. */
#define LINES_MAX	INPUT_MAX
struct lines {
	const uint8_t *at[LINES_MAX];
	size_t length[LINES_MAX];
	size_t count;
};

static struct lines carried_out;

/* The bytes of a request are copied. Without bytes, a new talk begins. */
static void note_request(const char *bytes, size_t length)
{
	static uint8_t copies[2 * INPUT_MAX];
	static size_t used;

	if (!bytes) {
		carried_out.count = 0;
		used = 0;
		return;
	}
	if (carried_out.count == LINES_MAX || used + length > sizeof(copies))
		abort();
	memcpy(copies + used, bytes, length);
	carried_out.at[carried_out.count] = copies + used;
	carried_out.length[carried_out.count++] = length;
	used += length;
}

/* Takes the next word of a line. */
static bool next_word(const uint8_t **at, const uint8_t *end, const uint8_t **word, size_t *length)
{
	while (*at < end && **at == ' ')
		++*at;
	*word = *at;
	while (*at < end && **at != ' ')
		++*at;
	*length = *at - *word;
	return *length;
}

/* The number of the word that has the length of a value; -1 if no value follows. */
static int length_word(const uint8_t *name, size_t length)
{
	static const char * const stores[] = {
		"set", "add", "replace", "append", "prepend", "cas",
	};
	unsigned int i;

	for (i = 0; i < sizeof(stores) / sizeof(*stores); i++)
		if (length == strlen(stores[i]) && !memcmp(name, stores[i], length))
			return 4;
	return length == 2 && !memcmp(name, "ms", 2) ? 2 : -1;
}

/* The bytes of a value and its end behind a line. Return: -1 if they are not there. */
static long value_behind(const uint8_t *line, const uint8_t *end, const uint8_t *next,
			 const uint8_t *all)
{
	const uint8_t *at = line, *word;
	size_t length, i;
	long size = 0;
	int number;

	if (!next_word(&at, end, &word, &length))
		return 0;
	number = length_word(word, length);
	if (number < 0)
		return 0;
	while (number-- && next_word(&at, end, &word, &length))
		;
	for (i = 0; i < length; i++) {
		if (word[i] < '0' || word[i] > '9' || size > INPUT_MAX)
			return -1;
		size = 10 * size + word[i] - '0';
	}
	if (!length || size + 2 > all - next || memcmp(next + size, "\r\n", 2))
		return -1;
	return size + 2;
}

/* Finds the requests of an input, up to the first one behind which nothing is known. */
static void find_requests(const uint8_t *data, size_t size, struct lines *lines)
{
	const uint8_t *end = data + size, *at = data, *newline, *line;
	long value = 0;

	for (lines->count = 0; value >= 0 && at < end; at = newline + 1 + value) {
		newline = memchr(at, '\n', end - at);
		if (!newline)
			return;
		lines->at[lines->count] = at;
		line = newline - (newline - at > 1 && newline[-1] == '\r');
		lines->length[lines->count] = line - at;
		value = value_behind(at, line, newline + 1, end);
		lines->count++;
	}
}

/* Whether the first word of a line is a text. */
static bool begins_with(const uint8_t *line, size_t length, const char *text)
{
	const uint8_t *at = line, *word;

	return next_word(&at, line + length, &word, &length) && length == strlen(text) &&
	       !memcmp(word, text, length);
}

/* The bytes of a value and its end behind a line of a reply, which has the number as this word. */
static size_t value_length(const uint8_t *line, size_t length, unsigned int number)
{
	const uint8_t *at = line, *end = line + length, *word;
	size_t size = 0, i;

	while (number-- && next_word(&at, end, &word, &length))
		;
	must_be(next_word(&at, end, &word, &length), "a value has a length");
	for (i = 0; i < length; i++) {
		if (word[i] == '\r')
			break;
		must_be(word[i] >= '0' && word[i] <= '9', "a length has digits alone");
		size = 10 * size + word[i] - '0';
	}
	return size + 2;
}

/* Counts replies. Of the lines of a list or of a get, the last one counts. */
static size_t count_replies(const struct replies *replies)
{
	static const char * const parts[] = { "STAT", "PREFIX", "ITEM", "mg" };
	const uint8_t *at = (uint8_t *)replies->bytes, *end = at + replies->length, *next;
	size_t count = 0, i, length;

	for (; at < end; at = next) {
		next = memchr(at, '\n', end - at);
		must_be(next, "a reply ends with its line");
		length = next++ - at;
		if (begins_with(at, length, "VALUE")) {
			next += value_length(at, length, 3);
			continue;
		}
		if (begins_with(at, length, "VA"))
			next += value_length(at, length, 1);
		for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			if (begins_with(at, length, parts[i]))
				break;
		if (i == sizeof(parts) / sizeof(*parts) && (length < 4 || memcmp(at, "key=", 4)))
			count++;
	}
	must_be(at == end, "a value of a reply is whole");
	return count;
}

/* Each request has one reply, but for those that may be quiet, and lists that begin with OK. */
static void check_replies(const struct lines *lines, const struct replies *replies)
{
	size_t least = 0, most = 0, count = count_replies(replies), i;

	for (i = 0; i < carried_out.count; i++) {
		const uint8_t *line = lines->at[i];
		size_t length = lines->length[i];

		most += begins_with(line, length, "lru_crawler") ? 2 : 1;
		least += !memchr(line, 'q', length) && !memmem(line, length, "noreply", 7);
	}
	must_be(count <= most, "a request has one reply");
	must_be(count >= least, "a request has a reply");
}

/* The server has decoded a key in base64 in its place, before it logs the request. */
static bool is_same(const struct lines *a, const struct lines *b, size_t i)
{
	size_t length = a->length[i];

	if (length > 2 && *b->at[i] == 'm' && memchr(b->at[i], 'b', length))
		length = 2;
	return a->length[i] == b->length[i] && !memcmp(a->at[i], b->at[i], length);
}

/* Compares the requests that the server has carried out with those of the input. */
static void check_talk(const uint8_t *data, size_t size, const struct replies *replies)
{
	static struct lines lines;
	size_t i;

	/* The binary protocol is refused. */
	if (*data == 0x80)
		return;
	find_requests(data, size, &lines);
	must_be(carried_out.count <= lines.count,
		"no more requests are carried out than were sent");
	for (i = 0; i < carried_out.count; i++)
		must_be(is_same(&carried_out, &lines, i),
			"each request that is carried out is one that was sent");
	check_replies(&lines, replies);
}

/* Times and memory in statistics differ. */
static bool may_differ(const uint8_t *data, size_t size)
{
	return memmem(data, size, "stats", 5) || memmem(data, size, "verbosity", 9);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of the protocol of Redis, out of bytes.
 *
 * A client may send a request in many small parts. The place in it stays, so that no argument is
 * read twice. A request that is too long is dropped while it comes, and answered by an error: the
 * next one is found behind it.
 */
#include <stdio.h>
#include <string.h>

#include "resp.h"

/* Digits of a length with its end of line, at most. */
#define HEAD_MAX	32

/* No argument, and no array that has arguments, takes fewer bytes. */
#define WHOLE_MIN	6

/* The longest argument of the protocol, bytes. */
#define BULK_MAX	(512 * 1024 * 1024)

/* The number of a head such as *2 or $5. */
enum head { HEAD_WHOLE, HEAD_PART, HEAD_WRONG };

static enum head read_head(const char *text, size_t len, size_t *at, int64_t *number)
{
	const char *from = text + *at + 1, *end;

	if (*at + 1 >= len)
		return HEAD_PART;
	len -= *at + 1;
	end = memchr(from, '\n', len < HEAD_MAX ? len : HEAD_MAX);
	if (!end)
		return len < HEAD_MAX ? HEAD_PART : HEAD_WRONG;
	if (end == from || end[-1] != '\r' || !resp_integer(from, end - 1 - from, number))
		return HEAD_WRONG;
	*at = end + 1 - text;
	return HEAD_WHOLE;
}

static enum parsed close_for(struct resp_request *request, const char *reason)
{
	snprintf(request->text, sizeof(request->text), "ERR Protocol error: %s", reason);
	request->error = request->text;
	return PARSED_CLOSE;
}

/* More bytes are needed, @least in all if that is more than there are. */
static enum parsed want(struct resp_place *place, struct resp_request *request, size_t len,
			size_t least)
{
	if (place->drops) {
		request->dropped = place->at;
		len -= place->at;
		place->at = 0;
		least = 0;
	}
	request->size = least > len ? least : len + 1;
	return PARSED_PART;
}

/* A line of words. HTTP is closed without an answer: a web page may have sent it. */
static enum parsed parse_line(const char *text, size_t len, struct resp_request *request)
{
	const char *end = memchr(text, '\n', len);

	if (!end && len > RESP_INLINE_MAX)
		return close_for(request, "too big inline request");
	if (!end) {
		request->size = len + 1;
		return PARSED_PART;
	}
	request->size = end + 1 - text;
	if (request->size > RESP_INLINE_MAX)
		return close_for(request, "too big inline request");
	if (!strncasecmp(text, "post ", 5) || !strncasecmp(text, "host:", 5))
		return PARSED_CLOSE;
	request->args = text;
	request->end = end - (end > text && end[-1] == '\r');
	request->count = request->end > text;
	request->is_inline = true;
	return PARSED_REQUEST;
}

/* The head of an array. Return: PARSED_LATER if its arguments follow. */
static enum parsed parse_array(const char *text, size_t len, const struct resp_limits *limits,
			       struct resp_place *place, struct resp_request *request)
{
	int64_t number;
	size_t at = 0;

	switch (read_head(text, len, &at, &number)) {
	case HEAD_PART:
		request->size = len + 1;
		return PARSED_PART;
	case HEAD_WRONG:
		return close_for(request, "invalid multibulk length");
	default:
		break;
	}
	request->size = at;
	if (number <= 0)
		return PARSED_REQUEST;
	if (number > limits->count)
		return close_for(request, limits->is_strict ?
				 "unauthenticated multibulk length" :
				 "invalid multibulk length");
	*place = (struct resp_place){
		.at = at, .args = at, .count = number, .left = number,
	};
	return PARSED_LATER;
}

/* Drops what there is of an argument. Return: PARSED_LATER if that is all of it. */
static enum parsed drop(size_t len, struct resp_place *place, struct resp_request *request)
{
	size_t there = len - place->at;
	size_t some = place->skip < there ? place->skip : there;

	place->at += some;
	place->skip -= some;
	if (place->skip)
		return want(place, request, len, 0);
	place->left--;
	return PARSED_LATER;
}

/* Checks the end of an argument whose bytes are there, and goes behind it. */
static enum parsed end_argument(const char *text, size_t end, struct resp_place *place,
				struct resp_request *request)
{
	if (memcmp(text + end, "\r\n", 2))
		return close_for(request, "invalid CRLF in request");
	place->at = end + 2;
	place->left--;
	return PARSED_LATER;
}

static enum parsed close_for_byte(struct resp_request *request, char byte)
{
	char wrong[] = "expected '$', got ' '";

	wrong[sizeof(wrong) - 3] = byte < ' ' || byte > '~' ? ' ' : byte;
	return close_for(request, wrong);
}

/* An argument. Return: PARSED_LATER if it is whole. */
static enum parsed parse_argument(const char *text, size_t len, const struct resp_limits *limits,
				  struct resp_place *place, struct resp_request *request)
{
	size_t at = place->at;
	int64_t number;

	if (place->skip)
		return drop(len, place, request);
	if (at < len && text[at] != '$')
		return close_for_byte(request, text[at]);
	switch (read_head(text, len, &at, &number)) {
	case HEAD_PART:
		return want(place, request, len, 0);
	case HEAD_WRONG:
		return close_for(request, "invalid bulk length");
	default:
		break;
	}
	if (number < 0 || number > BULK_MAX)
		return close_for(request, "invalid bulk length");
	if ((size_t)number > limits->bulk && limits->is_strict)
		return close_for(request, "unauthenticated bulk length");
	if ((size_t)number > limits->bulk || at + number > limits->all)
		place->drops = true;
	if (place->drops) {
		place->at = at;
		place->skip = number + 2;
		return drop(len, place, request);
	}
	if (at + number + 2 > len)
		return want(place, request, len, at + number + 2);
	return end_argument(text, at + number, place, request);
}

/*
 * Reads the head of an array or of an argument. Return: its end; NULL if it is wrong, or not whole,
 * or if its number is 0, or greater than the number of bytes up to @end: then more have to come.
 */
static inline const char *read_number(const char *at, const char *end, char type, size_t *number)
{
	size_t sum;

	if (end - at < WHOLE_MIN || *at != type || at[1] < '1' || at[1] > '9')
		return NULL;
	sum = at[1] - '0';
	for (at += 2; *at >= '0' && *at <= '9'; at++) {
		sum = 10 * sum + (*at - '0');
		if (sum > (size_t)(end - at))
			return NULL;
	}
	if (memcmp(at, "\r\n", 2))
		return NULL;
	*number = sum;
	return at + 2;
}

/*
 * Reads an array of which all bytes are there: almost all requests come so. Return: false if
 * parse_array() and parse_argument() have to read it, because it is not whole, or wrong, or too
 * long, or has an empty argument.
 */
static bool parse_whole(const char *text, size_t len, const struct resp_limits *limits,
			struct resp_request *request)
{
	const char *end = text + len, *at;
	size_t count, size, i;

	memset(request, 0, offsetof(struct resp_request, text));
	at = read_number(text, end, '*', &count);
	if (!at || count > limits->count)
		return false;
	request->args = at;
	request->count = count;
	for (i = 0; i < count; i++) {
		at = read_number(at, end, '$', &size);
		if (!at || size > limits->bulk || (size_t)(end - at) < size + 2 ||
		    memcmp(at + size, "\r\n", 2))
			return false;
		if (!i)
			request->name = (struct word){ at, size };
		else if (i == 1)
			request->key = (struct word){ at, size };
		at += size + 2;
	}
	request->end = at;
	request->size = at - text;
	return request->size <= limits->all;
}

/**
 * resp_parse() - read the first request
 * @text:	the bytes
 * @len:	their number, at least 1
 * @limits:	the limits of the client
 * @place:	the place in the request. After PARSED_PART it is kept for the next call, which has
 *		the same bytes but for the dropped ones, and more; else it is zeroed
 * @request:	returned: the request
 *
 * Return: PARSED_REQUEST, PARSED_PART or PARSED_CLOSE.
 */
enum parsed resp_parse(const char *text, size_t len, const struct resp_limits *limits,
		       struct resp_place *place, struct resp_request *request)
{
	enum parsed parsed = PARSED_LATER;

	if (!place->count && parse_whole(text, len, limits, request))
		return PARSED_REQUEST;
	memset(request, 0, offsetof(struct resp_request, text));
	if (!place->count)
		parsed = *text == '*' ? parse_array(text, len, limits, place, request) :
					parse_line(text, len, request);
	while (parsed == PARSED_LATER && place->left)
		parsed = parse_argument(text, len, limits, place, request);
	if (parsed == PARSED_LATER) {
		request->count = place->count;
		request->is_dropped = place->drops;
		request->args = place->drops ? NULL : text + place->args;
		request->end = text + place->at;
		request->size = place->at;
		if (request->args)
			resp_first(request);
		parsed = PARSED_REQUEST;
	}
	if (parsed != PARSED_PART)
		memset(place, 0, sizeof(*place));
	return parsed;
}

/**
 * resp_first() - find the first two arguments of a request
 * @request:	the request, of which the number of arguments and their place are known
 */
void resp_first(struct resp_request *request)
{
	const char *at = request->args;

	if (request->count)
		resp_next(&at, &request->name);
	if (request->count > 1)
		resp_next(&at, &request->key);
}

/**
 * resp_next() - the next argument of a request that was parsed
 * @at:		where it begins; moved behind it
 * @argument:	returned: the argument
 */
void resp_next(const char **at, struct word *argument)
{
	const char *text = *at + 1;
	size_t len = 0;

	for (; *text != '\r'; text++)
		len = 10 * len + (*text - '0');
	argument->at = text + 2;
	argument->len = len;
	*at = argument->at + len + 2;
}

/**
 * resp_integer() - read a number as Redis does
 * @text:	the digits, perhaps after a '-', without further zeros before them
 * @len:	their number
 * @number:	returned: the number
 *
 * Return: false if it is no such number of 64 bits.
 */
bool resp_integer(const char *text, size_t len, int64_t *number)
{
	bool negative = len && *text == '-';
	uint64_t sum = 0;
	size_t i;

	if (len <= negative || len - negative > 19)
		return false;
	if (text[negative] == '0' && len > 1)
		return false;
	for (i = negative; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		sum = 10 * sum + (text[i] - '0');
	}
	if (sum > (uint64_t)INT64_MAX + negative)
		return false;
	*number = negative ? -sum : sum;
	return true;
}

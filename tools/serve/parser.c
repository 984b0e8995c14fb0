// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of memcached's text and meta protocol. Lines are malformed where memcached finds them
 * so, and have its answers, because clients compare texts.
 *
 * Behind the line of a store is its value, and never a request: take_value() finds its end
 * before anything else of the line is looked at, so no other error of the line can change where the
 * next request begins. If that cannot be known, the connection is closed after the answer.
 */
#include <limits.h>
#include <string.h>

#include "array_size.h"
#include "condition.h"
#include "parser.h"

/* Words of a line that count; memcached does not look at more. */
#define WORDS_MAX	23

/* Words of a meta command. */
#define META_WORDS_MAX	20

/* Bytes of an opaque flag, its letter included. */
#define OPAQUE_MAX	32

/* memcached does not look at a shorter line, with its end, bytes. */
#define LINE_MIN	4

/* A line without an end is no request from here on, unless it is a get. */
#define PART_MAX	2048

/* A get may have so many blanks before it. */
#define BLANKS_MAX	100

/* The last class of memcached's memory. */
#define CLASS_MAX	63

/* Longest value for which memcached waits, bytes. */
#define LENGTH_MAX	(INT_MAX - 2)

#define BAD_LINE	"CLIENT_ERROR bad command line format"
#define BAD_CHUNK	"CLIENT_ERROR bad data chunk"
#define BAD_EXPTIME	"CLIENT_ERROR invalid exptime argument"
#define BAD_FLAG_VALUE	"CLIENT_ERROR bad token in command line format"
#define BAD_FLAG	"CLIENT_ERROR invalid flag"
#define TOO_LARGE	"SERVER_ERROR object too large for cache"

static const char bad_opaque[] = "CLIENT_ERROR opaque token too long";

/**
 * struct line - a line and its words
 * @words:	the words
 * @count:	their number, at most WORDS_MAX
 * @end:	the end of the line, without what closes it
 * @next:	the bytes behind the line
 * @after:	bytes that are there from @next on
 * @value_max:	longest value, bytes
 */
struct line {
	struct word words[WORDS_MAX];
	unsigned int count;
	const char *end;
	char *next;
	size_t after;
	size_t value_max;
};

/**
 * struct syntax - a command, as its line is written
 * @name:	the first word
 * @command:	the command
 * @least:	the fewest words; more than a command needs mean nothing
 * @length:	the number of the word that has the length of the value; 0: no value follows
 * @parse:	takes the words
 */
struct syntax {
	const char *name;
	enum command command;
	unsigned int least;
	unsigned int length;
	enum parsed (*parse)(struct request *request, struct line *line);
};

static inline bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/**
 * parser_word() - take the next word of a line
 * @text:	where to look; returned: behind the word
 * @end:	the end of the line
 * @word:	returned: the word
 *
 * Return: false if there is none.
 */
bool parser_word(const char **text, const char *end, struct word *word)
{
	const char *p = *text, *blank;

	while (p < end && *p == ' ')
		p++;
	blank = memchr(p, ' ', end - p);
	*text = blank ?: end;
	word->at = p;
	word->len = *text - p;
	return word->len;
}

/* strtoull(3) for a word: blanks may come before and behind the number. */
static bool read_digits(const char *text, size_t len, bool *minus, uint64_t *number)
{
	const char *end = text + len, *first;
	uint64_t sum = 0;

	while (text < end && is_space(*text))
		text++;
	*minus = text < end && *text == '-';
	if (text < end && (*text == '-' || *text == '+'))
		text++;
	for (first = text; text < end && *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, *text - '0', &sum))
			return false;
	*number = sum;
	return text > first && (text == end || is_space(*text) || !*text);
}

/**
 * parser_number() - read a number without a sign, in 64 bits
 * @text:	the text
 * @len:	its length
 * @number:	returned: the number
 *
 * Return: false if the text is no such number.
 */
bool parser_number(const char *text, size_t len, uint64_t *number)
{
	bool minus;

	if (!read_digits(text, len, &minus, number))
		return false;
	if (minus)
		*number = -*number;
	return !minus || (int64_t)*number >= 0;
}

/* A time: a number of 64 bits that has a sign. memcached keeps 32 bits, which end in 2038. */
static bool read_time(const struct word *word, size_t from, int64_t *seconds)
{
	uint64_t value;
	bool minus;

	if (!read_digits(word->at + from, word->len - from, &minus, &value) ||
	    value > (uint64_t)INT64_MAX + minus)
		return false;
	*seconds = (int64_t)(minus ? -value : value);
	return true;
}

static bool unsigned_number(const struct word *word, size_t from, uint32_t *number)
{
	uint64_t value;

	if (!parser_number(word->at + from, word->len - from, &value) || value > UINT32_MAX)
		return false;
	*number = value;
	return true;
}

static inline bool is_word(const struct word *word, const char *text, size_t len)
{
	return word->len == len && !memcmp(word->at, text, len);
}

#define IS_WORD(word, text)	is_word(word, text, sizeof(text) - 1)

/* The value of a digit of base64; -1 for other bytes, which count for nothing. */
static int base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : c == '=' ? 0 : -1;
}

/*
 * Decodes base64 to @to, which may be @text, or nowhere. Return: the number of bytes, 0 for text
 * that is no base64.
 */
static size_t base64_decode(const char *text, size_t len, char *to)
{
	size_t digits = 0, bytes = 0, padding = 0, i;
	uint32_t group = 0;

	for (i = 0; i < len; i++)
		digits += base64_digit(text[i]) >= 0;
	if (digits % 4)
		return 0;
	for (i = digits = 0; i < len; i++) {
		if (base64_digit(text[i]) < 0)
			continue;
		padding += text[i] == '=';
		group = group << 6 | base64_digit(text[i]);
		if (++digits % 4)
			continue;
		if (padding > 2)
			return 0;
		for (unsigned int byte = 0; byte < 3 - padding; byte++, bytes++)
			if (to)
				to[bytes] = (char)(group >> (16 - 8 * byte));
		if (padding)
			break;
	}
	return bytes;
}

/**
 * parser_encode() - write a key in base64
 * @key:	the key
 * @key_len:	its length, at most PARSER_KEY_MAX
 * @text:	space for PARSER_BASE64_MAX bytes
 *
 * Return: the length of the text, which has no NUL.
 */
size_t parser_encode(const char *key, size_t key_len, char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *from = (const unsigned char *)key;
	char *to = text;
	uint32_t group;
	size_t i;

	for (i = 0; i < key_len; i += 3, to += 4) {
		group = from[i] << 16;
		group |= i + 1 < key_len ? from[i + 1] << 8 : 0;
		group |= i + 2 < key_len ? from[i + 2] : 0;
		to[0] = digits[group >> 18];
		to[1] = digits[group >> 12 & 63];
		to[2] = i + 1 < key_len ? digits[group >> 6 & 63] : '=';
		to[3] = i + 2 < key_len ? digits[group & 63] : '=';
	}
	return to - text;
}

/* An error of the line comes before one of the value. */
static enum parsed refuse(struct request *request, const char *error)
{
	request->error = error;
	request->removes = false;
	return PARSED_REQUEST;
}

/* Sets the key. Return: false if it is too long. */
static bool take_key(struct request *request, const struct word *word)
{
	request->key = word->at;
	request->key_len = word->len;
	return word->len <= PARSER_KEY_MAX;
}

static bool look_for_noreply(struct request *request, const struct line *line)
{
	request->quiet = IS_WORD(&line->words[line->count - 1], "noreply");
	return request->quiet;
}

/* It is not known where the next request begins. */
static enum parsed refuse_and_close(struct request *request, const char *error)
{
	request->closes = true;
	return refuse(request, error);
}

/* Takes the length of a value: digits alone, so that no reader can take it for another number. */
static bool take_length(struct request *request, const struct word *word)
{
	uint64_t len = 0;
	size_t i;

	for (i = 0; i < word->len; i++) {
		if (word->at[i] < '0' || word->at[i] > '9')
			return false;
		len = 10 * len + word->at[i] - '0';
		if (len > LENGTH_MAX)
			return false;
	}
	request->value_len = len;
	return true;
}

/* Takes the value that follows the line. @length: the number of the word that has its length. */
static enum parsed take_value(struct request *request, const struct line *line,
			      unsigned int length)
{
	size_t whole;

	if (line->count <= length || !take_length(request, &line->words[length]))
		return refuse_and_close(request, BAD_LINE);
	whole = request->value_len + 2;
	if (request->value_len > line->value_max) {
		request->skip = whole;
		request->removes = request->command == COMMAND_SET ||
				   request->command == COMMAND_META_SET;
		request->error = TOO_LARGE;
		return PARSED_REQUEST;
	}
	request->size += whole;
	if (line->after < whole)
		return PARSED_PART;
	request->value = line->next;
	if (memcmp(line->next + request->value_len, "\r\n", 2))
		return refuse_and_close(request, BAD_CHUNK);
	return PARSED_REQUEST;
}

/* get KEY... */
static enum parsed parse_get(struct request *request, struct line *line)
{
	const char *text = request->words, *blank;

	(void)line;
	while (text < request->words_end && *text == ' ')
		text++;
	if (text == request->words_end)
		return refuse(request, BAD_LINE);
	/* No key is too long if there is a blank in each part of so many bytes. */
	for (; request->words_end - text > PARSER_KEY_MAX; text = blank + 1) {
		blank = memrchr(text, ' ', PARSER_KEY_MAX + 1);
		if (!blank)
			return refuse(request, BAD_LINE);
	}
	return PARSED_REQUEST;
}

/* gat EXPTIME KEY... */
static enum parsed parse_gat(struct request *request, struct line *line)
{
	if (!read_time(&line->words[1], 0, &request->exptime))
		return refuse(request, BAD_EXPTIME);
	request->words = line->words[1].at + line->words[1].len;
	return parse_get(request, line);
}

/* Refuses a store, and removes the entry that it would have replaced: no client must find it. */
static enum parsed refuse_and_remove(struct request *request, const char *error)
{
	refuse(request, error);
	request->removes = true;
	return PARSED_REQUEST;
}

/*
 * set KEY FLAGS EXPTIME BYTES [noreply], cas KEY FLAGS EXPTIME BYTES UNIQUE [noreply]. memcached
 * stores with flags that it has cut to 32 bits, which a client would take for others. An append and
 * a prepend change no flags.
 */
static enum parsed parse_store(struct request *request, struct line *line)
{
	const struct word *words = line->words;
	uint64_t flags;

	look_for_noreply(request, line);
	if (!take_key(request, &words[1]) ||
	    !parser_number(words[2].at, words[2].len, &flags) ||
	    !read_time(&words[3], 0, &request->exptime))
		return refuse(request, BAD_LINE);
	if (request->command == COMMAND_CAS &&
	    (line->count < 6 || !parser_number(words[5].at, words[5].len, &request->unique)))
		return refuse(request, BAD_LINE);
	request->flags = flags;
	if (flags <= UINT32_MAX || request->command == COMMAND_APPEND ||
	    request->command == COMMAND_PREPEND)
		return PARSED_REQUEST;
	return request->command == COMMAND_ADD ? refuse(request, BAD_LINE) :
		refuse_and_remove(request, BAD_LINE);
}

/* incr KEY DELTA [noreply] */
static enum parsed parse_arithmetic(struct request *request, struct line *line)
{
	look_for_noreply(request, line);
	if (!take_key(request, &line->words[1]))
		return refuse(request, BAD_LINE);
	if (!parser_number(line->words[2].at, line->words[2].len, &request->delta))
		return refuse(request, "CLIENT_ERROR invalid numeric delta argument");
	return PARSED_REQUEST;
}

/* touch KEY EXPTIME [noreply] */
static enum parsed parse_touch(struct request *request, struct line *line)
{
	look_for_noreply(request, line);
	if (!take_key(request, &line->words[1]))
		return refuse(request, BAD_LINE);
	if (!read_time(&line->words[2], 0, &request->exptime))
		return refuse(request, BAD_EXPTIME);
	return PARSED_REQUEST;
}

/* delete KEY [noreply] */
static enum parsed parse_delete(struct request *request, struct line *line)
{
	look_for_noreply(request, line);
	return take_key(request, &line->words[1]) ? PARSED_REQUEST : refuse(request, BAD_LINE);
}

/* flush_all [DELAY] [noreply]. A timer takes 32 bits. */
static enum parsed parse_flush(struct request *request, struct line *line)
{
	bool noreply = look_for_noreply(request, line);

	if (line->count != (noreply ? 2 : 1) &&
	    (!read_time(&line->words[1], 0, &request->exptime) ||
	     request->exptime != (int32_t)request->exptime))
		return refuse(request, BAD_EXPTIME);
	return PARSED_REQUEST;
}

/* verbosity LEVEL [noreply] */
static enum parsed parse_verbosity(struct request *request, struct line *line)
{
	look_for_noreply(request, line);
	return unsigned_number(&line->words[1], 0, &request->flags) ? PARSED_REQUEST :
		refuse(request, BAD_LINE);
}

static enum parsed parse_plain(struct request *request, struct line *line)
{
	(void)request;
	(void)line;
	return PARSED_REQUEST;
}

/* Commands for memcached's memory: the answers are those of a server without them. */
static enum parsed parse_slabs(struct request *request, struct line *line)
{
	bool reassign = line->count == 4 && IS_WORD(&line->words[1], "reassign");

	return refuse(request, reassign ? "CLIENT_ERROR slab reassignment disabled" : "ERROR");
}

/* lru_crawler metadump|mgdump CLASS: a belt has one class. */
static enum parsed parse_crawler(struct request *request, struct line *line)
{
	const struct word *words = line->words;

	if (line->count != 3)
		return refuse(request, "ERROR");
	if (IS_WORD(&words[1], "crawl"))
		return refuse(request, "CLIENT_ERROR lru crawler disabled");
	if (IS_WORD(&words[1], "metadump"))
		request->mode = DUMP_KEYS;
	else if (IS_WORD(&words[1], "mgdump"))
		request->mode = DUMP_GETS;
	else
		return refuse(request, "ERROR");
	if (!IS_WORD(&words[2], "all") && !IS_WORD(&words[2], "hash") && !IS_WORD(&words[2], "1"))
		return refuse(request, "BADCLASS invalid class id");
	request->command = COMMAND_DUMP;
	request->delta = UINT64_MAX;
	return PARSED_REQUEST;
}

/* stats [NAME]..., stats cachedump CLASS LIMIT: a belt has one class, and 0 is no limit. */
static enum parsed parse_stats(struct request *request, struct line *line)
{
	const struct word *words = line->words;
	uint32_t class, limit;

	if (line->count < 2 || !IS_WORD(&words[1], "cachedump"))
		return PARSED_REQUEST;
	if (line->count < 4)
		return refuse(request, "CLIENT_ERROR bad command line");
	if (!unsigned_number(&words[2], 0, &class) || !unsigned_number(&words[3], 0, &limit))
		return refuse(request, BAD_LINE);
	if (class > CLASS_MAX)
		return refuse(request, "CLIENT_ERROR Illegal slab id");
	request->command = COMMAND_DUMP;
	request->mode = DUMP_ITEMS;
	request->delta = class != 1 ? 0 : limit ? limit : UINT64_MAX;
	return PARSED_REQUEST;
}

static enum parsed parse_limit(struct request *request, struct line *line)
{
	look_for_noreply(request, line);
	if (line->count < 2)
		return refuse(request, "ERROR");
	return refuse(request, "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
}

static enum parsed parse_watch(struct request *request, struct line *line)
{
	(void)line;
	return refuse(request, "CLIENT_ERROR watch commands not allowed");
}

/* A number behind the letter of a flag. Return: the error, or NULL. */
static const char *flag_number(const struct word *word, uint64_t *number, const char *error)
{
	return parser_number(word->at + 1, word->len - 1, number) ? NULL : error;
}

static const char *flag_seconds(const struct word *word, int64_t *seconds)
{
	return read_time(word, 1, seconds) ? NULL : BAD_FLAG_VALUE;
}

/* The conditions of a touch, which stand together. Return: the error, or NULL. */
static const char *flag_conditions(const struct word *word, uint32_t *how)
{
	const char *end = word->at + word->len, *at;

	for (at = word->at + 1; at < end; at += CONDITION_LEN) {
		const struct word condition = {
			at, end - at < CONDITION_LEN ? end - at : CONDITION_LEN,
		};

		if (!condition_take(&condition, how))
			return BAD_FLAG_VALUE;
	}
	return condition_clash(*how) ? BAD_FLAG_VALUE : NULL;
}

/* The errors that end the search for others: a flag that is unknown, or was there before. */
static const char *check_flag(const struct request *request, char flag)
{
	static const char known[] = "CDEFIJLMNOPRTUbcfhklqstuvx";

	if (flag & 0x80 || (flag && strchr(known, flag) && request->given & meta_bit(flag)))
		return "CLIENT_ERROR duplicate flag";
	if (!flag || !strchr(known, flag) ||
	    (request->command == COMMAND_META_GET ? flag == 'l' || flag == 'h' : flag == 'U'))
		return BAD_FLAG;
	return NULL;
}

/* Takes the argument of a flag. Return: the error, or NULL. */
static const char *take_flag(struct request *request, const struct word *word)
{
	uint64_t version;

	switch (*word->at) {
	case 'b':
		request->key_len = base64_decode(request->key, request->key_len, NULL);
		return request->key_len ? NULL : "CLIENT_ERROR error decoding key";
	case 'N':
		return flag_seconds(word, &request->vivify);
	case 'T':
		return flag_seconds(word, &request->exptime);
	case 'R':
		return flag_seconds(word, &request->recache);
	case 'U':
		return flag_conditions(word, &request->how);
	case 'F':
		return unsigned_number(word, 1, &request->flags) ? NULL : BAD_LINE;
	case 'C':
		return flag_number(word, &request->unique, BAD_FLAG_VALUE);
	case 'E':
		return flag_number(word, &version, BAD_FLAG_VALUE);
	case 'J':
		return flag_number(word, &request->initial,
				   "CLIENT_ERROR invalid numeric initial value");
	case 'D':
		return flag_number(word, &request->delta,
				   "CLIENT_ERROR invalid numeric delta value");
	case 'M':
		request->mode = word->len > 1 ? word->at[1] : ' ';
		return NULL;
	case 'O':
		return word->len <= OPAQUE_MAX ? NULL : bad_opaque;
	default:
		return NULL;
	}
}

/* Takes the flags of a meta command. Return: the error that memcached would name, or NULL. */
static const char *take_flags(struct request *request, const struct line *line, unsigned int first)
{
	const char *error = NULL, *found;
	unsigned int i;

	request->words = line->count > first ? line->words[first].at : line->end;
	request->delta = 1;
	for (i = first; i < line->count; i++) {
		char flag = *line->words[i].at;

		found = check_flag(request, flag);
		if (found)
			return found;
		request->given |= meta_bit(flag);
		found = take_flag(request, &line->words[i]);
		error = found ? found : error;
	}
	request->quiet = request->given & meta_bit('q');
	return error;
}

/* Decodes the key, in its place: only once the whole request is there, and once for each. */
static enum parsed decode(struct request *request, const struct line *line)
{
	const struct word *key = &line->words[1];

	if (request->given & meta_bit('b'))
		base64_decode(key->at, key->len, (char *)key->at);
	return PARSED_REQUEST;
}

/* The checks that the meta commands have in common. Return: an error, or NULL. */
static const char *take_meta(struct request *request, const struct line *line)
{
	if (!take_key(request, &line->words[1]))
		return BAD_LINE;
	return line->count > META_WORDS_MAX ? "CLIENT_ERROR options flags are too long" : NULL;
}

/* Whether mg has one kind of condition for U, and a touch that can depend on it. */
static bool has_condition(const struct request *request)
{
	return request->given & meta_bit('T') &&
	       !(request->given & (meta_bit('N') | meta_bit('R'))) &&
	       !request->how == !!(request->given & meta_bit('C'));
}

/* mg KEY FLAG... */
static enum parsed parse_meta_get(struct request *request, struct line *line)
{
	const char *error = take_meta(request, line);

	if (!error)
		error = take_flags(request, line, 2);
	if (!error && request->given & meta_bit('E'))
		error = BAD_FLAG;
	if (!error && request->given & meta_bit('U') && !has_condition(request))
		error = BAD_FLAG;
	return error ? refuse(request, error) : decode(request, line);
}

/* The command that the mode of ms stands for; REFUSED for none. */
static enum command store_of(const struct request *request)
{
	bool has_unique = request->given & meta_bit('C');

	switch (request->mode) {
	case 'E':
		return COMMAND_ADD;
	case 'A':
		return COMMAND_APPEND;
	case 'P':
		return COMMAND_PREPEND;
	case 'R':
		return has_unique ? COMMAND_CAS : COMMAND_REPLACE;
	case 'S':
	case '\0':
		return has_unique ? COMMAND_CAS : COMMAND_SET;
	default:
		return COMMAND_REFUSED;
	}
}

/* ms KEY BYTES FLAG... */
static enum parsed parse_meta_set(struct request *request, struct line *line)
{
	const char *error = take_meta(request, line);

	if (!error)
		error = take_flags(request, line, 3);
	request->stores = store_of(request);
	if (!error && request->stores == COMMAND_REFUSED)
		error = "CLIENT_ERROR invalid mode for ms M token";
	if (error)
		return refuse(request, error);
	/* A belt makes all versions itself. */
	if (request->given & meta_bit('E'))
		refuse_and_remove(request, BAD_FLAG);
	/* The key of an entry that is removed is needed, too. */
	return decode(request, line);
}

/* md KEY FLAG... */
static enum parsed parse_meta_delete(struct request *request, struct line *line)
{
	const char *error = take_meta(request, line);

	if (error)
		return refuse(request, error);
	error = take_flags(request, line, 2);
	return error ? refuse(request, error) : decode(request, line);
}

/* ma KEY FLAG... */
static enum parsed parse_meta_arithmetic(struct request *request, struct line *line)
{
	enum parsed parsed = parse_meta_delete(request, line);

	/* memcached has one text for all wrong flags of this command but one. */
	if (request->error && request->error != bad_opaque)
		return refuse(request, "CLIENT_ERROR invalid or duplicate flag");
	if (request->error)
		return parsed;
	if (request->given & meta_bit('E'))
		return refuse_and_remove(request, "CLIENT_ERROR invalid or duplicate flag");
	switch (request->mode) {
	case '\0':
	case 'I':
	case '+':
		request->mode = 'I';
		return parsed;
	case 'D':
	case '-':
		request->mode = 'D';
		return parsed;
	default:
		return refuse(request, "CLIENT_ERROR invalid mode for ma M token");
	}
}

/* me KEY [b] */
static enum parsed parse_meta_debug(struct request *request, struct line *line)
{
	if (!take_key(request, &line->words[1]))
		return refuse(request, BAD_LINE);
	if (line->count < 3 || !IS_WORD(&line->words[2], "b"))
		return PARSED_REQUEST;
	request->given = meta_bit('b');
	request->key_len = base64_decode(request->key, request->key_len, NULL);
	return request->key_len ? decode(request, line) : refuse(request, BAD_LINE);
}

/* The most frequent ones come first. */
static const struct syntax commands[] = {
	{ "get", COMMAND_GET, 1, 0, parse_get },
	{ "set", COMMAND_SET, 1, 4, parse_store },
	{ "mg", COMMAND_META_GET, 2, 0, parse_meta_get },
	{ "ms", COMMAND_META_SET, 1, 2, parse_meta_set },
	{ "gets", COMMAND_GETS, 1, 0, parse_get },
	{ "gat", COMMAND_GAT, 3, 0, parse_gat },
	{ "gats", COMMAND_GATS, 3, 0, parse_gat },
	{ "cas", COMMAND_CAS, 1, 4, parse_store },
	{ "add", COMMAND_ADD, 1, 4, parse_store },
	{ "delete", COMMAND_DELETE, 2, 0, parse_delete },
	{ "incr", COMMAND_INCR, 3, 0, parse_arithmetic },
	{ "decr", COMMAND_DECR, 3, 0, parse_arithmetic },
	{ "touch", COMMAND_TOUCH, 3, 0, parse_touch },
	{ "replace", COMMAND_REPLACE, 1, 4, parse_store },
	{ "append", COMMAND_APPEND, 1, 4, parse_store },
	{ "prepend", COMMAND_PREPEND, 1, 4, parse_store },
	{ "md", COMMAND_META_DELETE, 2, 0, parse_meta_delete },
	{ "ma", COMMAND_META_ARITHMETIC, 2, 0, parse_meta_arithmetic },
	{ "mn", COMMAND_META_NOOP, 1, 0, parse_plain },
	{ "me", COMMAND_META_DEBUG, 2, 0, parse_meta_debug },
	{ "version", COMMAND_VERSION, 1, 0, parse_plain },
	{ "stats", COMMAND_STATS, 1, 0, parse_stats },
	{ "flush_all", COMMAND_FLUSH_ALL, 1, 0, parse_flush },
	{ "verbosity", COMMAND_VERBOSITY, 2, 0, parse_verbosity },
	{ "quit", COMMAND_QUIT, 1, 0, parse_plain },
	{ "shutdown", COMMAND_SHUTDOWN, 1, 0, parse_plain },
	{ "bget", COMMAND_GET, 1, 0, parse_get },
	{ "slabs", COMMAND_REFUSED, 1, 0, parse_slabs },
	{ "lru_crawler", COMMAND_REFUSED, 1, 0, parse_crawler },
	{ "cache_memlimit", COMMAND_REFUSED, 1, 0, parse_limit },
	{ "watch", COMMAND_REFUSED, 1, 0, parse_watch },
};

static const struct syntax *find_syntax(const struct word *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const struct syntax *syntax = &commands[i];

		if (*syntax->name == *name->at && is_word(name, syntax->name, strlen(syntax->name)))
			return syntax;
	}
	return NULL;
}

/* Cuts a line into words; of a get, only those that it needs: it may have any number of keys. */
static void split(struct line *line, const struct request *request, const struct syntax *syntax)
{
	bool is_get = syntax && (syntax->parse == parse_get || syntax->parse == parse_gat);
	unsigned int most = is_get ? syntax->least : WORDS_MAX;
	const char *text = request->words;

	while (line->count < most && parser_word(&text, request->words_end,
						 &line->words[line->count]))
		line->count++;
}

static enum parsed parse_line(struct request *request, struct line *line)
{
	const struct syntax *syntax;
	struct word *name = &line->words[0];
	enum parsed parsed;

	if (line->next - request->words < LINE_MIN) {
		/* The one store that is so short has no length of its value, either. */
		if (line->end - request->words == 2 && !memcmp(request->words, "ms", 2))
			return refuse_and_close(request, BAD_LINE);
		return refuse(request, BAD_LINE);
	}
	if (!parser_word(&request->words, line->end, name) || name->len < 2)
		return refuse(request, "ERROR");
	line->count = 1;
	syntax = find_syntax(name);
	split(line, request, syntax);
	if (!syntax) {
		const struct word *last = &line->words[line->count - 1];

		if (!strchr("gmsacidt", *name->at) && last->len >= 5 &&
		    !memcmp(last->at, "HTTP/", 5)) {
			request->error = "it speaks HTTP";
			return PARSED_CLOSE;
		}
		return refuse(request, "ERROR");
	}
	if (line->count < syntax->least)
		return refuse(request, BAD_LINE);
	request->command = syntax->command;
	request->stores = syntax->command;
	if (syntax->length) {
		parsed = take_value(request, line, syntax->length);
		if (parsed == PARSED_PART || line->count <= syntax->length)
			return parsed;
	}
	parsed = syntax->parse(request, line);
	/* A quiet meta command answers errors. */
	if (request->error && syntax->name[0] == 'm')
		request->quiet = false;
	return parsed;
}

/* Whether a line begins as that of a get, which may have any number of keys. */
static bool begins_get(const char *text, size_t len)
{
	static const char * const names[] = { "get ", "gets ", "gat ", "gats " };
	const char *p = text, *end = text + len;
	unsigned int i;

	while (p < end && *p == ' ')
		p++;
	if (p - text > BLANKS_MAX)
		return false;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if ((size_t)(end - p) >= strlen(names[i]) &&
		    !memcmp(p, names[i], strlen(names[i])))
			return true;
	return false;
}

/* The bytes have no end of a line. */
static enum parsed parse_part(const char *text, size_t len, struct request *request)
{
	request->size = len + 1;
	if (len <= PART_MAX || (len <= PARSER_LINE_MAX && begins_get(text, len)))
		return PARSED_PART;
	request->error = "its line is too long";
	return PARSED_CLOSE;
}

/**
 * parser_request() - read the first request
 * @text:	the bytes. A key in base64 is decoded in its place, once the request is whole: then
 *		do not parse these bytes again
 * @len:	their number
 * @value_max:	longest value, bytes
 * @request:	returned: the request; with PARSED_PART, @size alone, which may grow with more
 *		bytes; with PARSED_CLOSE, @error alone
 *
 * Return: PARSED_REQUEST, PARSED_PART or PARSED_CLOSE.
 */
enum parsed parser_request(char *text, size_t len, size_t value_max, struct request *request)
{
	char *newline = memchr(text, '\n', len);
	struct line line;

	memset(request, 0, sizeof(*request));
	if (!newline)
		return parse_part(text, len, request);
	line.count = 0;
	line.next = newline + 1;
	line.after = text + len - line.next;
	line.value_max = value_max;
	line.end = newline - (newline - text > 1 && newline[-1] == '\r');
	request->words = text;
	request->words_end = line.end;
	request->size = line.next - text;
	return parse_line(request, &line);
}

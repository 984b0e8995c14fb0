// SPDX-License-Identifier: GPL-2.0-only
/*
 * dialogue [OPTION]... SOCKET FILE... - hold the dialogues of the files with a server of
 * memcached's protocol, or of that of Redis, and compare its replies to the byte. SOCKET is the
 * path of its unix socket. Prints TAP, a line for each dialogue.
 *
 *	--server NAME	the server is hbserve (the default), memcached-SUITE or redis-SUITE of a
 *			suite of Debian, valkey, or hbserve-redis, with the protocol of Redis
 *	--splits N	send a dialogue in two parts at most N times, split at N places (2000)
 *	--auth TEXT	a user and a password, which the dialogues send themselves
 *	--only NAME	only the dialogues whose name begins with NAME
 *
 * dialogue --requests DIRECTORY FILE... - write the requests of each dialogue to a file, for a
 * fuzzer. Numbers that replies would have set are 0.
 *
 * Each dialogue is held several times, each time on a connection of its own and without values:
 * request by request; in one pipeline; split at each byte into two writes, of which the server has
 * read the first before the second is sent; and byte by byte. At its end comes "mn" or "PING", so a
 * reply too many is a failure like a reply too few.
 *
 * A line of a file is one of these:
 *
 *	= NAME		the beginning of a dialogue
 *	* TEXT | TEXT	there is a dialogue for each of these texts, which stands for $@ in it
 *	> TEXT		the client sends TEXT and CR LF
 *	>> TEXT		the client sends TEXT
 *	< TEXT		the server sends TEXT and CR LF
 *	<: TEXT		the server sends TEXT
 *	<~ TEXT		the server sends any number of lines that begin with TEXT
 *	!closed		the server closes the connection
 *	...		the client waits for all replies, in each way
 *	# TEXT		a remark
 *
 * Letters before one of these signs, such as "h<" or "uh>", say for which servers the line is:
 *
 *	h	hbserve
 *	m	memcached
 *	2 3 u	memcached of Debian 12 (1.6.18), Debian 13 (1.6.38) or unstable (1.6.45)
 *	r	Redis, and Valkey
 *	7 8 x v	Redis of Debian 12 (7.0.15), unstable (8.0.6) or experimental (8.6.3), Valkey 9.1.2
 *
 * Such a line has to follow, in its dialogue, a remark that gives the reason:
 *
 *	# differs: TEXT
 *
 * A sign alone stands for an empty TEXT. In a TEXT, \r \n \t \0 \\ \xNN are bytes, and \{TEXT*N}
 * is that text N times. $$ is a dollar. ${name} is a number that a reply has had before. In a
 * reply, ${name=} is a number of this name, $# any number, $~N the number N or one that is up to 5
 * less, for what is left of N seconds, and $* any text up to the end of the line.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_VARIABLES	16
#define MOST_BYTES	(4 << 20)	/* sent for all places at which a dialogue is split */
#define PATIENCE_MS	30000	/* a server that is silent for so long has failed */

enum token_kind { TEXT, VARIABLE, CAPTURE, NUMBER, AT_MOST, REST, LINES };

/**
 * struct token - a part of what a line of a dialogue says
 * @kind: its meaning
 * @bytes: the text, the name of a variable, the largest number, or the beginning of lines
 * @length: of @bytes
 */
struct token {
	enum token_kind kind;
	const char *bytes;
	size_t length;
};

enum sign { REQUEST, REPLY, BEGINNINGS, CLOSED, WAIT };

/**
 * struct line - a line of a dialogue
 * @sign: its meaning
 * @number: of the line in its file
 * @tokens: its parts
 * @count: of the parts
 */
struct line {
	enum sign sign;
	int number;
	struct token *tokens;
	int count;
};

/**
 * struct dialogue - requests and their replies
 * @name: for the line of TAP
 * @differs: a reason why servers differ has been given
 * @lines: its lines, in order
 * @count: of the lines
 */
struct dialogue {
	char *name;
	bool differs;
	struct line *lines;
	int count;
};

struct buffer {
	char *bytes;
	size_t length, room;
};

enum mode { BY_REQUEST, PIPELINE, SPLIT, BY_BYTE };

/**
 * struct talk - a dialogue that is being held
 * @dialogue: the dialogue
 * @mode: how its requests are sent
 * @split: with SPLIT, the number of bytes in the first part
 * @socket: the connection
 * @sent: the number of bytes that were sent
 * @out: requests that were not yet sent
 * @in: bytes that the server has sent
 * @ended: the server has closed the connection
 * @names: the variables that replies have set
 * @values: their values
 * @variables: their number
 * @wrong: a description of the first failure
 */
struct talk {
	const struct dialogue *dialogue;
	enum mode mode;
	size_t split;
	int socket;
	size_t sent;
	struct buffer out, in;
	bool ended;
	const char *names[MAX_VARIABLES];
	char values[MAX_VARIABLES][24];
	int variables;
	char wrong[2000];
};

static const char *path, *auth, *requests, *only = "";
static const char *letters = "h";	/* that the lines for the server have */
static bool is_redis;
static size_t most_splits = 2000;
static int checks, failures;

static void *or_die(void *memory)
{
	if (!memory) {
		printf("Bail out! no memory\n");
		exit(1);
	}
	return memory;
}

static void append(struct buffer *buffer, const char *bytes, size_t length)
{
	if (buffer->length + length > buffer->room) {
		buffer->room = 2 * (buffer->length + length);
		buffer->bytes = or_die(realloc(buffer->bytes, buffer->room));
	}
	memcpy(buffer->bytes + buffer->length, bytes, length);
	buffer->length += length;
}

/* Lines of a file */

static void bad_line(const char *file, int number, const char *what)
{
	printf("Bail out! %s:%d: %s\n", file, number, what);
	exit(1);
}

/**
 * escape() - append the byte or the repeated text of an escape
 * @text: the text behind the backslash
 * @out: the bytes are appended here
 *
 * Return: what follows the escape, or NULL if it is wrong.
 */
static const char *escape(const char *text, struct buffer *out)
{
	static const char names[] = "rnt0\\", bytes[] = "\r\n\t\0\\";
	const char *name = *text ? strchr(names, *text) : NULL, *star;
	char *end, byte;
	long times;

	if (name) {
		append(out, bytes + (name - names), 1);
		return text + 1;
	}
	if (*text == 'x' && isxdigit(text[1]) && isxdigit(text[2])) {
		char digits[3] = { text[1], text[2], 0 };

		byte = strtol(digits, NULL, 16);
		append(out, &byte, 1);
		return text + 3;
	}
	star = strchr(text, '*');
	if (*text != '{' || !star)
		return NULL;
	for (times = strtol(star + 1, &end, 10); times > 0; times--)
		append(out, text + 1, star - text - 1);
	return *end == '}' ? end + 1 : NULL;
}

static void add_token(struct line *line, enum token_kind kind, const char *bytes, size_t length)
{
	char *copy = or_die(calloc(1, length + 1));

	memcpy(copy, bytes, length);
	line->tokens = or_die(realloc(line->tokens, (line->count + 1) * sizeof(*line->tokens)));
	line->tokens[line->count++] = (struct token){ kind, copy, length };
}

static void add_text(struct line *line, struct buffer *text)
{
	if (text->length)
		add_token(line, TEXT, text->bytes, text->length);
	text->length = 0;
}

/**
 * special() - add the token of a text that begins with a dollar
 * @text: the text behind the dollar
 * @line: the token is added here
 *
 * Return: what follows, or NULL if it is wrong.
 */
static const char *special(const char *text, struct line *line)
{
	size_t length = strcspn(text, "}");

	if (*text == '~') {
		length = strspn(text + 1, "0123456789");
		add_token(line, AT_MOST, text + 1, length);
		return text + 1 + length;
	}
	if (*text == '$')
		add_token(line, TEXT, "$", 1);
	else if (*text == '#')
		add_token(line, NUMBER, "", 0);
	else if (*text == '*')
		add_token(line, REST, "", 0);
	else if (*text != '{' || text[length] != '}')
		return NULL;
	else if (text[length - 1] == '=')
		add_token(line, CAPTURE, text + 1, length - 2);
	else
		add_token(line, VARIABLE, text + 1, length - 1);
	return *text == '{' ? text + length + 1 : text + 1;
}

/* tokenize() - turn TEXT into tokens, and @end into one more. Return: false if TEXT is wrong. */
static bool tokenize(const char *text, const char *end, struct line *line)
{
	struct buffer bytes = { 0 };

	while (text && *text) {
		if (*text == '\\') {
			text = escape(text + 1, &bytes);
		} else if (*text == '$') {
			add_text(line, &bytes);
			text = special(text + 1, line);
		} else {
			append(&bytes, text++, 1);
		}
	}
	append(&bytes, end, strlen(end));
	add_text(line, &bytes);
	free(bytes.bytes);
	return text;
}

/* Signs, the longer of two first. */
static const struct {
	const char *sign;
	enum sign kind;
	const char *end;
} signs[] = {
	{ ">> ", REQUEST, "" },	 { "> ", REQUEST, "\r\n" }, { "<~ ", BEGINNINGS, "" },
	{ "<: ", REPLY, "" },	 { "< ", REPLY, "\r\n" },  { "!closed", CLOSED, "" },
	{ "...", WAIT, "" },
};

/* add_line() - add a line to a dialogue. Return: what is wrong with the line, or NULL. */
static const char *add_line(struct dialogue *dialogue, const char *text, int number)
{
	size_t i, length = 0;
	struct line line = { .number = number };
	const char *whom = text;
	size_t named = strspn(text, "hm23ur78xv");

	text += named;
	for (i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		length = strlen(signs[i].sign);
		if (!strncmp(text, signs[i].sign, length))
			break;
		/* Editors remove the blank at the end of an empty text. */
		if (!text[1] && !strncmp(text, signs[i].sign, --length))
			break;
	}
	if (i == sizeof(signs) / sizeof(*signs))
		return "no such sign";
	if (named && !dialogue->differs)
		return "no reason (# differs: ...) why the servers differ";
	if (named && strcspn(whom, letters) >= named)
		return NULL;
	line.sign = signs[i].kind;
	if (!tokenize(text + length, signs[i].end, &line))
		return "a wrong escape";
	if (line.sign == BEGINNINGS) {
		line.tokens[0].kind = LINES;
		line.sign = REPLY;
	}
	dialogue->lines =
		or_die(realloc(dialogue->lines, (dialogue->count + 1) * sizeof(*dialogue->lines)));
	dialogue->lines[dialogue->count++] = line;
	return NULL;
}

/* Talking */

__attribute__((format(printf, 2, 3))) static bool fail(struct talk *talk, const char *format, ...)
{
	va_list arguments;

	if (talk->wrong[0])
		return false;
	va_start(arguments, format);
	vsnprintf(talk->wrong, sizeof(talk->wrong), format, arguments);
	va_end(arguments);
	return false;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000L + now.tv_nsec / 1000000;
}

/* connect_to() - Return: a connection with the server, or -1. */
static int connect_to(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long deadline = now_ms() + PATIENCE_MS;

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		/* A server that starts has bound its socket before it listens. */
		if (errno != ECONNREFUSED || now_ms() > deadline) {
			close(fd);
			return -1;
		}
		sched_yield();
	}
	return fd;
}

/* receive() - read what the server sends, and wait for it. Return: false if it sends nothing. */
static bool receive(struct talk *talk)
{
	struct pollfd poller = { .fd = talk->socket, .events = POLLIN };
	char bytes[65536];
	ssize_t length;

	if (poll(&poller, 1, PATIENCE_MS) <= 0)
		return fail(talk, "the server sends no more");
	length = recv(talk->socket, bytes, sizeof(bytes), 0);
	if (length <= 0)
		talk->ended = true;
	else
		append(&talk->in, bytes, length);
	return true;
}

/* drain() - wait until the server has read all that was sent. */
static bool drain(struct talk *talk)
{
	long deadline = now_ms() + PATIENCE_MS;
	int unread;

	while (!ioctl(talk->socket, SIOCOUTQ, &unread) && unread) {
		struct pollfd poller = { .fd = talk->socket, .events = POLLIN };

		if (now_ms() > deadline)
			return fail(talk, "the server does not read %d bytes", unread);
		if (poll(&poller, 1, 0) > 0 && !talk->ended)
			receive(talk);
		sched_yield();
	}
	return true;
}

/* put() - send bytes; what a server that has closed the connection does not take is lost. */
static bool put(struct talk *talk, const char *bytes, size_t length)
{
	while (length) {
		struct pollfd poller = { .fd = talk->socket, .events = POLLIN | POLLOUT };
		ssize_t done = send(talk->socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (done >= 0) {
			bytes += done;
			length -= done;
			talk->sent += done;
			continue;
		}
		if (errno != EAGAIN || talk->ended)
			return true;
		if (poll(&poller, 1, PATIENCE_MS) <= 0)
			return fail(talk, "the server does not read");
		if ((poller.revents & ~POLLOUT) && !receive(talk))
			return false;
	}
	return true;
}

/* flush() - send the requests in the way of the mode. */
static bool flush(struct talk *talk)
{
	const char *bytes = talk->out.bytes;
	size_t length = talk->out.length, i;
	size_t first = talk->split - talk->sent;

	talk->out.length = 0;
	if (talk->mode == BY_BYTE) {
		for (i = 0; i < length; i++)
			if (!put(talk, bytes + i, 1) || !drain(talk))
				return false;
		return true;
	}
	if (talk->mode == SPLIT && talk->split > talk->sent && first < length)
		return put(talk, bytes, first) && drain(talk) &&
		       put(talk, bytes + first, length - first);
	return put(talk, bytes, length);
}

static const char *variable(const struct talk *talk, const char *name)
{
	int i;

	for (i = talk->variables - 1; i >= 0; i--)
		if (!strcmp(talk->names[i], name))
			return talk->values[i];
	return NULL;
}

enum match { MATCHES, LACKS, DIFFERS };

/**
 * match_bytes() - compare bytes with what the server has sent
 * @in: bytes that it has sent
 * @at: from here on; moved behind the bytes if they are there
 * @bytes: the bytes
 * @length: their number
 */
static enum match match_bytes(const struct buffer *in, size_t *at, const char *bytes, size_t length)
{
	size_t there = in->length - *at;
	size_t both = there < length ? there : length;

	if (both && memcmp(in->bytes + *at, bytes, both))
		return DIFFERS;
	if (there < length)
		return LACKS;
	*at += length;
	return MATCHES;
}

/* match_number() - likewise with a number, which gets the name of @token if that is a CAPTURE. */
static enum match match_number(struct talk *talk, const struct token *token, size_t *at)
{
	size_t end = *at, length;

	while (end < talk->in.length && isdigit((unsigned char)talk->in.bytes[end]))
		end++;
	if (end == talk->in.length)
		return LACKS;
	length = end - *at;
	if (!length || length > 20)
		return DIFFERS;
	if (token->kind == AT_MOST &&
	    strtoull(token->bytes, NULL, 10) - strtoull(talk->in.bytes + *at, NULL, 10) > 5)
		return DIFFERS;
	if (token->kind == CAPTURE) {
		int i = talk->variables++ % MAX_VARIABLES;

		talk->names[i] = token->bytes;
		memcpy(talk->values[i], talk->in.bytes + *at, length);
		talk->values[i][length] = '\0';
	}
	*at = end;
	return MATCHES;
}

/* match_lines() - likewise with any number of lines that begin with the bytes of @token. */
static enum match match_lines(const struct buffer *in, const struct token *token, size_t *at)
{
	for (;;) {
		size_t begin = *at;
		enum match match = match_bytes(in, &begin, token->bytes, token->length);
		char *end;

		if (match == DIFFERS)
			return MATCHES;
		if (match == LACKS)
			return LACKS;
		end = memmem(in->bytes + begin, in->length - begin, "\r\n", 2);
		if (!end)
			return LACKS;
		*at = end + 2 - in->bytes;
	}
}

static enum match match_token(struct talk *talk, const struct token *token, size_t *at)
{
	const char *value;
	char *end;

	switch (token->kind) {
	case TEXT:
		return match_bytes(&talk->in, at, token->bytes, token->length);
	case VARIABLE:
		value = variable(talk, token->bytes);
		return value ? match_bytes(&talk->in, at, value, strlen(value)) : DIFFERS;
	case CAPTURE:
	case NUMBER:
	case AT_MOST:
		return match_number(talk, token, at);
	case LINES:
		return match_lines(&talk->in, token, at);
	case REST:
		end = talk->in.length == *at ?
			      NULL :
			      memchr(talk->in.bytes + *at, '\r', talk->in.length - *at);
		if (!end)
			return LACKS;
		*at = end - talk->in.bytes;
	}
	return MATCHES;
}

/* show() - write bytes to a text that people can read, at most 200 of them. */
static void show(char *text, const char *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length && i < 200; i++) {
		unsigned char byte = bytes[i];

		text += byte == '\r'  ? sprintf(text, "\\r") :
			byte == '\n'  ? sprintf(text, "\\n") :
			isprint(byte) ? sprintf(text, "%c", byte) :
					sprintf(text, "\\x%02x", byte);
	}
	strcpy(text, i < length ? "..." : "");
}

static bool mismatch(struct talk *talk, int number, size_t begin, const char *what)
{
	char found[900] = "";

	if (talk->in.length > begin)
		show(found, talk->in.bytes + begin, talk->in.length - begin);
	return fail(talk, "line %d: %s, found: %s%s", number, what, found,
		    talk->ended ? " (closed)" : "");
}

/* expect() - wait for the reply that a line describes. */
static bool expect(struct talk *talk, const struct line *line, size_t *at)
{
	size_t begin = *at;
	int i = 0;

	while (i < line->count) {
		size_t here = *at;

		switch (match_token(talk, &line->tokens[i], &here)) {
		case MATCHES:
			*at = here;
			i++;
			break;
		case DIFFERS:
			return mismatch(talk, line->number, begin, "expected that line");
		case LACKS:
			if (talk->ended || !receive(talk))
				return mismatch(talk, line->number, begin, "expected more");
		}
	}
	return true;
}

static bool expect_end(struct talk *talk, const struct line *line, size_t *at)
{
	while (!talk->ended && talk->in.length == *at)
		if (!receive(talk))
			return false;
	return talk->in.length == *at ||
	       mismatch(talk, line->number, *at, "expected that the server closes");
}

/* request() - append the bytes of a request. Return: false if they need a reply first. */
static bool request(struct talk *talk, const struct line *line)
{
	size_t length = talk->out.length;
	int i;

	for (i = 0; i < line->count; i++) {
		const struct token *token = &line->tokens[i];
		const char *value;

		if (token->kind != VARIABLE) {
			append(&talk->out, token->bytes, token->length);
			continue;
		}
		value = variable(talk, token->bytes);
		if (!value) {
			talk->out.length = length;
			return false;
		}
		append(&talk->out, value, strlen(value));
	}
	return true;
}

/* expect_until() - send the requests, and wait for the replies before line @end. */
static bool expect_until(struct talk *talk, int *replied, int end, size_t *at)
{
	if (!flush(talk))
		return false;
	for (; *replied < end; ++*replied) {
		const struct line *line = &talk->dialogue->lines[*replied];

		if (line->sign == REPLY && !expect(talk, line, at))
			return false;
		if (line->sign == CLOSED && !expect_end(talk, line, at))
			return false;
	}
	return true;
}

/* exchange() - send all requests, and wait for all replies. */
static bool exchange(struct talk *talk)
{
	const char *ping = is_redis ? "PING\r\n" : "mn\r\n";
	const char *pong = is_redis ? "+PONG\r\n" : "MN\r\n";
	struct token last = { TEXT, pong, strlen(pong) };
	const struct dialogue *dialogue = talk->dialogue;
	int number = dialogue->lines[dialogue->count - 1].number;
	bool stays = dialogue->lines[dialogue->count - 1].sign != CLOSED;
	struct line end = { REPLY, number, &last, 1 };
	int i, replied = 0;
	size_t at = 0;

	for (i = 0; i < dialogue->count; i++) {
		const struct line *line = &dialogue->lines[i];
		bool turns = i && dialogue->lines[i - 1].sign == REPLY && talk->mode == BY_REQUEST;

		if (line->sign == WAIT)
			turns = true;
		else if (line->sign != REQUEST)
			continue;
		if (turns && !expect_until(talk, &replied, i, &at))
			return false;
		if (!request(talk, line) &&
		    !(expect_until(talk, &replied, i, &at) && request(talk, line)))
			return fail(talk, "line %d: a variable is not set", line->number);
	}
	if (stays)
		append(&talk->out, ping, strlen(ping));
	if (!expect_until(talk, &replied, dialogue->count, &at))
		return false;
	if (stays && !expect(talk, &end, &at))
		return false;
	return at == talk->in.length || mismatch(talk, number, at, "expected no more");
}

/* ask() - send a request whose reply has to be another text. Return: whether it is. */
static bool ask(int fd, const char *sent, const char *right)
{
	char reply[16];
	size_t length = strlen(right);

	return send(fd, sent, strlen(sent), MSG_NOSIGNAL) == (ssize_t)strlen(sent) &&
	       recv(fd, reply, length, MSG_WAITALL) == (ssize_t)length &&
	       !memcmp(reply, right, length);
}

/* forget() - remove all values, by a connection of this program's own. */
static bool forget(struct talk *talk)
{
	static int control = -1;
	char text[256];

	if (is_redis) {
		control = control < 0 ? connect_to() : control;
		snprintf(text, sizeof(text), "AUTH %s\r\n", auth ? auth : "");
		if (auth && !ask(control, text, "+OK\r\n"))
			return fail(talk, "the password of --auth is refused");
		return ask(control, "FLUSHALL\r\n", "+OK\r\n") || fail(talk, "FLUSHALL fails");
	}
	if (control < 0) {
		control = connect_to();
		snprintf(text, sizeof(text), "set k 0 0 %zu\r\n%s\r\n", auth ? strlen(auth) : 0,
			 auth);
		if (auth && !ask(control, text, "STORED\r\n"))
			return fail(talk, "the password of --auth is refused");
	}
	return ask(control, "flush_all\r\n", "OK\r\n") || fail(talk, "flush_all fails");
}

/* hold() - hold a dialogue on a connection of its own. Return: whether all replies are right. */
static bool hold(struct talk *talk)
{
	if (!forget(talk)) {
		printf("# %s\nBail out! the server is not there\n", talk->wrong);
		exit(1);
	}
	talk->socket = connect_to();
	if (talk->socket < 0)
		return fail(talk, "cannot connect: %s", strerror(errno));
	talk->sent = 0;
	talk->out.length = 0;
	talk->in.length = 0;
	talk->variables = 0;
	talk->ended = false;
	exchange(talk);
	close(talk->socket);
	return !talk->wrong[0];
}

/* hold_split() - hold a dialogue of @length bytes in two parts, once for each place. */
static void hold_split(struct talk *talk, size_t length)
{
	size_t most = MOST_BYTES / length, places = length - 1, i;

	if (most > most_splits)
		most = most_splits;
	if (places > most)
		places = most;
	talk->mode = SPLIT;
	for (i = 0; i < places && !talk->wrong[0]; i++) {
		talk->split = 1 + i * (length - 1) / places;
		if (!hold(talk))
			printf("# sent in two parts, the first of %zu bytes:\n", talk->split);
	}
}

/* write_requests() - write the requests of a dialogue to a file of the directory. */
static void write_requests(const struct dialogue *dialogue)
{
	static const char head[] = { 40, 0 }; /* connection_fuzz splits the rest here */
	char name[4096];
	FILE *file;
	int i, j;

	snprintf(name, sizeof(name), "%s/dialogue-%d", requests, ++checks);
	file = fopen(name, "w");
	if (!file)
		bad_line(name, 0, strerror(errno));
	fwrite(head, sizeof(head), 1, file);
	for (i = 0; i < dialogue->count; i++) {
		const struct line *line = &dialogue->lines[i];

		for (j = 0; line->sign == REQUEST && j < line->count; j++) {
			const struct token *token = &line->tokens[j];

			if (token->kind == VARIABLE)
				fputc('0', file);
			else
				fwrite(token->bytes, token->length, 1, file);
		}
	}
	fclose(file);
}

/* check() - hold a dialogue in each way. */
static void check(const char *file, const struct dialogue *dialogue)
{
	struct talk talk = { .dialogue = dialogue };
	size_t length;

	if (!dialogue->name || strncmp(dialogue->name, only, strlen(only)))
		return;
	if (requests) {
		write_requests(dialogue);
		return;
	}
	if (!hold(&talk))
		printf("# request by request:\n");
	length = talk.sent;
	if (!talk.wrong[0]) {
		talk.mode = PIPELINE;
		if (!hold(&talk))
			printf("# all in one pipeline:\n");
	}
	if (!talk.wrong[0])
		hold_split(&talk, length);
	if (!talk.wrong[0] && length <= most_splits) {
		talk.mode = BY_BYTE;
		if (!hold(&talk))
			printf("# byte by byte:\n");
	}
	if (talk.wrong[0]) {
		printf("# %s: %s\n", file, talk.wrong);
		failures++;
	}
	printf("%sok %d - %s\n", talk.wrong[0] ? "not " : "", ++checks, dialogue->name);
	fflush(stdout);
	free(talk.out.bytes);
	free(talk.in.bytes);
}

#define MAX_LINES	400
#define MAX_ROWS	80

/**
 * struct source - the lines of a dialogue in its file
 * @name: behind the equals sign; NULL before the first dialogue
 * @lines: the other lines
 * @numbers: of the lines in the file
 * @count: of the lines
 * @rows: the texts that stand for $@
 * @row_count: of the texts
 */
struct source {
	char *name;
	char *lines[MAX_LINES];
	int numbers[MAX_LINES];
	int count;
	char *rows[MAX_ROWS];
	int row_count;
};

/* with_row() - Return: a copy of the text, with @row in the place of each $@. */
static char *with_row(const char *text, const char *row)
{
	struct buffer out = { 0 };
	const char *at;

	for (; row && (at = strstr(text, "$@")); text = at + 2) {
		append(&out, text, at - text);
		append(&out, row, strlen(row));
	}
	append(&out, text, strlen(text) + 1);
	return out.bytes;
}

/* hold_row() - hold the dialogue of these lines; @row: what stands for $@, or NULL. */
static void hold_row(const char *file, const struct source *source, const char *row)
{
	char name[200];
	struct dialogue dialogue = { .name = name };
	const char *wrong;
	int i;

	snprintf(name, sizeof(name), row ? "%s: %s" : "%s", source->name, row);
	for (i = 0; i < source->count; i++) {
		const char *line = source->lines[i];

		if (!strncmp(line, "# differs: ", 11))
			dialogue.differs = true;
		if (*line == '#')
			continue;
		wrong = add_line(&dialogue, with_row(line, row), source->numbers[i]);
		if (wrong)
			bad_line(file, source->numbers[i], wrong);
	}
	check(file, &dialogue);
}

/* hold_all() - hold the dialogues of these lines, and forget the lines. */
static void hold_all(const char *file, struct source *source)
{
	int i;

	for (i = 0; i < source->row_count; i++)
		hold_row(file, source, source->rows[i]);
	if (source->name && !source->row_count)
		hold_row(file, source, NULL);
	*source = (struct source){ 0 };
}

/* add_rows() - add the texts between the bars. Return: what is wrong, or NULL. */
static const char *add_rows(struct source *source, char *text)
{
	char *bar;

	for (; text; text = bar ? bar + 3 : NULL) {
		bar = strstr(text, " | ");
		if (bar)
			*bar = '\0';
		if (source->row_count == MAX_ROWS)
			return "too many texts";
		source->rows[source->row_count++] = text;
	}
	return NULL;
}

/* read_file() - hold the dialogues of a file. */
static void read_file(const char *file)
{
	static struct source source;
	FILE *stream = fopen(file, "r");
	const char *wrong = NULL;
	char *line = NULL;
	size_t room = 0;
	ssize_t length;
	int number = 0;

	if (!stream)
		bad_line(file, 0, strerror(errno));
	while (!wrong && (length = getline(&line, &room, stream)) > 0) {
		number++;
		if (line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (!strncmp(line, "= ", 2)) {
			hold_all(file, &source);
			source.name = or_die(strdup(line + 2));
		} else if (!strncmp(line, "* ", 2)) {
			wrong = add_rows(&source, or_die(strdup(line + 2)));
		} else if (*line && source.count == MAX_LINES) {
			wrong = "too many lines";
		} else if (*line) {
			source.numbers[source.count] = number;
			source.lines[source.count++] = or_die(strdup(line));
		}
	}
	if (wrong)
		bad_line(file, number, wrong);
	hold_all(file, &source);
	free(line);
	fclose(stream);
}

/* letters_of() - Return: the letters of a server, or NULL if there is no such server. */
static const char *letters_of(const char *server)
{
	static const char * const servers[][2] = {
		{ "hbserve", "h" },
		{ "hbserve-redis", "h" },
		{ "redis-bookworm", "r7" },
		{ "redis-sid", "r8" },
		{ "redis-experimental", "rx" },
		{ "valkey", "rv" },
		{ "memcached-bookworm", "m2" },
		{ "memcached-trixie", "m3" },
		{ "memcached-sid", "mu" },
	};
	size_t i;

	for (i = 0; i < sizeof(servers) / sizeof(*servers); i++)
		if (!strcmp(servers[i][0], server)) {
			is_redis = strstr(server, "redis") || !strcmp(server, "valkey");
			return servers[i][1];
		}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "server", required_argument, NULL, 's' },
						 { "splits", required_argument, NULL, 'n' },
						 { "auth", required_argument, NULL, 'a' },
						 { "requests", required_argument, NULL, 'r' },
						 { "only", required_argument, NULL, 'o' },
						 { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 's')
			letters = letters_of(optarg);
		else if (option == 'n')
			most_splits = strtoul(optarg, NULL, 10);
		else if (option == 'a')
			auth = optarg;
		else if (option == 'r')
			requests = optarg;
		else if (option == 'o')
			only = optarg;
		else
			return 2;
	}
	if (!letters || argc - optind < 2 - !!requests) {
		fprintf(stderr, "usage: dialogue [OPTION]... SOCKET FILE...\n");
		return 2;
	}
	if (!requests)
		path = argv[optind++];
	while (optind < argc)
		read_file(argv[optind++]);
	if (!requests)
		printf("1..%d\n", checks);
	return failures > 0;
}

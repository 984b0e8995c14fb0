// SPDX-License-Identifier: GPL-2.0-only
/*
 * The URL of an engine. Redis:
 *
 *	redis://[USER@]HOST[:PORT][/DB][?prefix=P[&prefix=Q]]
 *	rediss://...					the same with TLS
 *	redis+unix:///PATH[?prefix=P]
 *
 * and of PostgreSQL what libpq takes. Redis tells changed keys of all databases alike: the number
 * of a database is allowed, and means nothing.
 */
#include <ctype.h>
#include <libpq-fe.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "array_size.h"
#include "target.h"

#define DEFAULT_HOST	"localhost"
#define DEFAULT_PORT	"6379"

#define NO_PASSWORD \
	"the URL has a password, which all users of the machine could see: write it to a file of mode 0600, and give --password-file"

/* Notes a problem. Return: false. */
__attribute__((format(printf, 2, 3)))
static bool wrong(char *problem, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(problem, TARGET_PROBLEM_SIZE, format, args);
	va_end(args);
	return false;
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* Decodes %XX. Return: a copy with a zero byte behind it; NULL if an escape is wrong. */
static char *decode(const char *text, size_t len, size_t *decoded)
{
	char *copy = malloc(len + 1), *to = copy;
	size_t i;

	for (i = 0; copy && i < len; i++) {
		if (text[i] != '%') {
			*to++ = text[i];
			continue;
		}
		if (i + 2 >= len || !isxdigit((unsigned char)text[i + 1]) ||
		    !isxdigit((unsigned char)text[i + 2])) {
			free(copy);
			return NULL;
		}
		*to++ = hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]);
		i += 2;
	}
	if (copy) {
		*to = '\0';
		*decoded = to - copy;
	}
	return copy;
}

/* Decodes a part that is a text: it has no zero byte. */
static bool take(char **member, const char *text, size_t len, const char *what, char *problem)
{
	size_t decoded;

	*member = decode(text, len, &decoded);
	if (*member && strlen(*member) == decoded)
		return true;
	return wrong(problem, "the %s of the URL, '%.*s', has a wrong escape: it is %%XX", what,
		     (int)len, text);
}

static bool begins(const struct target_prefix *text, const struct target_prefix *with)
{
	return text->len >= with->len && !memcmp(text->bytes, with->bytes, with->len);
}

/* Redis refuses prefixes that overlap, with an error that would come back at each attempt. */
static bool add_prefix(struct target *target, const char *text, size_t len, char *problem)
{
	struct target_prefix *prefixes, *added;
	size_t i;

	prefixes = realloc(target->prefixes, (target->prefix_count + 1) * sizeof(*prefixes));
	if (!prefixes)
		return wrong(problem, "there is no memory for the prefixes");
	target->prefixes = prefixes;
	added = &prefixes[target->prefix_count];
	added->bytes = decode(text, len, &added->len);
	if (!added->bytes)
		return wrong(problem, "prefix '%.*s' has a wrong escape: it is %%XX", (int)len,
			     text);
	target->prefix_count++;
	for (i = 0; i + 1 < target->prefix_count; i++)
		if (begins(added, &prefixes[i]) || begins(&prefixes[i], added))
			return wrong(problem,
				     "one prefix begins with another: give the shorter one alone");
	return true;
}

static bool parse_query(struct target *target, const char *query, char *problem)
{
	size_t len;

	for (; *query; query += len + (query[len] == '&')) {
		len = strcspn(query, "&");
		if (strncmp(query, "prefix=", 7))
			return wrong(problem,
				     "'%.*s' is not 'prefix=P', which may stand behind '?'",
				     (int)len, query);
		if (!add_prefix(target, query + 7, len - 7, problem))
			return false;
	}
	return true;
}

static bool is_number(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len && isdigit((unsigned char)text[i]); i++)
		;
	return len && i == len;
}

static bool take_port(struct target *target, const char *port, size_t len, char *problem)
{
	if (!is_number(port, len) || len > 5 || atoi(port) < 1 || atoi(port) > 65535)
		return wrong(problem, "'%.*s' is not a port from 1 to 65535", (int)len, port);
	return take(&target->port, port, len, "port", problem);
}

/* Reads HOST[:PORT] or [ADDRESS][:PORT]. */
static bool parse_host(struct target *target, const char *text, size_t len, char *problem)
{
	const char *host = text, *rest;
	size_t host_len;

	if (len && *text == '[') {
		rest = memchr(text, ']', len);
		if (!rest)
			return wrong(problem, "the URL has a '[' without ']'");
		host++;
		host_len = rest++ - host;
	} else {
		rest = memchr(text, ':', len);
		rest = rest ? rest : text + len;
		host_len = rest - host;
	}
	if (!host_len)
		host = DEFAULT_HOST, host_len = strlen(host);
	if (!take(&target->host, host, host_len, "host", problem))
		return false;
	if (rest == text + len)
		return take_port(target, DEFAULT_PORT, strlen(DEFAULT_PORT), problem);
	if (*rest != ':')
		return wrong(problem, "'%.*s' is not ':PORT'", (int)(text + len - rest), rest);
	return take_port(target, rest + 1, text + len - rest - 1, problem);
}

/* Reads [USER@]HOST[:PORT][/DB], @len bytes. */
static bool parse_place(struct target *target, const char *text, size_t len, char *problem)
{
	const char *slash = memchr(text, '/', len), *at;
	size_t place = slash ? (size_t)(slash - text) : len;

	if (slash && slash + 1 < text + len && !is_number(slash + 1, len - place - 1))
		return wrong(problem, "'%.*s' is not the number of a database",
			     (int)(len - place - 1), slash + 1);
	at = memrchr(text, '@', place);
	if (at) {
		if (memchr(text, ':', at - text))
			return wrong(problem, "%s", NO_PASSWORD);
		if (at != text && !take(&target->user, text, at - text, "user", problem))
			return false;
		place -= at + 1 - text;
		text = at + 1;
	}
	return parse_host(target, text, place, problem);
}

static bool parse_redis(struct target *target, const char *rest, bool is_unix, char *problem)
{
	size_t len = strcspn(rest, "?");

	target->kind = TARGET_REDIS;
	if (is_unix && (*rest != '/' || len < 2))
		return wrong(problem, "a unix socket is redis+unix:///PATH, with three slashes");
	if (is_unix && !take(&target->path, rest, len, "path", problem))
		return false;
	if (is_unix && strlen(target->path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return wrong(problem, "the path of a unix socket has at most %zu bytes",
			     sizeof(((struct sockaddr_un *)0)->sun_path) - 1);
	if (!is_unix && !parse_place(target, rest, len, problem))
		return false;
	return !rest[len] || parse_query(target, rest + len + 1, problem);
}

/* libpq reads all; it must have no password. */
static bool parse_postgresql(struct target *target, const char *text, char *problem)
{
	PQconninfoOption *all, *one;
	char *error = NULL;
	bool secret = false;

	target->kind = TARGET_POSTGRESQL;
	target->conninfo = text;
	all = PQconninfoParse(text, &error);
	if (!all) {
		wrong(problem, "libpq cannot read the URL: %.*s",
		      error ? (int)strcspn(error, "\n") : 9, error ? error : "no memory");
		PQfreemem(error);
		return false;
	}
	for (one = all; one->keyword; one++)
		secret |= one->val && (!strcmp(one->keyword, "password") ||
				       !strcmp(one->keyword, "sslpassword"));
	PQconninfoFree(all);
	return !secret || wrong(problem, "%s", NO_PASSWORD);
}

/**
 * target_parse() - read a URL
 * @target:	returned: the engine, to be freed by target_free(), after an error as well
 * @url:	the URL; has to stay
 * @problem:	returned after an error: a sentence, TARGET_PROBLEM_SIZE bytes
 *
 * Return: whether it is right.
 */
bool target_parse(struct target *target, const char *url, char *problem)
{
	static const struct {
		const char *scheme;
		bool tls;
		bool is_unix;
	} schemes[] = {
		{ "redis://", false, false }, { "rediss://", true, false },
		{ "redis+unix://", false, true }, { "valkey://", false, false },
		{ "valkeys://", true, false }, { "valkey+unix://", false, true },
	};
	size_t i, len;

	*target = (struct target){ 0 };
	for (i = 0; i < ARRAY_SIZE(schemes); i++) {
		len = strlen(schemes[i].scheme);
		if (strncmp(url, schemes[i].scheme, len))
			continue;
		target->tls = schemes[i].tls;
		return parse_redis(target, url + len, schemes[i].is_unix, problem);
	}
	if (!strncmp(url, "postgresql://", 13) || !strncmp(url, "postgres://", 11) ||
	    (!strstr(url, "://") && strchr(url, '=')))
		return parse_postgresql(target, url, problem);
	return wrong(problem,
		     "'%.60s' is not redis://..., rediss://..., redis+unix://... or postgresql://...",
		     url);
}

/**
 * target_free() - free what target_parse() made
 * @target:	the engine
 */
void target_free(struct target *target)
{
	size_t i;

	for (i = 0; i < target->prefix_count; i++)
		free(target->prefixes[i].bytes);
	free(target->prefixes);
	free(target->user);
	free(target->host);
	free(target->port);
	free(target->path);
	*target = (struct target){ 0 };
}

// SPDX-License-Identifier: GPL-2.0-only
/* target_test - URLs of engines are read, and wrong ones are refused. */
#include "../device/tap.h"
#include "array_size.h"
#include "target.h"

static struct target target;
static char problem[TARGET_PROBLEM_SIZE];

static bool parse(const char *url)
{
	target_free(&target);
	*problem = '\0';
	return target_parse(&target, url, problem);
}

static bool same(const char *got, const char *want)
{
	return want ? got && !strcmp(got, want) : !got;
}

static bool has_prefix(size_t number, const char *bytes, size_t len)
{
	return number < target.prefix_count && target.prefixes[number].len == len &&
	       !memcmp(target.prefixes[number].bytes, bytes, len);
}

static const struct right {
	const char *url;
	const char *user;
	const char *host;
	const char *port;
	const char *path;
	bool tls;
	size_t prefixes;
} rights[] = {
	{ "redis://db", .host = "db", .port = "6379" },
	{ "redis://", .host = "localhost", .port = "6379" },
	{ "redis:///", .host = "localhost", .port = "6379" },
	{ "redis://:7000", .host = "localhost", .port = "7000" },
	{ "redis://db:1/15", .host = "db", .port = "1" },
	{ "redis://db?prefix=page:", .host = "db", .port = "6379", .prefixes = 1 },
	{ "redis://db/0?prefix=a&prefix=b&prefix=c", .host = "db", .port = "6379", .prefixes = 3 },
	{ "redis://db/?", .host = "db", .port = "6379" },
	{ "rediss://u@[::1]:65535/", .user = "u", .host = "::1", .port = "65535", .tls = true },
	{ "redis://[::1]", .host = "::1", .port = "6379" },
	{ "redis://a%40b@h%2e", .user = "a@b", .host = "h.", .port = "6379" },
	{ "redis://@db", .host = "db", .port = "6379" },
	{ "valkey://db", .host = "db", .port = "6379" },
	{ "valkeys://db", .host = "db", .port = "6379", .tls = true },
	{ "redis+unix:///run/redis.sock", .path = "/run/redis.sock" },
	{ "redis+unix:///run/a%3Fb?prefix=x", .path = "/run/a?b", .prefixes = 1 },
	{ "valkey+unix:///s", .path = "/s" },
};

static void test_redis(void)
{
	const struct right *right;

	for (right = rights; right < rights + ARRAY_SIZE(rights); right++) {
		ok(parse(right->url) && target.kind == TARGET_REDIS, "'%s' is a Redis",
		   right->url);
		ok(same(target.user, right->user) && same(target.host, right->host) &&
		   same(target.port, right->port) && same(target.path, right->path) &&
		   target.tls == right->tls && target.prefix_count == right->prefixes,
		   "the parts of '%s' are right", right->url);
	}
	parse("redis://db?prefix=page%3a%00%20&prefix=%25");
	ok(has_prefix(0, "page:\0 ", 7) && has_prefix(1, "%", 1),
	   "a prefix may have any bytes, as %%XX");
	parse("redis://db?prefix=");
	ok(has_prefix(0, "", 0), "an empty prefix is all keys");
}

static void test_postgresql(void)
{
	static const char * const urls[] = {
		"postgresql://db", "postgres://u@db/shop?sslmode=verify-full",
		"host=/run dbname=shop",
		"postgresql://a,b:7/shop?target_session_attrs=read-write", "service=shop",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(urls); i++)
		ok(parse(urls[i]) && target.kind == TARGET_POSTGRESQL &&
		   same(target.conninfo, urls[i]), "'%s' is a PostgreSQL", urls[i]);
}

static const struct refusal {
	const char *url;
	const char *problem;
} refusals[] = {
	{ "", "is not redis://" },
	{ "http://db", "'http://db' is not redis://..." },
	{ "redis:db", "is not redis://" },
	{ "redis://u:secret@db", "--password-file" },
	{ "redis://:secret@db", "--password-file" },
	{ "postgresql://u:secret@db", "--password-file" },
	{ "host=db password=secret", "--password-file" },
	{ "host=db sslpassword=secret", "--password-file" },
	{ "redis://db:", "'' is not a port" },
	{ "redis://db:0", "'0' is not a port from 1 to 65535" },
	{ "redis://db:65536", "'65536' is not a port" },
	{ "redis://db:123456", "'123456' is not a port" },
	{ "redis://db:6x", "'6x' is not a port" },
	{ "redis://db:-1", "'-1' is not a port" },
	{ "redis://::1", "is not a port" },
	{ "redis://[::1", "'[' without ']'" },
	{ "redis://[::1]x", "'x' is not ':PORT'" },
	{ "redis://db/x", "'x' is not the number of a database" },
	{ "redis://db/1/2", "is not the number of a database" },
	{ "redis://db/-1", "is not the number of a database" },
	{ "redis://db?prefix", "'prefix' is not 'prefix=P'" },
	{ "redis://db?db=3", "'db=3' is not 'prefix=P'" },
	{ "redis://db?prefix=a&&prefix=b", "'' is not 'prefix=P'" },
	{ "redis://db?prefix=a%", "wrong escape" },
	{ "redis://db?prefix=a%4", "wrong escape" },
	{ "redis://db?prefix=a%4g", "wrong escape" },
	{ "redis://d%00b", "the host of the URL, 'd%00b', has a wrong escape" },
	{ "redis://u%zz@db", "the user of the URL" },
	{ "redis://db?prefix=page:&prefix=page:1", "one prefix begins with another" },
	{ "redis://db?prefix=page:1&prefix=page:", "one prefix begins with another" },
	{ "redis://db?prefix=&prefix=a", "one prefix begins with another" },
	{ "redis://db?prefix=a&prefix=a", "one prefix begins with another" },
	{ "redis+unix://run/redis.sock", "three slashes" },
	{ "redis+unix://", "three slashes" },
	{ "redis+unix:///", "three slashes" },
	{ "redis+unix:///a%00b", "the path of the URL" },
	{ "postgresql://db?nonsense=1", "libpq cannot read the URL" },
	{ "nonsense=1", "libpq cannot read the URL" },
};

static void test_refusals(void)
{
	const struct refusal *refusal;
	char url[300] = "redis+unix:///";

	for (refusal = refusals; refusal < refusals + ARRAY_SIZE(refusals); refusal++) {
		ok(!parse(refusal->url), "'%s' is refused", refusal->url);
		if (!ok(strstr(problem, refusal->problem) && !strstr(problem, "secret"),
			"the problem of '%s' is named, without a password", refusal->url))
			note("expected '%s', found '%s'", refusal->problem, problem);
	}
	memset(url + strlen(url), 'x', 107 - 1);
	ok(parse(url), "the path of a unix socket may have 107 bytes");
	strcat(url, "x");
	ok(!parse(url) && strstr(problem, "at most 107 bytes"), "it may not have 108");
}

int main(void)
{
	test_redis();
	test_postgresql();
	test_refusals();
	target_free(&target);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
/* options_test - the command line of hbfollow with the URL of an engine is read, or refused. */
#include "../serve/message.h"
#include "array_size.h"
#include "options.h"

#define WORDS_MAX	32

static struct options options;

/* Reads a command line, whose words are separated by blanks. */
static int parse(const char *line)
{
	static char words[512];
	char *arguments[WORDS_MAX + 2] = { "hbfollow" }, *rest = words;
	int count = 1, status;

	options_free(&options);
	snprintf(words, sizeof(words), "%s", line);
	while (count <= WORDS_MAX && *rest)
		arguments[count++] = strsep(&rest, " ") ?: "", rest = rest ?: "";
	message_begin();
	status = options_parse(count, arguments, &options);
	message_end();
	return status;
}

static bool same(const char *got, const char *want)
{
	return want ? got && !strcmp(got, want) : !got;
}

static void test_defaults(void)
{
	is_int(parse("redis://db"), 0, "a URL alone is allowed");
	ok(same(options.belt, HASHBELT_DEFAULT_BELT), "the default belt is %s",
	   HASHBELT_DEFAULT_BELT);
	is_int(options.detect_ms, 1000, "a loss is detected within a second by default");
	is_int(options.offline_ms, 1000, "a lost engine clears each second by default");
	ok(!options.keys.count && !options.channel_count && !options.user && !options.metrics &&
	   !options.password_file && !options.verbose && !options.replica,
	   "all else is off by default");
}

static void test_all(void)
{
	is_int(parse("-b pages -u me --detect 250ms --offline=2m -vv --metrics m rediss://db"), 0,
	       "options of times, names and the log are read");
	ok(same(options.belt, "pages") && same(options.user, "me") && options.verbose == 2 &&
	   options.detect_ms == 250 && options.offline_ms == 120000 && same(options.metrics, "m"),
	   "they are kept");
	is_int(parse("rediss://db --tls-ca a --tls-cert b --tls-key c --password-file d"), 0,
	       "options may follow the URL");
	ok(same(options.tls_ca, "a") && same(options.tls_cert, "b") && same(options.tls_key, "c") &&
	   same(options.password_file, "d"), "files are kept");
	is_int(parse("--strip page: --map a=b --map c= --map =d redis://db"), 0,
	       "rules for keys are read");
	ok(options.keys.count == 4 && options.keys.rules[0].from_len == 5 &&
	   same(options.keys.rules[0].to, "") && options.keys.rules[1].from_len == 1 &&
	   same(options.keys.rules[1].to, "b") && same(options.keys.rules[2].to, "") &&
	   !options.keys.rules[3].from_len && same(options.keys.rules[3].to, "d"),
	   "rules are kept in their order");
	is_int(parse("--replica redis://db"), 0, "a replica is allowed");
	ok(options.replica && options.detect_ms == 30000,
	   "with --replica a loss is detected within 30 seconds");
	parse("--map a=b=c redis://db");
	ok(options.keys.rules[0].from_len == 1 && same(options.keys.rules[0].to, "b=c"),
	   "a rule is cut at the first =");
	is_int(parse("-c a --channel b postgresql://db"), 0, "channels are read");
	ok(options.channel_count == 2 && same(options.channels[0], "a") &&
	   same(options.channels[1], "b"), "channels are kept");
}

static bool has_prefix(size_t number, const char *bytes, size_t len)
{
	return number < options.target.prefix_count && options.target.prefixes[number].len == len &&
	       !memcmp(options.target.prefixes[number].bytes, bytes, len);
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
	const struct target *target = &options.target;
	const struct right *right;
	char url[300] = "redis+unix:///";

	for (right = rights; right < rights + ARRAY_SIZE(rights); right++) {
		ok(!parse(right->url) && target->kind == TARGET_REDIS, "'%s' is a Redis",
		   right->url);
		ok(same(target->user, right->user) && same(target->host, right->host) &&
		   same(target->port, right->port) && same(target->path, right->path) &&
		   target->tls == right->tls && target->prefix_count == right->prefixes,
		   "the parts of '%s' are right", right->url);
	}
	parse("redis://db?prefix=page%3a%00%20&prefix=%25");
	ok(has_prefix(0, "page:\0 ", 7) && has_prefix(1, "%", 1),
	   "a prefix may have any bytes, as %%XX");
	parse("redis://db?prefix=");
	ok(has_prefix(0, "", 0), "an empty prefix is all keys");
	memset(url + strlen(url), 'x', 107 - 1);
	ok(!parse(url), "the path of a unix socket may have 107 bytes");
	strcat(url, "x");
	ok(parse(url) && message_is("at most 107 bytes"), "it may not have 108");
}

static void test_postgresql(void)
{
	static const char * const lines[] = {
		"-c x postgresql://db", "-c x postgres://u@db/shop?sslmode=verify-full",
		"-c x host=/run", "-c x service=shop",
		"-c x postgresql://a,b:7/shop?target_session_attrs=read-write",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		ok(!parse(lines[i]) && options.target.kind == TARGET_POSTGRESQL &&
		   same(options.target.conninfo, lines[i] + 5), "'%s' is a PostgreSQL", lines[i]);
}

static const struct refusal {
	const char *line;
	const char *message;
} refusals[] = {
	{ "", "the URL of an engine is missing" },
	{ "redis://a redis://b", "'redis://b' is one URL too many" },
	{ "nothing", "'nothing' is not redis://" },
	{ "redis://u:p@db", "--password-file" },
	{ "-u me redis://you@db", "the URL has a user" },
	{ "-b x -b y redis://db", "--belt is given twice" },
	{ "--belt= redis://db", "--belt needs a BELT" },
	{ "-b 1234567890123456789012345678901234567890123456789012345678901234 redis://db",
	  "at most 63 bytes" },
	{ "--detect 99ms redis://db", "--detect: '99ms' is not a time from 100ms to 1h" },
	{ "--detect 0 redis://db", "--detect: '0'" },
	{ "--offline 61m redis://db", "--offline: '61m'" },
	{ "--offline soon redis://db", "--offline: 'soon'" },
	{ "--map x redis://db", "--map: 'x' is not FROM=TO" },
	{ "--strip= redis://db", "--strip needs a PREFIX" },
	{ "--channel= postgresql://db", "a name has 1 to 63 bytes" },
	{ "--channel 1234567890123456789012345678901234567890123456789012345678901234 postgresql://db",
	  "a name has 1 to 63 bytes" },
	{ "postgresql://db", "PostgreSQL needs --channel" },
	{ "-c a redis://db", "--channel is for PostgreSQL" },
	{ "-c a --tls-ca x postgresql://db", "sslrootcert" },
	{ "--tls-ca x redis://db", "need rediss://" },
	{ "--tls-cert x rediss://db", "--tls-cert and --tls-key need each other" },
	{ "--tls-key x rediss://db", "--tls-cert and --tls-key need each other" },
	{ "--replica -c a postgresql://db", "--replica is for Redis" },
	{ "--replica --detect 3s redis://db", "--replica needs a --detect of 4s" },
	{ "--unknown", "there is no option '--unknown'" },
	{ "-q", "there is no option -q" },
	{ "-b", "option '-b' needs an argument" },
	{ "--verbose=2", "--verbose takes no argument" },
	{ "--completion tcsh", "'tcsh' is not bash|fish|zsh" },
	{ "http://db", "'http://db' is not redis://..." },
	{ "redis:db", "is not redis://" },
	{ "redis://u:secret@db", "--password-file" },
	{ "redis://:secret@db", "--password-file" },
	{ "-c x postgresql://u:secret@db", "--password-file" },
	{ "-c x password=secret", "--password-file" },
	{ "-c x sslpassword=secret", "--password-file" },
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
	{ "-c x postgresql://db?nonsense=1", "libpq cannot read the URL" },
	{ "-c x nonsense=1", "libpq cannot read the URL" },
};

static void test_refusals(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		is_int(parse(refusals[i].line), 3, "'%s' ends with exit status 2",
		       refusals[i].line);
		ok(message_is(refusals[i].message) && message_is("hbfollow: ") &&
		   !strstr(message, "secret"),
		   "the error of '%s' names the program and the problem, and no password",
		   refusals[i].line);
	}
}

int main(void)
{
	test_defaults();
	test_all();
	test_redis();
	test_postgresql();
	test_refusals();
	options_free(&options);
	return done_testing();
}

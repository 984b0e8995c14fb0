// SPDX-License-Identifier: GPL-2.0-only
/* options_test - the command line of hbfollow is read, and wrong ones are refused. */
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
};

static void test_refusals(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		is_int(parse(refusals[i].line), 3, "'%s' ends with exit status 2",
		       refusals[i].line);
		ok(message_is(refusals[i].message) && message_is("hbfollow: "),
		   "the error of '%s' names the program and the problem", refusals[i].line);
	}
}

static void test_printed(void)
{
	is_int(parse("--help"), 1, "--help ends with exit status 0");
	ok(strstr(message, "Usage: hbfollow [OPTION]... URL") && strstr(message, "--offline TIME"),
	   "help has the usage and the options");
	is_int(parse("-V"), 1, "--version ends with exit status 0");
	ok(message_is("hbfollow 0"), "--version prints the version");
	is_int(parse("--print-sql"), 1, "--print-sql ends with exit status 0");
	ok(strstr(message, "FUNCTION hashbelt_follow(") && strstr(message, "END $$;\n"),
	   "--print-sql prints the functions");
	is_int(parse("--completion bash"), 1, "--completion ends with exit status 0");
	ok(strstr(message, "complete -F _hbfollow hbfollow") && !strstr(message, "hbserve"),
	   "completion is for hbfollow");
}

int main(void)
{
	test_defaults();
	test_all();
	test_refusals();
	test_printed();
	options_free(&options);
	return done_testing();
}

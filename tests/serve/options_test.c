// SPDX-License-Identifier: GPL-2.0-only
/* options_test - the command line of hbserve is read, and wrong ones are refused. */
#include "array_size.h"
#include "hashbelt.h"
#include "message.h"
#include "options.h"

#define WORDS_MAX	32

static struct options options;

/* Reads a command line, whose words are separated by blanks. */
static int parse(const char *line)
{
	static char words[512];
	char *arguments[WORDS_MAX + 2] = { "hbserve" }, *rest = words;
	int count = 1, status;

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
	is_int(parse(""), 0, "no option is allowed");
	ok(!options.socket && !options.address, "without options there is no socket and no TCP");
	ok(same(options.belt, HASHBELT_DEFAULT_BELT) && !options.belts_by_prefix,
	   "the default belt is %s", HASHBELT_DEFAULT_BELT);
	is_int(options.mode, 0700, "the default mode is that of memcached");
	is_int(options.threads, 4, "the default is 4 threads");
	is_int(options.connections, 1024, "the default is 1024 clients");
	is_int(options.item_max, HASHBELT_VALUE_MAX, "the default item size is the belt's limit");
	ok(!options.idle_seconds && !options.verbose && !options.shutdown && !options.tls &&
	   !options.auth_file && !options.group, "all else is off by default");
}

/* All options, by letters and by names. */
static void test_all(void)
{
	is_int(parse("-s /run/x -a 0660 --group daemon -l a,b -p 5"), 0, "letters are read");
	ok(same(options.socket, "/run/x") && same(options.group, "daemon") &&
	   options.mode == 0660, "-s, -a and --group are kept");
	ok(same(options.address, "a,b") && options.port == 5, "-l and -p are kept");
	parse("-b sessions -t 2 -c 9 -I 512k -vv");
	ok(same(options.belt, "sessions") && options.threads == 2 && options.connections == 9 &&
	   options.item_max == 512 * 1024 && options.verbose == 2,
	   "-b, -t, -c, -I and -v are kept");
	is_int(parse("--unix-socket=x --listen=l --port=7 --belt=c --unix-mask 7"), 0,
	       "long names are read");
	ok(same(options.socket, "x") && same(options.address, "l") && options.port == 7 &&
	   same(options.belt, "c") && options.mode == 7, "the long names set the same");
	parse("--threads=3 --conn-limit=4 --idle-timeout=6 --max-item-size=1024 --verbose");
	ok(options.threads == 3 && options.connections == 4 && options.idle_seconds == 6 &&
	   options.item_max == 1024 && options.verbose == 1, "also those of sizes");
	parse("--belts-by-prefix --enable-shutdown");
	ok(options.belts_by_prefix && options.shutdown, "also those without argument");
	is_int(parse("-A -Z --tls-cert a --tls-key b --tls-ca c --tls-verify -Y d -U 0"), 0,
	       "all options of safety are read");
	ok(options.tls && same(options.tls_cert, "a") && same(options.tls_key, "b") &&
	   same(options.tls_ca, "c") && options.tls_verify && same(options.auth_file, "d") &&
	   options.shutdown, "-Z, --tls-*, -Y and -A are kept");
}

static void test_port(void)
{
	parse("-p 12");
	ok(same(options.address, "127.0.0.1") && options.port == 12,
	   "-p without -l listens on loopback");
	parse("-l 192.0.2.1");
	ok(same(options.address, "192.0.2.1") && options.port == 11211,
	   "-l without -p takes memcached's port");
	parse("-l 192.0.2.1 -p 0");
	ok(!options.address, "-p 0 turns TCP off");
	is_int(parse("-o idle_timeout=8"), 0, "-o idle_timeout is allowed");
	is_int(options.idle_seconds, 8, "-o idle_timeout sets the idle timeout");
}

static const struct refusal {
	const char *line;
	const char *message;
} refusals[] = {
	{ "-c 0", "--conn-limit: '0' is not a number from 1 to 1000000" },
	{ "-c 1000001", "--conn-limit: '1000001'" },
	{ "-c -1", "--conn-limit: '-1'" },
	{ "-c 5x", "--conn-limit: '5x'" },
	{ "-c 99999999999999999999", "--conn-limit" },
	{ "-t 0", "--threads: '0'" },
	{ "-t 257", "--threads: '257'" },
	{ "-p 65536", "--port: '65536' is not a number from 0 to 65535" },
	{ "-p +5", "--port: '+5'" },
	{ "-I 1023", "--max-item-size: '1023' is not a size from 1024 to 1048576 bytes" },
	{ "-I 1025k", "--max-item-size: '1025k'" },
	{ "-I 2m", "--max-item-size: '2m'" },
	{ "-I 1mb", "--max-item-size: '1mb'" },
	{ "-I 17592186044416m", "--max-item-size" },
	{ "-I k", "--max-item-size: 'k'" },
	{ "-a 1000", "--unix-mask: '1000' is not a mode from 0 to 0777" },
	{ "-a 8", "--unix-mask: '8'" },
	{ "-a -s", "--unix-mask: '-s'" },
	{ "-s x -s y", "--unix-socket is given twice" },
	{ "-s", "option '-s' needs an argument" },
	{ "--belt=", "--belt needs a BELT" },
	{ "--tls=yes", "--tls takes no argument" },
	{ "--unknown", "there is no option '--unknown'" },
	{ "-q", "there is no option -q" },
	{ "sessions", "'sessions' is not an option" },
	{ "-Z", "--tls needs --tls-cert and --tls-key" },
	{ "-Z --tls-cert x", "--tls needs --tls-cert and --tls-key" },
	{ "--tls-verify", "need --tls" },
	{ "--tls-ca x", "need --tls" },
	{ "-Z --tls-cert x --tls-key y --tls-verify", "--tls-verify needs --tls-ca" },
	{ "--group daemon", "give --unix-socket as well" },
	{ "-U 11211", "hbserve has no UDP" },
	{ "-o modern", "no extended option 'modern'" },
	{ "-o idle_timeout", "no extended option 'idle_timeout'" },
	{ "-o idle_timeout=x", "--idle-timeout: 'x'" },
	{ "-o memory_limit=64", "no extended option 'memory_limit=64'" },
	{ "-o help=1", "no extended option" },
	{ "-o extended=extended=x", "no extended option" },
	{ "-m 64", "hbctl set BELT --max-bytes" },
	{ "-M", "--when-full reject" },
	{ "-d", "--daemon (-d) of memcached: start it by systemd" },
	{ "-u memcache", "start it as that user" },
	{ "-S", "use --auth-file" },
	{ "-B binary", "--protocol: 'binary' is not memcached or redis" },
	{ "--protocol redis --belts-by-prefix", "--belts-by-prefix is for memcached" },
	{ "--database 1=b", "--database needs --protocol redis" },
	{ "--protocol redis --database 0=b", "'0=b' is not NUMBER=BELT" },
	{ "--protocol redis --database 16=b", "with a number from 1 to 15" },
	{ "--protocol redis --database 1=", "'1=' is not NUMBER=BELT" },
	{ "--protocol redis --database b", "'b' is not NUMBER=BELT" },
	{ "--completion tcsh", "'tcsh' is not bash|fish|zsh" },
};

static void test_refusals(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		is_int(parse(refusals[i].line), 3, "'%s' ends with exit status 2",
		       refusals[i].line);
		ok(message_is(refusals[i].message), "the error of '%s' names the problem",
		   refusals[i].line);
	}
}

static void test_protocol(void)
{
	parse("");
	ok(options.protocol == PROTOCOL_MEMCACHED, "the default protocol is that of memcached");
	parse("-B ascii");
	ok(options.protocol == PROTOCOL_MEMCACHED, "-B ascii is the protocol of memcached");
	is_int(parse("--protocol redis --database 1=limits --database 15=z -l h"), 0,
	       "--protocol redis takes --database");
	ok(options.protocol == PROTOCOL_REDIS && options.port == 6379, "its port is 6379");
	ok(same(options.databases[1], "limits") && same(options.databases[15], "z") &&
	   !options.databases[2], "--database names belts by numbers");
	parse("--protocol redis -l h -p 5");
	is_int(options.port, 5, "--protocol redis takes another port");
}

/* Help and completion come from the table. */
static void test_printed(void)
{
	static const char * const shells[] = { "bash", "fish", "zsh" };
	char line[64];
	size_t i;

	is_int(parse("--help"), 1, "--help ends with exit status 0");
	ok(strstr(message, "  -s, --unix-socket FILE ") && strstr(message, "--tls-verify"),
	   "help has the options");
	ok(!strstr(message, "daemon"), "help has no options that hbserve refuses");
	is_int(parse("-V -q"), 1, "--version ends with exit status 0");
	ok(message_is("hbserve 0"), "--version prints the version");
	for (i = 0; i < ARRAY_SIZE(shells); i++) {
		snprintf(line, sizeof(line), "--completion %s", shells[i]);
		is_int(parse(line), 1, "%s ends with exit status 0", line);
		ok(strstr(message, "belts-by-prefix") && strstr(message, "bash fish zsh") &&
		   !strstr(message, "daemon"), "%s offers the options of help", line);
	}
}

int main(void)
{
	test_defaults();
	test_all();
	test_port();
	test_protocol();
	test_refusals();
	test_printed();
	return done_testing();
}

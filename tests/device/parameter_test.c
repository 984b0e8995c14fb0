// SPDX-License-Identifier: GPL-2.0-only
/*
 * parameter_test [TTL_MS BUCKETS MODE] - the default belt has the settings of the module's
 * parameters, the limits take only values in their range, and the workqueues of the module have
 * their settings in sysfs.
 *
 * Without arguments it expects the default parameters. It leaves behind an entry that is
 * about to expire, one that never does, and with arguments also a belt, so that a later
 * rmmod has something to free. Without arguments it makes no belt, as tests that list all
 * belts may follow.
 */
#include <sys/stat.h>

#include "device.h"

#define WORKQUEUES	"/sys/devices/virtual/workqueue/"

static unsigned long long argument(int argc, char **argv, int i, unsigned long long otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 0) : otherwise;
}

/* The parameters that can be written, with two values that they take. */
static const struct {
	const char *name;
	__u64 least, most;
} writable[] = {
	{ "max_bytes", 1, 0x7fffffffffffffff }, { "user_max_bytes", 1, 0x7fffffffffffffff },
	{ "user_max_pinned", 0, 100 },
	{ "max_belts", 0, 0xffffffff }, { "user_max_belts", 0, 0xffffffff },
	{ "closed", 0, 1 },
};

/* Text that no parameter takes; the value before it stays. */
static const struct {
	const char *text, *name;
} wrong[] = {
	{ "\n", "a blank line" }, { "-1", "-1" }, { "-0", "-0" }, { "many", "a word" },
	{ "1x", "1x" },
	{ "1 1", "two numbers" }, { "1\n1", "two lines" }, { "1\n\n", "a line and a blank one" },
	{ " 1", "a blank and a number" }, { "1 ", "a number and a blank" }, { "1.5", "1.5" },
	{ "K", "a unit" }, { "1KK", "1KK" }, { "1KB", "1KB" }, { "1K\njunk", "1K and a line" },
	{ "1K\n\n", "1K and a blank line" }, { "1 K", "1 K" }, { "-1K", "-1K" },
	{ "99999999999999999999999999", "a number of 26 digits" },
	{ "18446744073709551616", "2^64" }, { "18446744073709551617", "2^64 + 1" },
	{ "18014398509481984K", "2^64 in K" }, { "18014398509481985K", "2^64 + 1024 in K" },
	{ "9223372036854775808", "2^63" }, { "8E", "8E" }, { "16E", "16E" },
};

/* Values that only some of them refuse. */
static const struct {
	const char *name, *text;
} out_of_range[] = {
	{ "max_bytes", "0" }, { "max_bytes", "0K" }, { "user_max_bytes", "0" },
	{ "user_max_pinned", "101" }, { "user_max_pinned", "4294967346" },
	{ "user_max_pinned", "1K" }, { "max_belts", "4294967296" },
	{ "max_belts", "1K" }, { "user_max_belts", "4294967296" }, { "user_max_belts", "1K" },
	{ "closed", "2" }, { "closed", "4294967297" }, { "closed", "Y" },
};

static const struct {
	const char *text;
	__u64 bytes;
} sizes[] = {
	{ "1", 1 }, { "1K", 1024 }, { "3m", 3 * MIB }, { "2G\n", 2048 * MIB },
	{ "1T", 1ULL << 40 }, { "1p", 1ULL << 50 }, { "7E", 7ULL << 60 },
	{ "8191P", 8191ULL << 50 }, { "0x1E", 30 }, { "010", 8 },
	{ "9223372036854775807", 0x7fffffffffffffff },
};

static const char *const read_only[] = { "ttl_ms", "buckets", "mode", "used_bytes" };

/* True if a write of the text is refused and changes nothing. */
static bool is_refused(const char *name, const char *text)
{
	__u64 was = get_parameter(name);

	return set_parameter(name, text) && get_parameter(name) == was;
}

static void test_refused(void)
{
	unsigned int i, k, taken;

	for (i = 0; i < ARRAY_SIZE(writable); i++) {
		for (k = taken = 0; k < ARRAY_SIZE(wrong); k++) {
			if (is_refused(writable[i].name, wrong[k].text))
				continue;
			note("%s takes %s", writable[i].name, wrong[k].name);
			taken++;
		}
		is_int(taken, 0, "a write of text that is no number for %s is refused",
		       writable[i].name);
	}
	for (i = 0; i < ARRAY_SIZE(out_of_range); i++)
		ok(is_refused(out_of_range[i].name, out_of_range[i].text),
		   "a write of %s to %s is refused, and changes nothing",
		   out_of_range[i].text, out_of_range[i].name);
}

static void test_taken(void)
{
	__u64 was;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(writable); i++) {
		was = get_parameter(writable[i].name);
		set_number(writable[i].name, writable[i].least);
		is_int(get_parameter(writable[i].name), writable[i].least,
		       "%s takes its least value", writable[i].name);
		set_number(writable[i].name, writable[i].most);
		is_int(get_parameter(writable[i].name), writable[i].most,
		       "%s takes its largest value", writable[i].name);
		set_number(writable[i].name, was);
	}
	was = get_parameter("max_bytes");
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		ok(!set_parameter("max_bytes", sizes[i].text) &&
		   get_parameter("max_bytes") == sizes[i].bytes,
		   "max_bytes takes %.*s as %llu", (int)strcspn(sizes[i].text, "\n"),
		   sizes[i].text, sizes[i].bytes);
	set_number("max_bytes", was);
}

static void test_read_only(void)
{
	unsigned int i;
	char path[64];

	for (i = 0; i < ARRAY_SIZE(read_only); i++) {
		snprintf(path, sizeof(path), PARAMETERS "%s", read_only[i]);
		ok(open(path, O_WRONLY | O_CLOEXEC) < 0 && open(path, O_RDWR | O_CLOEXEC) < 0,
		   "%s cannot be opened for writing, even by root", read_only[i]);
	}
}

int main(int argc, char **argv)
{
	unsigned int mode = argument(argc, argv, 3, 0600);
	int fd = open_device(O_RDWR);
	struct hashbelt_info info = info_of(fd);
	struct stat node;

	ok(!strcmp(info.name, "default"), "a fresh descriptor is bound to the belt default");
	is_int(info.ttl_ms, argument(argc, argv, 1, 300000),
	       "the default belt has the time-to-live of the parameter ttl_ms");
	is_int(info.buckets, argument(argc, argv, 2, 3),
	       "the default belt has the buckets of the parameter buckets");
	is_int(info.mode, mode, "the default belt has the mode of the parameter mode");
	if (stat(HASHBELT_DEVICE, &node))
		bail_out("stat: %s", strerror(errno));
	is_int(node.st_mode & 07777, mode, "the device node has the mode of the parameter mode");
	ok(!access(WORKQUEUES "hashbelt/cpumask", W_OK) &&
	   !access(WORKQUEUES "hashbelt_limbo/cpumask", W_OK) &&
	   !access(WORKQUEUES "hashbelt_free/cpumask", W_OK),
	   "the workqueues that all belts share have a file cpumask in sysfs");
	is_int(get_parameter("user_max_pinned"), 50, "user_max_pinned is 50 by default");
	test_refused();
	test_taken();
	test_read_only();
	put_text(fd, "soon", "value", 1000);
	put_text(fd, "never", "value", HASHBELT_TTL_NEVER);
	if (argc > 1 && !create_belt(fd, "left behind", 0600))
		put_text(fd, "soon", "value", 1000);
	close(fd);
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
/* duration_test - durations and sizes are read and written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../device/tap.h"
#include "array_size.h"
#include "duration.h"
#include "hashbelt.h"

#define DAY	(24 * 60 * 60 * 1000ULL)

static const struct parse_case {
	const char *text;
	int err;
	__u64 ms;
} parse_cases[] = {
	{ "250ms", 0, 250 },
	{ "30s", 0, 30000 },
	{ "15m", 0, 15 * 60000 },
	{ "2h", 0, 2 * 3600000 },
	{ "7d", 0, 7 * DAY },
	{ "1h30m", 0, 5400000 },
	{ "1d2h3m4s5ms", 0, DAY + 2 * 3600000 + 3 * 60000 + 4005 },
	{ "1m5ms", 0, 60005 },
	{ "0.5h1s", 0, 1801000 },
	{ "90", 0, 90000 },
	{ "0.5", 0, 500 },
	{ "1.001", 0, 1001 },
	{ "0.0004", 0, 0 },
	{ "0.0005", 0, 1 },
	{ "0.00000000000000000000000000001", 0, 0 },
	{ "0.9999", 0, 1000 },
	{ "0.5d", 0, DAY / 2 },
	{ "0.000000012d", 0, 1 },
	{ "0", 0, 0 },
	{ "0s", 0, 0 },
	{ "007", 0, 7000 },
	{ "4398046511104ms", 0, HASHBELT_TTL_MAX_MS },
	{ "4398046511105ms", -ERANGE, 0 },
	{ "4398046511103ms", 0, HASHBELT_TTL_MAX_MS - 1 },
	{ "4398046511.104", 0, HASHBELT_TTL_MAX_MS },
	{ "4398046511.105", -ERANGE, 0 },
	{ "50904d", -ERANGE, 0 },
	{ "50903d", 0, 50903 * DAY },
	{ "4398046511s105ms", -ERANGE, 0 },
	{ "18446744073709551617ms", -ERANGE, 0 },
	{ "99999999999999999999999999d", -ERANGE, 0 },
	{ "213503982335d", -ERANGE, 0 },
	{ "", -EINVAL, 0 },
	{ "s", -EINVAL, 0 },
	{ "ms", -EINVAL, 0 },
	{ "-1s", -EINVAL, 0 },
	{ "+1s", -EINVAL, 0 },
	{ " 1s", -EINVAL, 0 },
	{ "1s ", -EINVAL, 0 },
	{ "1 s", -EINVAL, 0 },
	{ "1.s", -EINVAL, 0 },
	{ ".5s", -EINVAL, 0 },
	{ "1.5.5s", -EINVAL, 0 },
	{ "1w", 0, 7 * DAY },
	{ "2w3d", 0, 17 * DAY },
	{ "1.5week", 0, 10 * DAY + DAY / 2 },
	{ "10min", 0, 600000 },
	{ "1minute30seconds", 0, 90000 },
	{ "2hours5mins", 0, 7500000 },
	{ "3days", 0, 3 * DAY },
	{ "20msec", 0, 20 },
	{ "1hou", -EINVAL, 0 },
	{ "1minutess", -EINVAL, 0 },
	{ "1d1w", -EINVAL, 0 },
	{ "7272w", -ERANGE, 0 },
	{ "1S", -EINVAL, 0 },
	{ "1mss", -EINVAL, 0 },
	{ "1m1", -EINVAL, 0 },
	{ "30m1h", -EINVAL, 0 },
	{ "1h1h", -EINVAL, 0 },
	{ "0x10", -EINVAL, 0 },
	{ "1e3", -EINVAL, 0 },
	{ "never", -EINVAL, 0 },
};

static const struct format_case {
	__u64 number;
	const char *text;
} duration_cases[] = {
	{ 0, "0s" },
	{ 1, "1ms" },
	{ 999, "999ms" },
	{ 1000, "1s" },
	{ 1500, "1.5s" },
	{ 1001, "1.001s" },
	{ 59999, "59.999s" },
	{ 60000, "1m" },
	{ 60005, "1m0.005s" },
	{ 100000, "1m40s" },
	{ 299874, "4m59.874s" },
	{ 5400000, "1h30m" },
	{ 3600000 + 5000, "1h5s" },
	{ 7 * DAY, "7d" },
	{ DAY + 2 * 3600000 + 3 * 60000 + 4005, "1d2h3m4.005s" },
	{ HASHBELT_TTL_MAX_MS, "50903d7h35m11.104s" },
}, ns_cases[] = {
	{ 0, "0s" },
	{ 1, "1ms" },
	{ 1000000, "1ms" },
	{ 1000001, "2ms" },
	{ 1500000000, "1.5s" },
	{ 60000 * 1000000ULL, "1m" },
}, size_cases[] = {
	{ 0, "0 B" },
	{ 1023, "1023 B" },
	{ 1024, "1.0 KiB" },
	{ 1536, "1.5 KiB" },
	{ 3456, "3.4 KiB" },
	{ 1024 * 1024 - 1, "1.0 MiB" },
	{ 1024 * 1024, "1.0 MiB" },
	{ 5ULL << 30, "5.0 GiB" },
	{ ~0ULL, "16.0 EiB" },
};

static const struct size_case {
	const char *text;
	int err;
	__u64 bytes;
} size_parse_cases[] = {
	{ "0", 0, 0 },
	{ "1", 0, 1 },
	{ "4096", 0, 4096 },
	{ "007", 0, 7 },
	{ "64k", 0, 65536 },
	{ "64K", 0, 65536 },
	{ "10M", 0, 10485760 },
	{ "10m", 0, 10485760 },
	{ "2G", 0, 2147483648 },
	{ "3t", 0, 3298534883328 },
	{ "5P", 0, 5629499534213120 },
	{ "15E", 0, 17293822569102704640ULL },
	{ "0E", 0, 0 },
	{ "18446744073709551615", 0, ~0ULL },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "18446744073709551625", -ERANGE, 0 },
	{ "99999999999999999999999", -ERANGE, 0 },
	{ "18014398509481983k", 0, 18446744073709550592ULL },
	{ "18014398509481984k", -ERANGE, 0 },
	{ "16E", -ERANGE, 0 },
	{ "17179869184G", -ERANGE, 0 },
	{ "17179869183G", 0, 18446744072635809792ULL },
	{ "", -EINVAL, 0 },
	{ "k", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 },
	{ " 1", -EINVAL, 0 },
	{ "1 ", -EINVAL, 0 },
	{ "1 k", -EINVAL, 0 },
	{ "1kk", -EINVAL, 0 },
	{ "1kB", 0, 1000 },
	{ "64MB", 0, 64000000 },
	{ "1KiB", 0, 1024 },
	{ "64MiB", 0, 67108864 },
	{ "1.5G", 0, 1610612736 },
	{ "0.5kB", 0, 500 },
	{ "1.0001k", 0, 1024 },
	{ "15.999999999E", 0, 18446744072556630111ULL },
	{ "16.5E", -ERANGE, 0 },
	{ "1B", 0, 1 },
	{ "10000PB", 0, 10000000000000000000ULL },
	{ "1.5", -EINVAL, 0 },
	{ "1.k", -EINVAL, 0 },
	{ "1.5.5k", -EINVAL, 0 },
	{ "1Ki", -EINVAL, 0 },
	{ "1kiBB", -EINVAL, 0 },
	{ "1xiB", -EINVAL, 0 },
	{ "1,5", -EINVAL, 0 },
	{ "0x10", -EINVAL, 0 },
	{ "1e3", -EINVAL, 0 },
	{ "1+", -EINVAL, 0 },
	{ "none", -EINVAL, 0 },
};

static const struct size_case number_cases[] = {
	{ "0", 0, 0 },
	{ "10", 0, 10 },
	{ "010", 0, 10 },
	{ "09", 0, 9 },
	{ "0x1F", 0, 31 },
	{ "0Xff", 0, 255 },
	{ "18446744073709551615", 0, ~0ULL },
	{ "18446744073709551616", -ERANGE, 0 },
	{ "0xffffffffffffffff", 0, ~0ULL },
	{ "0x10000000000000000", -ERANGE, 0 },
	{ "", -EINVAL, 0 },
	{ "0x", -EINVAL, 0 },
	{ "0x0x1", -EINVAL, 0 },
	{ "x1", -EINVAL, 0 },
	{ "1a", -EINVAL, 0 },
	{ "a", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "+1", -EINVAL, 0 },
	{ "0x-1", -EINVAL, 0 },
	{ " 1", -EINVAL, 0 },
	{ "1 ", -EINVAL, 0 },
	{ "1.0", -EINVAL, 0 },
};

static void test_parse(const struct parse_case *test)
{
	__u64 ms = 0;
	int err = duration_parse(test->text, &ms);

	if (!ok(err == test->err && (err || ms == test->ms), "duration_parse() %s '%s'",
		test->err ? "refuses" : "reads", test->text))
		note("expected %s, %llu ms, found %s, %llu ms", error_name(test->err), test->ms,
		     error_name(err), ms);
}

static void test_size(const struct size_case *test)
{
	__u64 bytes = 0;
	int err = size_parse(test->text, &bytes);

	if (!ok(err == test->err && (err || bytes == test->bytes), "size_parse() %s '%s'",
		test->err ? "refuses" : "reads", test->text))
		note("expected %s, %llu bytes, found %s, %llu bytes", error_name(test->err),
		     test->bytes, error_name(err), bytes);
}

static void test_number(const struct size_case *test)
{
	__u64 number = 0;
	int err = number_parse(test->text, &number);

	if (!ok(err == test->err && (err || number == test->bytes), "number_parse() %s '%s'",
		test->err ? "refuses" : "reads", test->text))
		note("expected %s, %llu, found %s, %llu", error_name(test->err), test->bytes,
		     error_name(err), number);
}

static void test_format(const struct format_case *test, const char *what,
			const char *(*format)(char *text, __u64 number))
{
	char text[DURATION_SIZE];

	format(text, test->number);
	if (!ok(!strcmp(text, test->text), "%s writes %llu as '%s'", what, test->number,
		test->text))
		note("expected '%s', found '%s'", test->text, text);
}

/* duration_parse() reads every text of duration_format() as the same time. */
static void test_both_ways(void)
{
	char text[DURATION_SIZE];
	__u64 ms, read;

	for (ms = 1; ms <= HASHBELT_TTL_MAX_MS; ms += ms / 64 + 1) {
		duration_format(text, ms);
		if (!duration_parse(text, &read) && read == ms)
			continue;
		note("%llu ms is written as %s", ms, text);
		break;
	}
	ok(ms > HASHBELT_TTL_MAX_MS,
	   "duration_parse() reads what duration_format() wrote, from 1ms to 139 years");
}

int main(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parse_cases); i++)
		test_parse(&parse_cases[i]);
	for (i = 0; i < ARRAY_SIZE(duration_cases); i++)
		test_format(&duration_cases[i], "duration_format()", duration_format);
	for (i = 0; i < ARRAY_SIZE(ns_cases); i++)
		test_format(&ns_cases[i], "duration_format_ns()", duration_format_ns);
	for (i = 0; i < ARRAY_SIZE(size_cases); i++)
		test_format(&size_cases[i], "size_format()", size_format);
	for (i = 0; i < ARRAY_SIZE(size_parse_cases); i++)
		test_size(&size_parse_cases[i]);
	for (i = 0; i < ARRAY_SIZE(number_cases); i++)
		test_number(&number_cases[i]);
	test_both_ways();
	return done_testing();
}

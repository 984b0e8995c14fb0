// SPDX-License-Identifier: GPL-2.0-only
/* duration_test - durations, sizes and numbers are read and written. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../device/tap.h"
#include "array_size.h"
#include "duration.h"
#include "hashbelt.h"

#define MINUTE	(60 * 1000ULL)
#define HOUR	(60 * MINUTE)
#define DAY	(24 * HOUR)

struct pair {
	const char *text;
	__u64 number;
};

/* @wrong: EINVAL; @large: ERANGE. Each list ends with NULL. */
static const struct reader {
	const char *name;
	int (*parse)(const char *text, __u64 *number);
	struct pair right[40];
	const char *wrong[30];
	const char *large[10];
} readers[] = {
	{ "duration_parse()", duration_parse, {
		{ "250ms", 250 }, { "30s", 30000 }, { "15m", 15 * MINUTE }, { "2h", 2 * HOUR },
		{ "7d", 7 * DAY }, { "1h30m", HOUR + 30 * MINUTE }, { "1m5ms", MINUTE + 5 },
		{ "1d2h3m4s5ms", DAY + 2 * HOUR + 3 * MINUTE + 4005 },
		{ "0.5h1s", HOUR / 2 + 1000 },
		{ "90", 90000 }, { "0.5", 500 }, { "1.001", 1001 }, { "0.0004", 0 },
		{ "0.0005", 1 },
		{ "0.00000000000000000000000000001", 0 }, { "0.9999", 1000 }, { "0.5d", DAY / 2 },
		{ "0.000000012d", 1 }, { "0", 0 }, { "0s", 0 }, { "007", 7000 },
		{ "4398046511104ms", HASHBELT_TTL_MAX_MS },
		{ "4398046511103ms", HASHBELT_TTL_MAX_MS - 1 },
		{ "4398046511.104", HASHBELT_TTL_MAX_MS }, { "50903d", 50903 * DAY },
		{ "1w", 7 * DAY }, { "2w3d", 17 * DAY }, { "1.5week", 10 * DAY + DAY / 2 },
		{ "10min", 10 * MINUTE }, { "1minute30seconds", 90000 }, { "3days", 3 * DAY },
		{ "2hours5mins", 2 * HOUR + 5 * MINUTE }, { "20msec", 20 },
	}, {
		"", "s", "ms", "-1s", "+1s", " 1s", "1s ", "1 s", "1.s", ".5s", "1.5.5s", "1hou",
		"1minutess", "1d1w", "1S", "1mss", "1m1", "30m1h", "1h1h", "0x10", "1e3", "never",
	}, {
		"4398046511105ms", "4398046511.105", "50904d", "7272w", "4398046511s105ms",
		"18446744073709551617ms", "99999999999999999999999999d", "213503982335d",
	} },
	{ "size_parse()", size_parse, {
		{ "0", 0 }, { "1", 1 }, { "4096", 4096 }, { "007", 7 }, { "64k", 65536 },
		{ "64K", 65536 }, { "10M", 10 << 20 }, { "10m", 10 << 20 }, { "2G", 2ULL << 30 },
		{ "3t", 3ULL << 40 }, { "5P", 5ULL << 50 }, { "15E", 15ULL << 60 }, { "0E", 0 },
		{ "18446744073709551615", ~0ULL }, { "18014398509481983k", ~0ULL - 1023 },
		{ "17179869183G", ~0ULL - (1 << 30) + 1 }, { "1kB", 1000 }, { "64MB", 64000000 },
		{ "1KiB", 1024 }, { "64MiB", 64 << 20 }, { "1.5G", 3ULL << 29 }, { "0.5kB", 500 },
		{ "1.0001k", 1024 }, { "15.999999999E", 18446744072556630111ULL }, { "1B", 1 },
		{ "10000PB", 10000000000000000000ULL },
	}, {
		"", "k", "-1", "+1", " 1", "1 ", "1 k", "1kk", "1.5", "1.k", "1.5.5k", "1Ki",
		"1kiBB",
		"1xiB", "1,5", "0x10", "1e3", "1+", "none",
	}, {
		"18446744073709551616", "18446744073709551625", "99999999999999999999999",
		"18014398509481984k", "16E", "16.5E", "17179869184G",
	} },
	{ "number_parse()", number_parse, {
		{ "0", 0 }, { "10", 10 }, { "010", 10 }, { "09", 9 }, { "0x1F", 31 },
		{ "0Xff", 255 },
		{ "18446744073709551615", ~0ULL }, { "0xffffffffffffffff", ~0ULL },
	}, {
		"", "0x", "0x0x1", "x1", "1a", "a", "-1", "+1", "0x-1", " 1", "1 ", "1.0",
	}, {
		"18446744073709551616", "0x10000000000000000",
	} },
};

static const struct writer {
	const char *name;
	const char *(*format)(char *text, __u64 number);
	struct pair pairs[20];
} writers[] = {
	{ "duration_format()", duration_format, {
		{ "0s", 0 }, { "1ms", 1 }, { "999ms", 999 }, { "1s", 1000 }, { "1.5s", 1500 },
		{ "1.001s", 1001 }, { "59.999s", 59999 }, { "1m", MINUTE }, { "1m0.005s", 60005 },
		{ "1m40s", 100000 }, { "4m59.874s", 299874 }, { "1h30m", HOUR + 30 * MINUTE },
		{ "1h5s", HOUR + 5000 }, { "7d", 7 * DAY },
		{ "1d2h3m4.005s", DAY + 2 * HOUR + 3 * MINUTE + 4005 },
		{ "50903d7h35m11.104s", HASHBELT_TTL_MAX_MS },
	} },
	{ "duration_format_ns()", duration_format_ns, {
		{ "0s", 0 }, { "1ms", 1 }, { "1ms", 1000000 }, { "2ms", 1000001 },
		{ "1.5s", 1500000000 }, { "1m", MINUTE * 1000000 },
	} },
	{ "size_format()", size_format, {
		{ "0 B", 0 }, { "1023 B", 1023 }, { "1.0 KiB", 1024 }, { "1.5 KiB", 1536 },
		{ "3.4 KiB", 3456 }, { "1.0 MiB", (1 << 20) - 1 }, { "1.0 MiB", 1 << 20 },
		{ "5.0 GiB", 5ULL << 30 }, { "16.0 EiB", ~0ULL },
	} },
};

static void test_read(const struct reader *reader, const char *text, int want_err, __u64 want)
{
	__u64 number = 0;
	int err = reader->parse(text, &number);

	if (!ok(err == want_err && (err || number == want), "%s %s '%s'", reader->name,
		want_err ? "refuses" : "reads", text))
		note("expected %s, %llu, found %s, %llu", error_name(want_err), want,
		     error_name(err), number);
}

static void test_reader(const struct reader *reader)
{
	const struct pair *right;
	const char * const *text;

	for (right = reader->right; right->text; right++)
		test_read(reader, right->text, 0, right->number);
	for (text = reader->wrong; *text; text++)
		test_read(reader, *text, -EINVAL, 0);
	for (text = reader->large; *text; text++)
		test_read(reader, *text, -ERANGE, 0);
}

static void test_writer(const struct writer *writer)
{
	const struct pair *pair;
	char text[DURATION_SIZE];

	for (pair = writer->pairs; pair->text; pair++) {
		writer->format(text, pair->number);
		if (!ok(!strcmp(text, pair->text), "%s writes %llu as '%s'", writer->name,
			pair->number, pair->text))
			note("found '%s'", text);
	}
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

	for (i = 0; i < ARRAY_SIZE(readers); i++)
		test_reader(&readers[i]);
	for (i = 0; i < ARRAY_SIZE(writers); i++)
		test_writer(&writers[i]);
	test_both_ways();
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * scan_test - a scan reports every entry that is present during the whole scan.
 *
 * With buffers of any size, with valid records, and while others put and remove entries, so
 * that the index grows and shrinks meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>

#include "device.h"

#define ENTRIES	500
#define CHURN	scaled(6000)

static unsigned char buffer[MIB];
static unsigned int seen[ENTRIES];
static unsigned int strange;	/* invalid records */

/* The length of a key depends on its number, so that records have many sizes. */
static __u32 make_key(char *key, unsigned int number)
{
	__u32 len = 4 + number * 7 % 200;

	memset(key, '.', len);
	key[0] = 'k';
	key[1] = '0' + number / 100;
	key[2] = '0' + number / 10 % 10;
	key[3] = '0' + number % 10;
	return len;
}

static void put_entries(int belt)
{
	struct hashbelt_item item;
	unsigned int i;
	char key[256];

	for (i = 0; i < ENTRIES; i++) {
		item = (struct hashbelt_item){
			.key = address(key), .key_len = make_key(key, i),
			.value = address(buffer), .value_len = i, .flags = i * 3,
			.ttl_ms = i % 2 ? HASHBELT_TTL_NEVER : 1000 + i,
		};
		must(belt, HASHBELT_IOC_PUT, &item);
	}
}

/* True if a record has the key, lengths, flags and time of the entry that was put. */
static bool is_right(const struct hashbelt_record *record, unsigned int number)
{
	const char *key = (const char *)(record + 1);
	__u32 len = record->key_len, end;
	char want[256];

	if (len != make_key(want, number) || memcmp(key, want, len))
		return false;
	for (end = sizeof(*record) + len; end < record->size; end++)
		if (((const char *)record)[end])
			return false;
	return record->size == ((sizeof(*record) + len + 7) & ~7u) &&
	       record->value_len == number && record->flags == number * 3 &&
	       record->version &&
	       record->ttl_ms == (number % 2 ? HASHBELT_TTL_NEVER : 1000 + number);
}

static void read_records(const struct hashbelt_scan *scan)
{
	const unsigned char *p = buffer;
	unsigned int i, number;

	for (i = 0; i < scan->count; i++) {
		const struct hashbelt_record *record = (const void *)p;
		const char *key = (const char *)(record + 1);

		p += record->size;
		if (p > buffer + scan->size) {
			strange++;
			return;
		}
		if (key[0] != 'k')
			continue;
		number = (key[1] - '0') * 100 + (key[2] - '0') * 10 + key[3] - '0';
		if (number < ENTRIES && is_right(record, number))
			seen[number]++;
		else
			strange++;
	}
}

/*
 * Scans the whole belt, with buffers of @size bytes or as many as the call asks for.
 * Return: the number of calls, or a negative errno.
 */
static int scan_all(int belt, __u32 size)
{
	struct hashbelt_scan scan = {};
	int err, calls;

	memset(seen, 0, sizeof(seen));
	strange = 0;
	for (calls = 1; calls < 1000000; calls++) {
		__u64 cursor = scan.cursor;

		scan = (struct hashbelt_scan){
			.cursor = cursor, .buffer = address(buffer), .size = size,
		};
		err = call(belt, HASHBELT_IOC_SCAN, &scan);
		if (err == -ERANGE && scan.size > size && scan.cursor == cursor) {
			size = scan.size;
			continue;
		}
		if (err)
			return err;
		read_records(&scan);
		if (!scan.cursor)
			return calls;
	}
	return -ELOOP;
}

static bool saw_all(unsigned int times)
{
	unsigned int i;

	for (i = 0; i < ENTRIES; i++)
		if (!seen[i] || (times && seen[i] != times))
			return false;
	return true;
}

static void test_sizes(void)
{
	static const __u32 sizes[] = {
		0, 1, 31, 32, 40, 100, 239, 240, 512, 4096, 65536, MIB,
	};
	int belt = new_belt(0), calls;
	unsigned int i;

	put_entries(belt);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		calls = scan_all(belt, sizes[i]);
		ok(calls > 0 && saw_all(1) && !strange,
		   "scan in pieces of %u bytes, or as many as it asks for, reports each entry once",
		   sizes[i]);
		if (calls < 0)
			note("%s", error_name(calls));
	}
	is_int(calls, 1, "scan with a buffer of 1 MiB reports all 500 entries in one call");
	close(belt);
}

static void test_too_small(void)
{
	int belt = new_belt(0);
	struct hashbelt_scan scan = { .buffer = address(buffer), .size = 39 }, again;

	put_text(belt, "key", "value", 0);
	memset(buffer, 0xa5, sizeof(buffer));
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), ERANGE,
		 "scan with a buffer one byte too small for a record returns ERANGE");
	is_int(scan.size, 40, "scan with ERANGE returns the size that the record needs");
	ok(!scan.cursor && !scan.count && buffer[0] == 0xa5 && buffer[38] == 0xa5,
	   "scan with ERANGE neither advances the cursor nor writes to the buffer");
	again = (struct hashbelt_scan){ .buffer = address(buffer), .size = scan.size };
	is_errno(call(belt, HASHBELT_IOC_SCAN, &again), 0,
		 "scan with the size that ERANGE returned succeeds");
	ok(again.count == 1 && buffer[39] != 0xa5 && buffer[40] == 0xa5,
	   "scan writes nothing beyond its record");
	again = (struct hashbelt_scan){ .buffer = address(before_hole(40)), .size = 40 };
	is_errno(call(belt, HASHBELT_IOC_SCAN, &again), 0,
		 "scan into a buffer that ends before an unmapped page returns 0");
	is_int(again.count, 1,
	       "scan into a buffer that ends before an unmapped page has the record");
	close(belt);
}

static void test_bad_buffer(void)
{
	int belt = new_belt(0);
	struct hashbelt_scan scan = { .size = 4096 }, asked;
	struct hashbelt_scan *frozen;

	put_text(belt, "key", "value", 0);
	asked = scan;
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), EFAULT,
		 "scan into a NULL buffer returns EFAULT");
	ok(!memcmp(&scan, &asked, sizeof(scan)), "scan with EFAULT leaves its argument unchanged");
	scan.buffer = address(unmapped());
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), EFAULT,
		 "scan into an unmapped buffer returns EFAULT");
	scan.buffer = address(before_hole(39));
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), EFAULT,
		 "scan into a buffer cut off by an unmapped page returns EFAULT");
	scan.buffer = address(readonly_copy("", 1));
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), EFAULT,
		 "scan into a read-only buffer returns EFAULT");
	scan.buffer = address(fresh_pages(4096));
	frozen = readonly_copy(&scan, sizeof(scan));
	is_errno(call(belt, HASHBELT_IOC_SCAN, frozen), EFAULT,
		 "scan with a read-only argument returns EFAULT");
	is_errno(call(belt, HASHBELT_IOC_SCAN, &scan), 0,
		 "scan into pages that are not present yet succeeds");
	is_int(scan.count, 1, "scan into pages that are not present yet has the record");
	close(belt);
}

static void test_cursors(void)
{
	int belt = new_belt(0), err;
	struct hashbelt_scan scan;
	unsigned int i, wrong = 0;
	__u64 cursor = 1;

	put_entries(belt);
	for (i = 0; i < scaled(20000); i++) {
		cursor = cursor * 6364136223846793005ULL + 1442695040888963407ULL;
		scan = (struct hashbelt_scan){
			.cursor = i % 2 ? cursor : cursor >> 32,
			.buffer = address(buffer), .size = 1000,
		};
		err = call(belt, HASHBELT_IOC_SCAN, &scan);
		wrong += err && err != -EINVAL && err != -ERANGE;
		if (!err)
			read_records(&scan);
	}
	ok(!wrong && !strange, "scan with a random cursor fails or returns valid entries");
	close(belt);
}

/* Scans once, with as many bytes as the call asks for: while the index grows they become more. */
static int scan_piece(int belt, struct hashbelt_scan *scan)
{
	__u32 size;
	int err;

	do {
		size = scan->size;
		err = call(belt, HASHBELT_IOC_SCAN, scan);
	} while (err == -ERANGE && scan->size > size);
	return err;
}

/* @count is output only. */
static void test_again(void)
{
	int belt = new_belt(0), err;
	struct hashbelt_scan scan = { .buffer = address(buffer), .size = 4096 };

	put_entries(belt);
	do
		err = scan_piece(belt, &scan);
	while (!err && !scan.count);
	is_errno(err ?: scan_piece(belt, &scan), 0,
		 "scan continues with the structure of the call before");
	close(belt);
}

/* Scans during changes */

struct churn {
	int belt;
	bool stop;
	unsigned int rounds;
};

static void *churn(void *arg)
{
	struct churn *c = arg;
	struct hashbelt_item item;
	char key[16];
	unsigned int i, round;

	for (round = 0; !__atomic_load_n(&c->stop, __ATOMIC_RELAXED) || !round; round++) {
		for (i = 0; i < 2 * CHURN; i++) {
			snprintf(key, sizeof(key), "other %u", i % CHURN);
			item = item_of(key);
			call(c->belt, i < CHURN ? HASHBELT_IOC_PUT : HASHBELT_IOC_REMOVE,
			     &item);
		}
		__atomic_fetch_add(&c->rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test_churn(__u32 size, unsigned int scans)
{
	struct churn c = { .belt = new_belt(0) };
	unsigned int i, missing = 0, bad = 0;
	pthread_t thread;

	put_entries(c.belt);
	if (pthread_create(&thread, NULL, churn, &c))
		bail_out("no thread");
	for (i = 0; i < scans || !__atomic_load_n(&c.rounds, __ATOMIC_RELAXED); i++) {
		if (scan_all(c.belt, size) < 0 || !saw_all(0))
			missing++;
		bad += strange;
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ok(!missing && !bad,
	   "scan in pieces of %u bytes misses no entry while the index is resized",
	   size);
	note("%u scans, %u rounds of change, %u missed", i, c.rounds, missing);
	close(c.belt);
}

int main(void)
{
	test_sizes();
	test_too_small();
	test_bad_buffer();
	test_cursors();
	test_again();
	test_churn(MIB, 20);
	test_churn(1000, 5);
	return done_testing();
}

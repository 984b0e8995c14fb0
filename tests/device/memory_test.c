// SPDX-License-Identifier: GPL-2.0-only
/*
 * memory_test - copies from and to the memory of a program.
 *
 * Values of all sizes at which the way of copying changes are read back byte for byte.
 * Keys, values and arguments may be anywhere in readable memory and end where it ends. A
 * buffer may be a page that has not been touched; a buffer that cannot be written is an error
 * that leaves the entry as it was.
 */
#include "device.h"

#define GUARD		32

static const unsigned int sizes[] = {
	0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129,
	240, 241, 255, 256, 1023, 1024, 1025, 2048, 4000, 4095, 4096, 4097, 8192,
	65535, 65536, 65537, 131072, MIB - 1, MIB,
};

static bool is_filled(const unsigned char *p, size_t size, unsigned char with)
{
	while (size && *p == with) {
		p++;
		size--;
	}
	return !size;
}

static int put_bytes(int belt, const char *key, const void *value, __u32 len)
{
	struct hashbelt_item item = item_of(key);

	item.value = address(value);
	item.value_len = len;
	return call(belt, HASHBELT_IOC_PUT, &item);
}

/* Gets a value; ends the program if the returned length is not @len. */
static int get_bytes(int belt, const char *key, void *buffer, __u32 room, __u32 len)
{
	struct hashbelt_item item = item_of(key);
	int err;

	item.value = address(buffer);
	item.value_len = room;
	err = call(belt, HASHBELT_IOC_GET, &item);
	if ((!err || err == -ERANGE) && item.value_len != len)
		bail_out("length is %u, expected %u", item.value_len, len);
	return err;
}

/* Puts a value of @size bytes, with @size as the seed. */
static void put_filled(int belt, const char *key, unsigned int size)
{
	unsigned char *value = malloc(size + 1);

	fill_bytes(value, size, size);
	if (put_bytes(belt, key, value, size))
		bail_out("put of %u bytes", size);
	free(value);
}

static bool is_value(const unsigned char *buffer, unsigned int size)
{
	unsigned char *value = malloc(size + 1);
	bool same;

	fill_bytes(value, size, size);
	same = !memcmp(value, buffer, size);
	free(value);
	return same;
}

/* Sizes */

static unsigned char room[MIB + 2 * GUARD + 8];

static void test_size(int belt, unsigned int size)
{
	unsigned char *buffer = room + GUARD;
	bool good;
	int err;

	put_filled(belt, "key", size);
	memset(room, 0xa5, sizeof(room));
	err = get_bytes(belt, "key", buffer, size, size);
	good = !err && is_value(buffer, size) && is_filled(room, GUARD, 0xa5) &&
	       is_filled(buffer + size, GUARD, 0xa5);
	ok(good, "get returns the %u bytes that were put and writes nothing around them", size);
	memset(room, 0xa5, sizeof(room));
	err = get_bytes(belt, "key", buffer, sizeof(room), size);
	ok(!err && is_value(buffer, size) && is_filled(buffer + size, GUARD, 0xa5),
	   "get of %u bytes into a larger buffer writes nothing beyond them", size);
	if (!size)
		return;
	memset(room, 0xa5, sizeof(room));
	err = get_bytes(belt, "key", buffer, size - 1, size);
	ok(err == -ERANGE && is_filled(room, sizeof(room), 0xa5),
	   "get of %u bytes into %u returns ERANGE and the length, and copies nothing",
	   size, size - 1);
}

static void test_sizes(void)
{
	int belt = new_belt(0);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		test_size(belt, sizes[i]);
	put_filled(belt, "key", MIB);
	is_errno(get_bytes(belt, "key", NULL, 0, MIB), ERANGE,
		 "get of 1 MiB without a buffer returns ERANGE and the length");
	is_errno(put_bytes(belt, "key", NULL, 0), 0, "put of a value of 0 bytes at NULL returns 0");
	is_errno(get_bytes(belt, "key", NULL, 0, 0), 0,
		 "get of a value of 0 bytes without a buffer returns 0");
	is_errno(get_bytes(belt, "key", unmapped(), 4096, 0), 0,
		 "get of a value of 0 bytes into an unmapped buffer returns 0");
	close(belt);
}

static void test_alignment(void)
{
	static unsigned char value[256 + 8], keys[64 + 8], buffer[256 + 16];
	int belt = new_belt(0);
	struct hashbelt_item item;
	unsigned int size, shift, wrong = 0;

	for (size = 1; size <= 256; size++) {
		for (shift = 0; shift < 8; shift++) {
			fill_bytes(value + shift, size, size * 8 + shift);
			fill_bytes(keys + shift, size % 64 + 1, size * 8 + shift);
			item = (struct hashbelt_item){
				.key = address(keys + shift), .key_len = size % 64 + 1,
				.value = address(value + shift), .value_len = size,
			};
			must(belt, HASHBELT_IOC_PUT, &item);
			memset(buffer, 0xa5, sizeof(buffer));
			item.value = address(buffer + (shift ^ 5));
			must(belt, HASHBELT_IOC_GET, &item);
			wrong += memcmp(buffer + (shift ^ 5), value + shift, size) ||
				 buffer[(shift ^ 5) + size] != 0xa5;
		}
	}
	ok(!wrong, "values of 1 to 256 bytes at all alignments are read back as they were put");
	close(belt);
}

/* Arguments that end before an unmapped page */

static void test_ends(void)
{
	static unsigned char bytes[HASHBELT_KEY_MAX];
	int belt = new_belt(0);
	unsigned int len, wrong = 0, missing = 0;
	struct hashbelt_item item, *last;
	unsigned char *end = (unsigned char *)before_hole(1) + 1;

	fill_bytes(bytes, sizeof(bytes), 1);
	for (len = 1; len <= sizeof(bytes); len++) {
		memcpy(end - len, bytes, len);
		item = (struct hashbelt_item){
			.key = address(end - len), .key_len = len,
			.value = address(end - len), .value_len = len,
		};
		last = memcpy(before_hole(sizeof(item)), &item, sizeof(item));
		wrong += call(belt, HASHBELT_IOC_PUT, last) != 0;
		memset(end - len, 0, len);
		last->key = address(bytes);
		missing += call(belt, HASHBELT_IOC_GET, last) != 0 ||
			   memcmp(end - len, bytes, len);
		munmap((void *)((uintptr_t)last & ~(PAGE - 1)), 2 * PAGE);
	}
	ok(!wrong, "put takes keys, values and arguments that end before an unmapped page");
	ok(!missing, "get fills buffers that end before an unmapped page");
	is_int(info_of(belt).entries, HASHBELT_KEY_MAX, "each of these keys has an entry");
	close(belt);
}

/* Addresses at which there is no memory to use */

static const unsigned int some[] = { 1, 8, 60, 64, 4096, 4097, 65536, MIB };

/* The parts of a belt that a call with a bad address must leave alone. */
static struct snapshot without_value(int belt)
{
	struct hashbelt_item item = item_of("key");

	item.how = HASHBELT_NO_VALUE | HASHBELT_NO_REFRESH;
	must(belt, HASHBELT_IOC_GET, &item);
	return (struct snapshot){ .version = item.version, .ttl_ms = item.ttl_ms,
				  .entries = info_of(belt).entries };
}

static void test_bad_place(const struct bad_place *place)
{
	static const unsigned long on_keys[] = {
		HASHBELT_IOC_GET, HASHBELT_IOC_PUT, HASHBELT_IOC_TOUCH,
		HASHBELT_IOC_REMOVE, HASHBELT_IOC_EXPIRE,
	};
	int belt = new_belt(HASHBELT_REFRESH_ON_GET);
	unsigned int i, k, keys = 0, values = 0, buffers = 0;
	struct hashbelt_item item, asked;
	struct snapshot was, is;
	__u64 hits;

	for (i = 0; i < ARRAY_SIZE(some); i++) {
		put_filled(belt, "key", some[i]);
		advance(belt, 1000);
		was = without_value(belt);
		hits = counter(belt, HASHBELT_STAT_HITS);
		item = item_of("key");
		item.value = place->make(some[i]);
		item.value_len = some[i];
		for (k = 0; k < 2; k++) {
			item.how = k ? HASHBELT_AND_TOUCH : 0;
			asked = item;
			buffers += call(belt, HASHBELT_IOC_GET, &item) != -EFAULT ||
				   memcmp(&item, &asked, sizeof(item));
		}
		item.how = 0;
		values += !place->readable && call(belt, HASHBELT_IOC_PUT, &item) != -EFAULT;
		item.key_len = some[i] > HASHBELT_KEY_MAX ? HASHBELT_KEY_MAX : some[i];
		item.key = place->make(item.key_len);
		for (k = 0; !place->readable && k < ARRAY_SIZE(on_keys); k++)
			keys += call(belt, on_keys[k], &item) != -EFAULT;
		is = without_value(belt);
		buffers += !is_same_snapshot(&is, &was) ||
			   counter(belt, HASHBELT_STAT_HITS) != hits;
	}
	is_int(buffers, 0, "get into a buffer %s: EFAULT, no hit, and no renewal", place->what);
	is_int(values, 0, "put of a value %s: EFAULT, and the old value stays", place->what);
	is_int(keys, 0, "each operation on a key %s: EFAULT", place->what);
	close(belt);
}

/* Pages that are not present yet */

static void test_fresh_buffer(void)
{
	int belt = new_belt(HASHBELT_REFRESH_ON_GET);
	unsigned int i, wrong = 0, late = 0;
	unsigned char *buffer;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		put_filled(belt, "key", sizes[i]);
		advance(belt, 1000);
		buffer = fresh_pages(sizes[i] + 1);
		wrong += get_bytes(belt, "key", buffer, sizes[i], sizes[i]) ||
			 !is_value(buffer, sizes[i]);
		late += look(belt, "key").err == 0 && look(belt, "key").ttl_ms != TTL;
	}
	ok(!wrong, "get into pages that are not present yet returns the value");
	ok(!late, "get into pages that are not present yet renews the entry");
	buffer = fresh_pages(2 * PAGE);
	buffer[0] = 1;
	put_filled(belt, "key", 64);
	ok(!get_bytes(belt, "key", buffer + PAGE - 32, 64, 64) &&
	   is_value(buffer + PAGE - 32, 64),
	   "get across a present page and one not present yet returns the value");
	close(belt);
}

static void test_fresh_source(void)
{
	static const unsigned char zeros[65536];
	int belt = new_belt(0);
	unsigned char *fresh = fresh_pages(sizeof(zeros));

	is_errno(put_bytes(belt, "key", fresh, sizeof(zeros)), 0,
		 "put from pages that are not present yet returns 0");
	ok(!get_bytes(belt, "key", room, sizeof(zeros), sizeof(zeros)) &&
	   !memcmp(room, zeros, sizeof(zeros)),
	   "put from pages that are not present yet stores zeros");
	close(belt);
}

/* Bits of an address above those of a 32-bit program's pointers are not ignored. */
static void test_wide_pointer(void)
{
	int belt = new_belt(0);
	struct hashbelt_item item = text_item("key", "value");

	item.key |= 1ULL << 62;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), EFAULT,
		 "put with bit 62 set in the key's address returns EFAULT");
	item = text_item("key", "value");
	item.value |= 1ULL << 62;
	is_errno(call(belt, HASHBELT_IOC_PUT, &item), EFAULT,
		 "put with bit 62 set in the value's address returns EFAULT");
	close(belt);
}

int main(void)
{
	unsigned int i;

	test_sizes();
	test_alignment();
	test_ends();
	for (i = 0; i < ARRAY_SIZE(bad_places); i++)
		test_bad_place(&bad_places[i]);
	test_fresh_buffer();
	test_fresh_source();
	test_wide_pointer();
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * scan_test - buffers of a scan that are too small, or that cannot be written.
 *
 * That a scan reports each entry once, also while the index is resized: tests/kunit/belt_test.c and
 * index_test.c.
 */
#include "device.h"

static unsigned char buffer[4096];

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

int main(void)
{
	test_too_small();
	test_bad_buffer();
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * layout - the interface has one layout for all programs.
 *
 * That this compiles is the proof: sizes, offsets and request numbers are the
 * same for 32 and 64 bits, and the same as they were when they were promised.
 * When run it says so.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <stddef.h>

#include "hashbelt.h"
#include "tap.h"

#define SIZE(type, size) \
	static_assert(sizeof(struct hashbelt_##type) == (size), #type)
#define FIELD(type, field, offset, size) \
	static_assert(offsetof(struct hashbelt_##type, field) == (offset) && \
		      sizeof(((struct hashbelt_##type *)0)->field) == (size), \
		      #type "." #field)
#define VALUE(name, value) \
	static_assert(HASHBELT_##name == (value), #name)

SIZE(item, 64);
FIELD(item, key, 0, 8);
FIELD(item, value, 8, 8);
FIELD(item, key_len, 16, 4);
FIELD(item, how, 20, 4);
FIELD(item, value_len, 24, 4);
FIELD(item, flags, 28, 4);
FIELD(item, ttl_ms, 32, 8);
FIELD(item, version, 40, 8);
FIELD(item, op, 48, 4);
FIELD(item, result, 52, 4);
FIELD(item, reserved, 56, 8);

SIZE(batch, 24);
FIELD(batch, items, 0, 8);
FIELD(batch, count, 8, 4);
FIELD(batch, flags, 12, 4);
FIELD(batch, done, 16, 4);
FIELD(batch, reserved, 20, 4);

SIZE(create, 120);
FIELD(create, name, 0, 64);
FIELD(create, ttl_ms, 64, 8);
FIELD(create, buckets, 72, 4);
FIELD(create, policy, 76, 4);
FIELD(create, mode, 80, 4);
FIELD(create, flags, 84, 4);
FIELD(create, reserved, 88, 32);

SIZE(name, 72);
FIELD(name, name, 0, 64);
FIELD(name, flags, 64, 4);
FIELD(name, reserved, 68, 4);

SIZE(info, 184);
FIELD(info, name, 0, 64);
FIELD(info, ttl_ms, 64, 8);
FIELD(info, interval_ns, 72, 8);
FIELD(info, now_ns, 80, 8);
FIELD(info, wake_ns, 88, 8);
FIELD(info, entries, 96, 8);
FIELD(info, bytes, 104, 8);
FIELD(info, table, 112, 8);
FIELD(info, buckets, 120, 4);
FIELD(info, levels, 124, 4);
FIELD(info, policy, 128, 4);
FIELD(info, mode, 132, 4);
FIELD(info, uid, 136, 4);
FIELD(info, gid, 140, 4);
FIELD(info, state, 144, 4);
FIELD(info, access, 148, 4);
FIELD(info, reserved, 152, 32);

SIZE(stat, 16);
FIELD(stat, counters, 0, 8);
FIELD(stat, count, 8, 4);
FIELD(stat, reserved, 12, 4);

SIZE(scan, 32);
FIELD(scan, cursor, 0, 8);
FIELD(scan, buffer, 8, 8);
FIELD(scan, size, 16, 4);
FIELD(scan, count, 20, 4);
FIELD(scan, reserved, 24, 8);

SIZE(record, 32);
FIELD(record, size, 0, 4);
FIELD(record, key_len, 4, 4);
FIELD(record, value_len, 8, 4);
FIELD(record, flags, 12, 4);
FIELD(record, ttl_ms, 16, 8);
FIELD(record, version, 24, 8);

VALUE(IOC_ABI, 0xbe00);
VALUE(IOC_GET, 0xc040be01);
VALUE(IOC_PUT, 0xc040be02);
VALUE(IOC_TOUCH, 0xc040be03);
VALUE(IOC_REMOVE, 0xc040be04);
VALUE(IOC_EXPIRE, 0xc040be05);
VALUE(IOC_BATCH, 0xc018be06);
VALUE(IOC_SCAN, 0xc020be07);
VALUE(IOC_CLEAR, 0xbe08);
VALUE(IOC_INFO, 0xc0b8be20);
VALUE(IOC_STAT, 0xc010be21);
VALUE(IOC_HALT, 0xbe22);
VALUE(IOC_RESUME, 0xbe23);
VALUE(IOC_ROTATE, 0xbe24);
VALUE(IOC_ADVANCE, 0x4008be25);
VALUE(IOC_CREATE, 0x4078be40);
VALUE(IOC_OPEN, 0x4048be41);
VALUE(IOC_DESTROY, 0x4048be42);
VALUE(IOC_NEXT, 0xc0b8be43);

VALUE(ABI, 1);
VALUE(NAME_SIZE, 64);
VALUE(KEY_MAX, 1024);
VALUE(VALUE_MAX, 1048576);
VALUE(BUCKETS_MIN, 2);
VALUE(BUCKETS_MAX, 65536);
VALUE(TTL_MAX_MS, 1ULL << 42);
VALUE(BATCH_MAX, 1024);
VALUE(SCAN_MAX, 1048576);
VALUE(TTL_BELT, 0);
VALUE(TTL_NEVER, 0xffffffffffffffff);
VALUE(TTL_KEEP, 0xfffffffffffffffe);

VALUE(OP_GET, 1);
VALUE(OP_PUT, 2);
VALUE(OP_TOUCH, 3);
VALUE(OP_REMOVE, 4);
VALUE(OP_EXPIRE, 5);
VALUE(IF_ABSENT, 0x01);
VALUE(IF_PRESENT, 0x02);
VALUE(IF_VERSION, 0x04);
VALUE(AND_TOUCH, 0x08);
VALUE(NO_REFRESH, 0x10);
VALUE(NO_VALUE, 0x20);
VALUE(REFRESH_ON_GET, 0x01);
VALUE(KEEP_ON_PUT, 0x02);
VALUE(MAY_READ, 0x01);
VALUE(MAY_WRITE, 0x02);
VALUE(MAY_OWN, 0x04);
VALUE(HALTED, 0x01);
VALUE(NAMELESS, 0x02);

VALUE(STAT_HITS, 0);
VALUE(STAT_MISSES, 1);
VALUE(STAT_PUTS_NEW, 2);
VALUE(STAT_PUTS_REPLACED, 3);
VALUE(STAT_REFUSED, 4);
VALUE(STAT_TOUCHES, 5);
VALUE(STAT_REMOVES, 6);
VALUE(STAT_EXPIRED, 7);
VALUE(STAT_CLEARED, 8);
VALUE(STAT_CASCADED, 9);
VALUE(STAT_DRAINED, 10);
VALUE(STAT_WAKEUPS, 11);

int main(void)
{
	plan(1);
	ok(true, "sizes, offsets and numbers are as promised, with pointers of %zu bits",
	   8 * sizeof(void *));
	return done_testing();
}

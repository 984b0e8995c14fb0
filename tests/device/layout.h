/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface as it has to stay: what hashbelt.h has is compared with these rows. A test that
 * includes this file defines what it makes of them:
 *
 *	SIZE(structure, bytes)
 *	FIELD(structure, member, offset, bytes)
 *	IOCTL(name, number, rights)	the rights that a descriptor needs for it: READ, WRITE,
 *					OWN and CONSUME, ANY for none, NO_BELT if it needs none to
 *					the belt to which it is bound
 *	VALUE(name, value)
 *
 * generate.sh adds rows, and changes none.
 */
/* Interface, by tests/generate.sh. */
SIZE(item, 64) FIELD(item, key, 0, 8) FIELD(item, value, 8, 8) FIELD(item, key_len, 16, 4)
FIELD(item, how, 20, 4) FIELD(item, value_len, 24, 4) FIELD(item, flags, 28, 4)
FIELD(item, ttl_ms, 32, 8) FIELD(item, version, 40, 8) FIELD(item, op, 48, 4)
FIELD(item, result, 52, 4) FIELD(item, reserved, 56, 8)

SIZE(sum, 16) FIELD(sum, by, 0, 8) FIELD(sum, value, 8, 8)

SIZE(batch, 24) FIELD(batch, items, 0, 8) FIELD(batch, count, 8, 4) FIELD(batch, flags, 12, 4)
FIELD(batch, done, 16, 4) FIELD(batch, reserved, 20, 4)

SIZE(settings, 160) FIELD(settings, name, 0, 64) FIELD(settings, ttl_ms, 64, 8)
FIELD(settings, buckets, 72, 4) FIELD(settings, policy, 76, 4) FIELD(settings, mode, 80, 4)
FIELD(settings, fields, 84, 4) FIELD(settings, handler, 88, 4) FIELD(settings, reasons, 92, 4)
FIELD(settings, gid, 96, 4) FIELD(settings, consumers, 100, 4) FIELD(settings, max_entries, 104, 8)
FIELD(settings, max_bytes, 112, 8) FIELD(settings, max_events, 120, 8)
FIELD(settings, grace_ms, 128, 8) FIELD(settings, window_bytes, 136, 8)
FIELD(settings, reserved, 144, 16)

SIZE(name, 72) FIELD(name, name, 0, 64) FIELD(name, flags, 64, 4) FIELD(name, uid, 68, 4)

SIZE(info, 272) FIELD(info, name, 0, 64) FIELD(info, ttl_ms, 64, 8) FIELD(info, interval_ns, 72, 8)
FIELD(info, now_ns, 80, 8) FIELD(info, wake_ns, 88, 8) FIELD(info, entries, 96, 8)
FIELD(info, bytes, 104, 8) FIELD(info, table, 112, 8) FIELD(info, buckets, 120, 4)
FIELD(info, levels, 124, 4) FIELD(info, policy, 128, 4) FIELD(info, mode, 132, 4)
FIELD(info, uid, 136, 4) FIELD(info, gid, 140, 4) FIELD(info, state, 144, 4)
FIELD(info, access, 148, 4) FIELD(info, handler, 152, 4) FIELD(info, reasons, 156, 4)
FIELD(info, max_entries, 160, 8) FIELD(info, max_bytes, 168, 8) FIELD(info, max_events, 176, 8)
FIELD(info, used_entries, 184, 8) FIELD(info, used_bytes, 192, 8) FIELD(info, queued, 200, 8)
FIELD(info, in_flight, 208, 8) FIELD(info, queued_bytes, 216, 8) FIELD(info, sequence, 224, 8)
FIELD(info, id, 232, 8) FIELD(info, grace_ms, 240, 8) FIELD(info, locks, 248, 8)
FIELD(info, requests, 256, 8) FIELD(info, window_bytes, 264, 4) FIELD(info, window_used, 268, 4)

SIZE(stat, 24) FIELD(stat, counters, 0, 8) FIELD(stat, lags, 8, 8) FIELD(stat, count, 16, 4)
FIELD(stat, lag_count, 20, 4)

SIZE(buckets, 24) FIELD(buckets, cursor, 0, 8) FIELD(buckets, counts, 8, 8)
FIELD(buckets, count, 16, 4) FIELD(buckets, reserved, 20, 4)

SIZE(event, 64) FIELD(event, size, 0, 4) FIELD(event, reason, 4, 4) FIELD(event, sequence, 8, 8)
FIELD(event, lost, 16, 8) FIELD(event, deadline_ns, 24, 8) FIELD(event, handed_ns, 32, 8)
FIELD(event, version, 40, 8) FIELD(event, token, 40, 8) FIELD(event, id, 40, 8)
FIELD(event, flags, 48, 4) FIELD(event, key_len, 52, 4) FIELD(event, value_len, 56, 4)
FIELD(event, kind, 60, 4)

SIZE(scan, 32) FIELD(scan, cursor, 0, 8) FIELD(scan, buffer, 8, 8) FIELD(scan, size, 16, 4)
FIELD(scan, count, 20, 4) FIELD(scan, reserved, 24, 8)

SIZE(record, 32) FIELD(record, size, 0, 4) FIELD(record, key_len, 4, 4)
FIELD(record, value_len, 8, 4) FIELD(record, flags, 12, 4) FIELD(record, ttl_ms, 16, 8)
FIELD(record, version, 24, 8)

SIZE(lock, 88) FIELD(lock, key, 0, 8) FIELD(lock, owner, 8, 8) FIELD(lock, key_len, 16, 4)
FIELD(lock, owner_len, 20, 4) FIELD(lock, how, 24, 4) FIELD(lock, reserved32, 28, 4)
FIELD(lock, ttl_ms, 32, 8) FIELD(lock, wait_ms, 40, 8) FIELD(lock, token, 48, 8)
FIELD(lock, held_ms, 56, 8) FIELD(lock, count, 64, 8) FIELD(lock, reserved, 72, 16)

SIZE(locks, 40) FIELD(locks, cursor, 0, 8) FIELD(locks, owner, 8, 8) FIELD(locks, buffer, 16, 8)
FIELD(locks, owner_len, 24, 4) FIELD(locks, size, 28, 4) FIELD(locks, count, 32, 4)
FIELD(locks, reserved, 36, 4)

SIZE(lock_record, 40) FIELD(lock_record, size, 0, 4) FIELD(lock_record, key_len, 4, 4)
FIELD(lock_record, owner_len, 8, 4) FIELD(lock_record, how, 12, 4)
FIELD(lock_record, ttl_ms, 16, 8) FIELD(lock_record, held_ms, 24, 8)
FIELD(lock_record, token, 32, 8)

SIZE(fill, 120) FIELD(fill, item, 0, 64) FIELD(fill, lease_ms, 64, 8) FIELD(fill, wait_ms, 72, 8)
FIELD(fill, ahead_ms, 80, 8) FIELD(fill, token, 88, 8) FIELD(fill, how, 96, 4)
FIELD(fill, state, 100, 4) FIELD(fill, reserved, 104, 16)

SIZE(key, 16) FIELD(key, key, 0, 8) FIELD(key, key_len, 8, 4) FIELD(key, count, 12, 4)

SIZE(request, 48) FIELD(request, id, 0, 8) FIELD(request, keys, 8, 8) FIELD(request, count, 16, 4)
FIELD(request, flags, 20, 4) FIELD(request, ttl_ms, 24, 8) FIELD(request, reserved, 32, 16)

SIZE(window, 56) FIELD(window, layout, 0, 4) FIELD(window, state, 4, 4)
FIELD(window, slots_at, 8, 4) FIELD(window, sets, 12, 4) FIELD(window, seed, 16, 8)
FIELD(window, floor, 24, 8) FIELD(window, clock, 32, 8) FIELD(window, offset_ns, 40, 8)
FIELD(window, halted_ns, 48, 8)

SIZE(window_slot, 128) FIELD(window_slot, sequence, 0, 8) FIELD(window_slot, version, 8, 8)
FIELD(window_slot, deadline_ns, 16, 8) FIELD(window_slot, tag, 24, 4)
FIELD(window_slot, flags, 28, 4) FIELD(window_slot, key_len, 32, 4)
FIELD(window_slot, value_len, 36, 4) FIELD(window_slot, data, 40, 88)

SIZE(window_map, 24) FIELD(window_map, bytes, 0, 8) FIELD(window_map, shift_ns, 8, 8)
FIELD(window_map, reserved, 16, 8)

IOCTL(ABI, 0xbe00, NO_BELT) IOCTL(GET, 0xc040be01, READ) IOCTL(PUT, 0xc040be02, WRITE)
IOCTL(TOUCH, 0xc040be03, WRITE) IOCTL(REMOVE, 0xc040be04, WRITE) IOCTL(EXPIRE, 0xc040be05, WRITE)
IOCTL(BATCH, 0xc018be06, ANY) IOCTL(SCAN, 0xc020be07, READ) IOCTL(CLEAR, 0xbe08, WRITE)
IOCTL(ADD, 0xc040be09, READ | WRITE) IOCTL(FILL, 0xc078be0a, READ | WRITE)
IOCTL(INFO, 0xc110be20, READ) IOCTL(STAT, 0xc018be21, READ) IOCTL(HALT, 0xbe22, OWN)
IOCTL(RESUME, 0xbe23, OWN) IOCTL(ROTATE, 0xbe24, OWN) IOCTL(ADVANCE, 0x4008be25, OWN)
IOCTL(SET, 0x40a0be26, OWN) IOCTL(BUCKETS, 0xc018be27, READ) IOCTL(WINDOW, 0xc018be28, READ)
IOCTL(WATCH, 0x4004be30, READ) IOCTL(ACK, 0x4008be31, READ | CONSUME)
IOCTL(REQUEST, 0x4030be32, READ | WRITE) IOCTL(CANCEL, 0x4008be33, READ)
IOCTL(COMPLETE, 0xc010be34, WRITE) IOCTL(CREATE, 0x40a0be40, NO_BELT)
IOCTL(OPEN, 0x4048be41, NO_BELT) IOCTL(DESTROY, 0x4048be42, NO_BELT)
IOCTL(NEXT, 0xc110be43, NO_BELT) IOCTL(LOCK, 0xc058be50, WRITE) IOCTL(UNLOCK, 0xc058be51, WRITE)
IOCTL(RENEW, 0xc058be52, WRITE) IOCTL(HOLDER, 0xc058be53, READ) IOCTL(RELEASE, 0xc058be54, WRITE)
IOCTL(LOCKS, 0xc028be55, READ)

VALUE(ABI, 1) VALUE(NAME_SIZE, 64) VALUE(KEY_MAX, 1024) VALUE(VALUE_MAX, 1048576)
VALUE(BUCKETS_MIN, 2) VALUE(BUCKETS_MAX, 65536) VALUE(TTL_MAX_MS, 4398046511104)
VALUE(BATCH_MAX, 1024) VALUE(SCAN_MAX, 1048576) VALUE(OWNER_MAX, 64) VALUE(REQUEST_KEYS, 16)
VALUE(WINDOW_MIN, 65536) VALUE(WINDOW_MAX, 8388608) VALUE(WINDOW_DEFAULT, 1048576)
VALUE(TTL_BELT, 0) VALUE(TTL_NEVER, 0xffffffffffffffff) VALUE(TTL_KEEP, 0xfffffffffffffffe)
VALUE(AT_LEAST, 0x8000000000000000) VALUE(WAIT_UNTIL, 0x8000000000000000) VALUE(OP_GET, 1)
VALUE(OP_PUT, 2) VALUE(OP_TOUCH, 3) VALUE(OP_REMOVE, 4) VALUE(OP_EXPIRE, 5) VALUE(OP_ADD, 6)
VALUE(IF_ABSENT, 0x01) VALUE(IF_PRESENT, 0x02) VALUE(IF_VERSION, 0x04) VALUE(AND_TOUCH, 0x08)
VALUE(NO_REFRESH, 0x10) VALUE(NO_VALUE, 0x20) VALUE(BOUND, 0x40) VALUE(IF_LEASE, 0x80)
VALUE(TO_WINDOW, 0x100) VALUE(FLOOR, 0x200) VALUE(LEAVE_STALE, 0x400) VALUE(IF_LASTING, 0x800)
VALUE(IF_EXPIRING, 0x1000) VALUE(IF_LATER, 0x2000) VALUE(IF_SOONER, 0x4000)
VALUE(FROM_DEADLINE, 0x8000) VALUE(REFRESH_ON_GET, 0x01) VALUE(KEEP_ON_PUT, 0x02)
VALUE(EVICT, 0x04) VALUE(PINNED, 0x08) VALUE(WIPE, 0x10) VALUE(POLICY_ALL, 0x1f)
VALUE(POLICY_STANDARD, 2) VALUE(POLICY_UPDATING, 1) VALUE(POLICY_TIMECACHE, 0)
VALUE(MAY_READ, 0x01) VALUE(MAY_WRITE, 0x02) VALUE(MAY_OWN, 0x04) VALUE(MAY_CONSUME, 0x08)
VALUE(DROP, 0) VALUE(NOTIFY, 1) VALUE(REINSERT, 2) VALUE(CONSUMERS_READERS, 0)
VALUE(CONSUMERS_OWNER, 1) VALUE(EXPIRED, 1) VALUE(EVICTED, 2) VALUE(REPLACED, 3) VALUE(REMOVED, 4)
VALUE(CLEARED, 5) VALUE(PRESSURE, 6) VALUE(RELEASED, 7) VALUE(BY_TIMEOUT, 1) VALUE(BY_EVICTION, 2)
VALUE(BY_PUT, 3) VALUE(BY_COMPLETE, 4) VALUE(BY_CLEAR, 5) VALUE(BY_PRESSURE, 6) VALUE(ENTRY, 0)
VALUE(LOCK, 1) VALUE(REQUEST, 2) VALUE(REPORT(1), 2) VALUE(REPORT_DEFAULT, 70)
VALUE(REPORT_ALL, 0xfe) VALUE(EVENTS_DEFAULT, 1048576) VALUE(SET_TTL, 0x0001)
VALUE(SET_BUCKETS, 0x0002) VALUE(SET_POLICY, 0x0004) VALUE(SET_HANDLER, 0x0008)
VALUE(SET_REASONS, 0x0010) VALUE(SET_MAX_ENTRIES, 0x0020) VALUE(SET_MAX_BYTES, 0x0040)
VALUE(SET_MAX_EVENTS, 0x0080) VALUE(SET_MODE, 0x0100) VALUE(SET_GID, 0x0200)
VALUE(SET_GRACE, 0x0400) VALUE(SET_CONSUMERS, 0x0800) VALUE(SET_WINDOW, 0x1000)
VALUE(SET_ALL, 0x1fff) VALUE(OF_OWNER, 0x01) VALUE(HALTED, 0x01) VALUE(NAMELESS, 0x02)
VALUE(OWNER_CONSUMES, 0x04) VALUE(LAGS, 24) VALUE(WATCH_ACK, 0x01) VALUE(WATCH_REQUESTS, 0x02)
VALUE(EVENT_MAX, 1049664) VALUE(STALE, 0x100) VALUE(GIVE_UP, 0x200) VALUE(RENEW_LEASE, 0x400)
VALUE(FAIL, 0x800) VALUE(GRANTED, 0x01) VALUE(FILLING, 0x02) VALUE(FAILED, 0x04)
VALUE(WINDOW_LAYOUT, 1) VALUE(WINDOW_WAYS, 4) VALUE(WINDOW_WORDS, 11) VALUE(WINDOW_DATA, 88)
VALUE(WINDOW_DEAD, 0x01) VALUE(WINDOW_RENEWS, 0x02)
/* End of what tests/generate.sh writes. */

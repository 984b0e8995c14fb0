// SPDX-License-Identifier: GPL-2.0-only
/*
 * A keyring with keys of the type "user". An operation on a key that is known by its description
 * begins with a search for its serial number; the peer keyring-id has remembered these.
 */
#include <errno.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compare.h"

static const struct plan *plan;
static int32_t *serials;
static long ring;

static enum work work;
static unsigned int count;
static long results[SLICE];
static struct key keys[SLICE];
static char values[SLICE][VALUE_MAX];

static long find(unsigned int i)
{
	return syscall(SYS_keyctl, KEYCTL_SEARCH, ring, "user", keys[i].text, 0);
}

static long set_timeout(long serial)
{
	return syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, serial, seconds(plan->ttl_ms));
}

static long read_key(unsigned int i, long serial)
{
	return syscall(SYS_keyctl, KEYCTL_READ, serial, values[i], plan->value_size);
}

static long put(unsigned int i)
{
	long serial = syscall(SYS_add_key, "user", keys[i].text, values[i], plan->value_size, ring);

	return serial < 0 || set_timeout(serial) ? -1 : serial;
}

static long found(unsigned int i, long serial)
{
	switch (work) {
	case REMOVE:
		return syscall(SYS_keyctl, KEYCTL_UNLINK, serial, ring);
	case TOUCH:
		return set_timeout(serial);
	default:
		return read_key(i, serial);
	}
}

static unsigned int run(void)
{
	for (unsigned int i = 0; i < count; i++) {
		long result = work == PUT ? put(i) : find(i);

		if (result >= 0 && work != PUT)
			result = found(i, result);
		results[i] = result < 0 ? -errno : result;
	}
	return count;
}

static unsigned int run_id(void)
{
	for (unsigned int i = 0; i < count; i++) {
		long result = work == PUT ? put(i) : found(i, serials[keys[i].number]);

		results[i] = result < 0 ? -errno : result;
	}
	return count;
}

static void open_ring(const struct plan *new_plan)
{
	plan = new_plan;
	serials = zalloc(plan->entries, sizeof(*serials));
	ring = syscall(SYS_add_key, "keyring", "compare", NULL, 0, KEY_SPEC_PROCESS_KEYRING);
	if (ring < 0)
		die("add_key", strerror(errno));
}

/* A keyring has no call for several keys. */
static bool prepare(enum work new_work, const struct key *new_keys, unsigned int new_count)
{
	if (new_work >= GET_MANY)
		return false;
	work = new_work;
	count = new_count;
	memcpy(keys, new_keys, count * sizeof(*keys));
	for (unsigned int i = 0; i < count; i++)
		prepare_value(values[i], work, keys[i].text, plan->value_size);
	return true;
}

/* The serial numbers are those of the filled entries. */
static bool prepare_id(enum work new_work, const struct key *new_keys, unsigned int new_count)
{
	return (new_work == GET || new_work == TOUCH ||
		(new_work == PUT && new_keys[0].number < plan->entries)) &&
	       prepare(new_work, new_keys, new_count);
}

static void check(void)
{
	for (unsigned int i = 0; i < count; i++) {
		if (work == MISS ? results[i] != -ENOKEY : results[i] < 0)
			die(keyring_peer.name, strerror(-results[i]));
		if (work == GET)
			check_value(keyring_peer.name, values[i], keys[i].text, plan->value_size);
		if (work == PUT && keys[i].number < plan->entries)
			serials[keys[i].number] = results[i];
	}
}

const struct peer keyring_peer = {
	.name = "keyring", .open = open_ring, .prepare = prepare, .run = run, .check = check,
};

const struct peer keyring_id_peer = {
	.name = "keyring-id", .open = open_ring, .prepare = prepare_id, .run = run_id,
	.check = check,
};

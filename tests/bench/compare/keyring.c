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

static int32_t *serials;		/* of the filled entries */
static long ring;

static long find(unsigned int i)
{
	return syscall(SYS_keyctl, KEYCTL_SEARCH, ring, "user", calls.keys[i].text, 0);
}

static long set_timeout(long serial)
{
	return syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, serial, seconds(plan.ttl_ms));
}

static long put(unsigned int i)
{
	long serial = syscall(SYS_add_key, "user", calls.keys[i].text, calls.values[i],
			      plan.value_size, ring);

	if (serial >= 0 && calls.keys[i].number < plan.entries)
		serials[calls.keys[i].number] = serial;
	return serial < 0 ? serial : set_timeout(serial);
}

static long use(unsigned int i, long serial)
{
	switch (calls.work) {
	case REMOVE:
		return syscall(SYS_keyctl, KEYCTL_UNLINK, serial, ring);
	case TOUCH:
		return set_timeout(serial);
	default:
		return syscall(SYS_keyctl, KEYCTL_READ, serial, calls.values[i], plan.value_size);
	}
}

static unsigned int run(void)
{
	for (unsigned int i = 0; i < calls.count; i++) {
		long result = calls.work == PUT ? put(i) : find(i);

		if (result >= 0 && calls.work != PUT)
			result = use(i, result);
		calls.results[i] = result < 0 ? -errno : 0;
	}
	return calls.count;
}

static unsigned int run_id(void)
{
	for (unsigned int i = 0; i < calls.count; i++) {
		long result = calls.work == PUT ? put(i) :
						  use(i, serials[calls.keys[i].number]);

		calls.results[i] = result < 0 ? -errno : 0;
	}
	return calls.count;
}

static void open_ring(void)
{
	serials = zalloc(plan.entries, sizeof(*serials));
	ring = syscall(SYS_add_key, "keyring", "compare", NULL, 0, KEY_SPEC_PROCESS_KEYRING);
	if (ring < 0)
		die("add_key", strerror(errno));
}

/* A keyring has no call for several keys. */
static bool prepare(void)
{
	return calls.work < GET_MANY;
}

static bool prepare_id(void)
{
	return calls.work == GET || calls.work == TOUCH ||
	       (calls.work == PUT && calls.keys[0].number < plan.entries);
}

const struct peer keyring_peer = {
	.name = "keyring", .absent = -ENOKEY, .open = open_ring, .prepare = prepare, .run = run,
};

const struct peer keyring_id_peer = {
	.name = "keyring-id", .absent = -ENOKEY, .open = open_ring, .prepare = prepare_id,
	.run = run_id,
};

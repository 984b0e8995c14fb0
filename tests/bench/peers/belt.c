// SPDX-License-Identifier: GPL-2.0-only
/* A belt, whose time stands still and is moved on by hand. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "hashbelt.h"
#include "peer.h"

#define BUCKETS	500

static char buffer[PEER_VALUE_MAX];

static bool get(struct peer *peer, const char *key, size_t key_len)
{
	struct hashbelt_item item = {
		.key = (uintptr_t)key, .key_len = key_len,
		.value = (uintptr_t)buffer, .value_len = sizeof(buffer),
	};

	if (!ioctl(peer->fd, HASHBELT_IOC_GET, &item))
		return true;
	if (errno != ENOENT)
		die("HASHBELT_IOC_GET", strerror(errno));
	return false;
}

static bool store(struct peer *peer, const char *key, size_t key_len, const char *value,
		  size_t size, uint64_t ttl, uint32_t how)
{
	struct hashbelt_item item = {
		.key = (uintptr_t)key, .key_len = key_len,
		.value = (uintptr_t)value, .value_len = size,
		.ttl_ms = ttl ? ttl : HASHBELT_TTL_NEVER, .how = how,
	};

	return !ioctl(peer->fd, HASHBELT_IOC_PUT, &item) || (how && errno == EEXIST);
}

static bool put(struct peer *peer, const char *key, size_t key_len, const char *value, size_t size,
		uint64_t ttl)
{
	return store(peer, key, key_len, value, size, ttl, 0);
}

static bool add(struct peer *peer, const char *key, size_t key_len, const char *value, size_t size,
		uint64_t ttl)
{
	return store(peer, key, key_len, value, size, ttl, HASHBELT_IF_ABSENT);
}

static void take_out(struct peer *peer, const char *key, size_t key_len)
{
	struct hashbelt_item item = { .key = (uintptr_t)key, .key_len = key_len };

	if (ioctl(peer->fd, HASHBELT_IOC_REMOVE, &item) && errno != ENOENT)
		die("HASHBELT_IOC_REMOVE", strerror(errno));
}

static uint64_t used(struct peer *peer)
{
	struct hashbelt_info info = { 0 };

	if (ioctl(peer->fd, HASHBELT_IOC_INFO, &info))
		die("HASHBELT_IOC_INFO", strerror(errno));
	return info.used_bytes;
}

static const struct peer_ops ops = {
	.get = get, .put = put, .add = add, .remove = take_out, .used = used,
};

/* The time of its belt is moved on before requests, and not measured. */
void belt_advance(struct peer *peer, uint64_t time)
{
	uint64_t by = time - peer->time;

	if (by && ioctl(peer->fd, HASHBELT_IOC_ADVANCE, &by))
		die("HASHBELT_IOC_ADVANCE", strerror(errno));
	peer->time = time;
}

void belt_open(struct peer *peer, const struct hashbelt_settings *settings)
{
	struct hashbelt_settings copy = *settings;

	copy.buckets = BUCKETS;
	peer->ops = &ops;
	peer->fd = open("/dev/hashbelt", O_RDWR | O_CLOEXEC);
	if (peer->fd < 0)
		die("/dev/hashbelt", strerror(errno));
	if (ioctl(peer->fd, HASHBELT_IOC_CREATE, &copy) || ioctl(peer->fd, HASHBELT_IOC_HALT))
		die("HASHBELT_IOC_CREATE", strerror(errno));
}

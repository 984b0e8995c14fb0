/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * window.h - helpers for tests of windows: mapping one, and looking at its slots while no other
 * task changes them. The reader for programs is in tools/lib/client_window.c.
 */
#ifndef _WINDOW_H
#define _WINDOW_H

#include "device.h"

/* A mapping of a window; @shown is NULL if it was refused, and @err says why. */
struct mapping {
	struct hashbelt_window_map map;
	volatile struct hashbelt_window *shown;
	int err;
};

/* Maps the window of the belt to which @fd is bound, with these rights and flags of mmap(2). */
static inline struct mapping map_with(int fd, int rights, int flags)
{
	struct mapping mapping = {};
	void *at;

	mapping.err = call(fd, HASHBELT_IOC_WINDOW, &mapping.map);
	if (mapping.err)
		return mapping;
	at = mmap(NULL, mapping.map.bytes, rights, flags, fd, 0);
	if (at == MAP_FAILED)
		mapping.err = -errno;
	else
		mapping.shown = at;
	return mapping;
}

static inline struct mapping map_window(int fd)
{
	return map_with(fd, PROT_READ, MAP_SHARED);
}

/* map_window() of which a failure ends the program. */
static inline struct mapping must_map(int fd)
{
	struct mapping mapping = map_window(fd);

	if (mapping.err)
		bail_out("map the window: %s", error_name(mapping.err));
	return mapping;
}

static inline void unmap(struct mapping *mapping)
{
	if (munmap((void *)mapping->shown, mapping->map.bytes))
		bail_out("munmap: %s", strerror(errno));
	mapping->shown = NULL;
}

/* The slot of a key, whether or not its copy still counts; NULL: there is none. */
static inline const struct hashbelt_window_slot *slot_of(const struct mapping *mapping,
							 const char *key)
{
	const struct hashbelt_window_slot *slot =
		(const void *)((const char *)mapping->shown + mapping->shown->slots_at);
	unsigned int i, slots = mapping->shown->sets * HASHBELT_WINDOW_WAYS;

	for (i = 0; i < slots; i++, slot++)
		if (slot->version && slot->key_len == strlen(key) &&
		    !memcmp(slot->data, key, slot->key_len))
			return slot;
	return NULL;
}

/* A get that asks for a slot of the window; 0 or a negative errno. */
static inline int ask(int fd, const char *key)
{
	struct hashbelt_item item = item_of(key);

	item.how = HASHBELT_TO_WINDOW | HASHBELT_NO_VALUE;
	return call(fd, HASHBELT_IOC_GET, &item);
}

/* Asks as often as it takes for a key to get a slot of a window that has room. */
static inline void bring_in(int fd, const char *key)
{
	if (ask(fd, key) || ask(fd, key))
		bail_out("%s is not in the belt", key);
}

#endif /* _WINDOW_H */

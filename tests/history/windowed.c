// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gets that look into a mapped window. They use the library's reader itself, and not
 * hashbelt_window_map(), which maps no window where a reading of the clock is a system call, as in
 * some guests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client_window.h"
#include "windowed.h"

static void fail(const char *what, int err)
{
	printf("Bail out! %s: %s\n", what, strerror(err));
	exit(255);
}

/**
 * windowed_map() - map the window of the belt to which a descriptor is bound
 * @windowed:	returned: the mapping
 * @fd:		the descriptor, which has not mapped it
 */
void windowed_map(struct windowed *windowed, int fd)
{
	struct hashbelt_window_map map = {};
	void *window;
	int err;

	windowed->reader = NULL;
	for (;;) {
		if (ioctl(fd, HASHBELT_IOC_WINDOW, &map)) {
			if (errno != ENODATA)
				fail("the window", errno);
			return;
		}
		window = mmap(NULL, map.bytes, PROT_READ, MAP_SHARED, fd, 0);
		if (window != MAP_FAILED)
			break;
		/* SET has made another one, or none, meanwhile. */
		if (errno != EINVAL && errno != ENODATA)
			fail("mmap", errno);
	}
	err = hashbelt_window_reader(window, map.bytes, map.shift_ns, &windowed->reader);
	if (err)
		fail("the reader", -err);
}

/* Whether the belt has the window still. */
bool windowed_is_live(const struct windowed *windowed)
{
	const struct hashbelt_window *window = windowed->reader ? windowed->reader->window : NULL;

	return window && !(__atomic_load_n(&window->state, __ATOMIC_RELAXED) &
			   HASHBELT_WINDOW_DEAD);
}

void windowed_unmap(struct windowed *windowed)
{
	struct window_reader *reader = windowed->reader;

	if (!reader)
		return;
	munmap((void *)reader->window, reader->bytes);
	munmap(reader, sizeof(*reader));
	windowed->reader = NULL;
}

/**
 * windowed_get() - look for an entry in the window, as hashbelt_get() does before its call
 * @windowed:	the mapping
 * @key:	the key
 * @key_len:	its length, bytes
 * @buffer:	space for the value
 * @size:	its size, bytes
 * @item:	@how; returned: the results of a get. After false its @how asks for a slot
 *
 * Return: true if the window had the entry; otherwise the caller makes the call.
 */
bool windowed_get(struct windowed *windowed, const void *key, size_t key_len, void *buffer,
		  size_t size, struct hashbelt_item *item)
{
	if (windowed->reader && hashbelt_window_get(windowed->reader, key, key_len, buffer, size,
						    item) == WINDOW_HIT)
		return true;
	item->how |= HASHBELT_TO_WINDOW;
	return false;
}

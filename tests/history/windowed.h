/* SPDX-License-Identifier: GPL-2.0-only */
/* windowed.h - gets that look into a mapped window by the library's reader. */
#ifndef _WINDOWED_H
#define _WINDOWED_H

#include <stdbool.h>
#include <stddef.h>

struct hashbelt_item;

/* A mapping of a window, for one thread. */
struct windowed {
	struct window_reader *reader;	/* the library's; NULL: the belt has no window */
};

void windowed_map(struct windowed *windowed, int fd);
bool windowed_is_live(const struct windowed *windowed);
void windowed_unmap(struct windowed *windowed);
bool windowed_get(struct windowed *windowed, const void *key, size_t key_len, void *buffer,
		  size_t size, struct hashbelt_item *item);

#endif /* _WINDOWED_H */

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* libhashbelt: reads of a belt's window, without a system call. */
#ifndef HASHBELT_CLIENT_WINDOW_H
#define HASHBELT_CLIENT_WINDOW_H

#include "private.h"

/* Sets of counters, so that few threads share one. A power of two. */
#define WINDOW_STRIPES		32

/* One of so many finds is left to the kernel, which learns by it that the entry is in use. */
#define WINDOW_TOLD		64

/**
 * struct window_stripe - counters of some threads
 * @left:	entries to be found in the window until one is left to the kernel
 * @told:	those that were left to it
 * @calls:	gets that made the call
 *
 * A set fills a line of the cache.
 */
struct window_stripe {
	long left;
	unsigned long told;
	unsigned long calls;
	unsigned long filler[5];
};

/**
 * struct window_reader - what a get needs to look into a mapped window
 * @window:	where the window is mapped; NULL in a child of the process that has mapped it
 * @slots:	its slots
 * @seed:	of the hash of the keys
 * @last_set:	number of the last set
 * @shift_ns:	as in struct hashbelt_window_map; hashbelt_window_map() sets it anew
 * @bytes:	length of the mapping
 * @stripes:	counters
 *
 * A reader has pages of its own, which fork(2) fills with zeros in the child: mappings of windows
 * are not inherited. All but the counters and @shift_ns, which are loaded and stored atomically, is
 * stable from before the reader is published until hashbelt_close(), so that threads use it without
 * a lock.
 */
struct window_reader {
	const struct hashbelt_window *window;
	const struct hashbelt_window_slot *slots;
	__u64 seed;
	__u64 last_set;
	__s64 shift_ns;
	size_t bytes;
	__u64 filler[2];
	struct window_stripe stripes[WINDOW_STRIPES];
};

/**
 * enum window_answer - the answer of a look into the window
 * @WINDOW_HIT:	the entry was found, and copied
 * @WINDOW_ASK:	make the call, with HASHBELT_TO_WINDOW
 * @WINDOW_CALL: make the call; no window can answer this get
 */
enum window_answer {
	WINDOW_HIT,
	WINDOW_ASK,
	WINDOW_CALL,
};

/* Gets that look into the window together. */
#define WINDOW_BATCH		64

/**
 * struct window_rest - the gets of a batch that the window does not answer
 * @count:	their number
 * @index:	of each in the batch
 * @sizes:	of the buffers of all gets of the batch
 * @items:	copies of them, for the call
 */
struct window_rest {
	unsigned int count;
	unsigned int index[WINDOW_BATCH];
	__u32 sizes[WINDOW_BATCH];
	struct hashbelt_item items[WINDOW_BATCH];
};

HIDDEN int hashbelt_window_reader(const struct hashbelt_window *window, size_t bytes,
				  __s64 shift_ns, struct window_reader **reader);
HIDDEN enum window_answer hashbelt_window_get(struct window_reader *reader, const void *key,
					      size_t key_len, void *buffer, size_t size,
					      struct hashbelt_item *item);
HIDDEN void hashbelt_window_look(struct window_reader *reader, struct hashbelt_item *items,
				 unsigned int gets, struct window_rest *rest);
HIDDEN int hashbelt_window_bind(struct hashbelt *belt, unsigned long request, void *arg);
HIDDEN void hashbelt_window_renew(struct hashbelt *belt);
HIDDEN void hashbelt_window_leave(struct hashbelt *belt);
HIDDEN void hashbelt_window_close(struct hashbelt *belt);

/* The reader of the handle's window; NULL if none is mapped. */
static inline struct window_reader *window_reader_of(const struct hashbelt *belt)
{
	uintptr_t window = __atomic_load_n(&belt->window, __ATOMIC_ACQUIRE);

	return window & WINDOW_NONE ? NULL : (struct window_reader *)window;
}

#endif /* HASHBELT_CLIENT_WINDOW_H */

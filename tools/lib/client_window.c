// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libhashbelt: gets, by a belt's window or by a system call.
 *
 * The first part of this file, up to look_up(), is the reader of windows. It needs nothing but the
 * mapping, a clock, and atomic loads, so that other languages can do the same. The kernel changes a
 * window while readers are in it. The reader therefore copies first, and then finds out whether its
 * copy is whole. It never waits: it leaves to the kernel what it cannot read at once.
 *
 * The second part has hashbelt_get(), and the look of a batch. The third one maps windows.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "client_window.h"

#define WORD		sizeof(__u64)
#define HALF		32
#define SECOND_NS	1000000000
#define MS_NS		1000000

/* Windows that a handle of several threads maps, one for each of its belts. */
#define WINDOWS_MAX	64

/* The stacks of threads are usually 2^STACK_SHIFT bytes apart. */
#define STACK_SHIFT	23

/* ThreadSanitizer knows no fences. */
#ifdef __SANITIZE_THREAD__
#define LOAD(address)		__atomic_load_n(address, __ATOMIC_ACQUIRE)
#define END_OF_LOADS()		((void)0)
#else
#define LOAD(address)		__atomic_load_n(address, __ATOMIC_RELAXED)
#define END_OF_LOADS()		__atomic_thread_fence(__ATOMIC_ACQUIRE)
#endif
#define LOAD_FIRST(address)	__atomic_load_n(address, __ATOMIC_ACQUIRE)

/* A hit takes as few instructions as its steps need. All else may take some more. */
#define IN_LINE			__attribute__((__always_inline__))
#define OUT_OF_LINE		__attribute__((__noinline__))
#define UNLIKELY(condition)	__builtin_expect(!!(condition), 0)

_Static_assert(sizeof(struct hashbelt_window_slot) == 128, "a slot has two lines of the cache");

/*
 * The counters of the calling thread, told by an address on its stack. It may share them with other
 * threads.
 */
static inline struct window_stripe *stripe_of(struct window_reader *reader, uintptr_t on_stack)
{
	uintptr_t at = on_stack / ((1 << STACK_SHIFT) / sizeof(*reader->stripes));

	/* In bytes: an index would take more instructions. */
	at &= sizeof(reader->stripes) - sizeof(*reader->stripes);
	return (struct window_stripe *)((char *)reader->stripes + at);
}

static inline void count(unsigned long *counter, unsigned long n)
{
	__atomic_add_fetch(counter, n, __ATOMIC_RELAXED);
}

/* A 32-bit program has no loads of 64 bits, and maps no window. */
#if __SIZEOF_POINTER__ >= 8

/**
 * struct found - what a slot has beside key and value
 * @version:	the entry's version
 * @deadline_ns: belt time up to which the copy holds
 * @flags:	the user's flag bits
 * @len:	length of the value, bytes
 */
struct found {
	__u64 version;
	__u64 deadline_ns;
	__u32 flags;
	__u32 len;
};

static inline __u64 word_at(const char *key)
{
	__u64 word;

	memcpy(&word, key, WORD);
	return word;
}

/* A key of less than a word, with zeros behind it. */
static inline __u64 short_word(const char *key, size_t len)
{
	__u64 word = 0;

	memcpy(&word, key, len);
	return word;
}

/* A word of a slot, at any address, in parts of any size: as copy_value(). */
static inline __u64 load_word(const char *at)
{
#ifdef __SANITIZE_THREAD__
	__u64 word = 0;
	int byte;

	for (byte = 0; byte < 8; byte++)
		((unsigned char *)&word)[byte] = LOAD((const unsigned char *)at + byte);
	return word;
#else
	return word_at(at);
#endif
}

/* The hash of a key, as struct hashbelt_window describes it. */
static inline __u64 hash_of(__u64 hash, const char *key, size_t len)
{
	const char *last = key + len - WORD;

	hash ^= len;
	if (UNLIKELY(len < WORD))
		return hashbelt_window_mix(hash, short_word(key, len));
	for (; key < last; key += WORD)
		hash = hashbelt_window_mix(hash, word_at(key));
	return hashbelt_window_mix(hash, word_at(last));
}

/* Whether a slot has the key. */
static inline IN_LINE int is_key(const struct hashbelt_window_slot *slot, const char *key,
				 size_t len)
{
	const char *last = key + len - WORD;
	const __u64 *word = slot->data;

	if (UNLIKELY(LOAD(&slot->key_len) != len))
		return 0;
	if (UNLIKELY(len < WORD))
		return LOAD(word) == short_word(key, len);
	for (; key < last; key += WORD, word++)
		if (UNLIKELY(LOAD(word) != word_at(key)))
			return 0;
	/* It may overlap the word before, and begin at any address. */
	return load_word((const char *)slot->data + len - WORD) == word_at(last);
}

/*
 * Copies a value to the caller's buffer. The kernel may be changing the value: the second load of
 * the sequence tells. A loop over words would take three times as many instructions.
 */
static inline void copy_value(char *buffer, const char *value, size_t len)
{
#ifdef __SANITIZE_THREAD__
	__u64 word;

	if (!len)
		return;
	for (; len > WORD; len -= WORD, buffer += WORD, value += WORD) {
		word = LOAD((const __u64 *)value);
		memcpy(buffer, &word, WORD);
	}
	word = LOAD((const __u64 *)value);
	memcpy(buffer, &word, len);
#else
	/* Two halves that may overlap take fewer instructions than a call. */
	if (len >= HALF && len <= 2 * HALF) {
		memcpy(buffer, value, HALF);
		memcpy(buffer + len - HALF, value + len - HALF, HALF);
	} else if (len) {
		/* A buffer of no bytes may be NULL. */
		memcpy(buffer, value, len);
	}
#endif
}

/*
 * Copies a slot, between two loads of its sequence. Return: whether the copy is whole, of the key,
 * and of an entry that is in the belt.
 *
 * The first load comes before all others, and the second one after them. If the sequence is even
 * and the same, all that was loaded between was there at one moment: the read takes place when it
 * loads the state. The floor comes after that, because it only rises: it was not higher at that
 * moment. Until the second load, the lengths may be any numbers.
 */
static inline IN_LINE int
copy_slot(const struct hashbelt_window *window, const struct hashbelt_window_slot *slot,
	  const char *key, size_t key_len, char *buffer, size_t size,
	  const struct hashbelt_item *item, struct found *found)
{
	__u64 sequence = LOAD_FIRST(&slot->sequence), floor;
	size_t value_at = (key_len + WORD - 1) & -WORD;
	__u32 state;

	if (UNLIKELY(sequence & 1 || !is_key(slot, key, key_len)))
		return 0;
	found->len = LOAD(&slot->value_len);
	if (UNLIKELY(value_at + found->len > HASHBELT_WINDOW_DATA || found->len > size))
		return 0;
	copy_value(buffer, (const char *)slot->data + value_at, found->len);
	found->version = LOAD(&slot->version);
	found->deadline_ns = LOAD(&slot->deadline_ns);
	found->flags = LOAD(&slot->flags);
	state = LOAD_FIRST(&window->state);
	floor = LOAD(&window->floor);
	END_OF_LOADS();
	if (UNLIKELY(LOAD(&slot->sequence) != sequence || found->version <= floor))
		return 0;
	return !UNLIKELY(state & HASHBELT_WINDOW_RENEWS) || item->how & HASHBELT_NO_REFRESH;
}

/*
 * Return: the belt time, ns; ~0, at which all has expired, while the kernel changes it, and once
 * the window is dead. CLOCK_BOOTTIME is never behind the clock that the kernel compares deadlines
 * with. @time: space for the clock.
 */
static inline IN_LINE __u64 belt_time(const struct window_reader *reader,
				      const struct hashbelt_window *window, struct timespec *time)
{
	__u64 sequence = LOAD_FIRST(&window->clock), now;

	if (UNLIKELY(sequence & 1))
		return ~0ULL;
	now = LOAD(&window->halted_ns);
	if (!UNLIKELY(now)) {
		clock_gettime(CLOCK_BOOTTIME, time);
		now = (__u64)time->tv_sec * SECOND_NS + time->tv_nsec -
		      LOAD(&reader->shift_ns) + LOAD(&window->offset_ns);
	}
	END_OF_LOADS();
	if (UNLIKELY(LOAD(&window->clock) != sequence))
		return ~0ULL;
	return now;
}

/* The milliseconds that an entry has left, rounded up. */
static inline __u64 ttl_of(__u64 deadline_ns, __u64 now)
{
	if (UNLIKELY(deadline_ns == ~0ULL))
		return HASHBELT_TTL_NEVER;
	return (deadline_ns - now + MS_NS - 1) / MS_NS;
}

/*
 * Whether a value may overwrite its key, which a call needs once more if the value turns out not to
 * be whole.
 */
static inline int overlap(const char *key, size_t key_len, const char *buffer, size_t size)
{
	return (uintptr_t)key + key_len > (uintptr_t)buffer &&
	       ((uintptr_t)key < (uintptr_t)buffer || (uintptr_t)key - (uintptr_t)buffer < size);
}

/* The entry was found, and it is the turn of the kernel to learn of that. */
static OUT_OF_LINE enum window_answer tell(struct window_stripe *stripe)
{
	__atomic_add_fetch(&stripe->left, WINDOW_TOLD, __ATOMIC_RELAXED);
	count(&stripe->told, 1);
	return WINDOW_ASK;
}

/* The slot of a set that has this tag; NULL: there is none. */
static inline IN_LINE const struct hashbelt_window_slot *
with_tag(const struct hashbelt_window_slot *slot, __u32 tag)
{
	int way;

#pragma GCC unroll 4
	for (way = 0; way < HASHBELT_WINDOW_WAYS; way++)
		if (LOAD(&slot[way].tag) == tag)
			return &slot[way];
	return NULL;
}

/* hashbelt_window_get(), within its callers. */
static inline IN_LINE enum window_answer
look_up(struct window_reader *reader, const char *key, size_t key_len, void *buffer,
	size_t size, struct hashbelt_item *item)
{
	const struct hashbelt_window *window = reader->window;
	const struct hashbelt_window_slot *slot;
	struct timespec time;
	struct found found;
	__u64 hash, now;

	if (UNLIKELY(!window || key_len - 1 >= HASHBELT_WINDOW_DATA ||
		     item->how & ~HASHBELT_NO_REFRESH || overlap(key, key_len, buffer, size)))
		return WINDOW_CALL;
	hash = hash_of(reader->seed, key, key_len);
	slot = reader->slots + (hash & reader->last_set) * HASHBELT_WINDOW_WAYS;
	slot = with_tag(slot, hash >> 32);
	if (!slot)
		return WINDOW_ASK;
	if (UNLIKELY(!copy_slot(window, slot, key, key_len, buffer, size, item, &found)))
		return WINDOW_ASK;
	now = belt_time(reader, window, &time);
	if (UNLIKELY(now >= found.deadline_ns))
		return WINDOW_ASK;
	if (UNLIKELY(!__atomic_sub_fetch(&stripe_of(reader, (uintptr_t)&time)->left, 1,
					 __ATOMIC_RELAXED)))
		return tell(stripe_of(reader, (uintptr_t)&time));
	item->value_len = found.len;
	item->flags = found.flags;
	item->version = found.version;
	item->ttl_ms = ttl_of(found.deadline_ns, now);
	return WINDOW_HIT;
}

#else

static enum window_answer look_up(struct window_reader *reader, const char *key, size_t key_len,
				  void *buffer, size_t size, struct hashbelt_item *item)
{
	(void)reader, (void)key, (void)key_len, (void)buffer, (void)size, (void)item;
	return WINDOW_CALL;
}

#endif

/* Where gets renew, a plain one does not ask for a slot: the window would never answer it. */
static enum window_answer unless_renewing(const struct window_reader *reader,
					  const struct hashbelt_item *item,
					  enum window_answer answer)
{
	if (answer == WINDOW_ASK && !(item->how & HASHBELT_NO_REFRESH) &&
	    LOAD(&reader->window->state) & HASHBELT_WINDOW_RENEWS)
		return WINDOW_CALL;
	return answer;
}

/**
 * hashbelt_window_get() - look for an entry in the window
 * @reader:	of the window
 * @key:	the key
 * @key_len:	its length, bytes
 * @buffer:	space for the value
 * @size:	its size, bytes
 * @item:	in: @how. Returned after WINDOW_HIT: @value_len, @flags, @ttl_ms, @version, as by
 *		HASHBELT_IOC_GET
 *
 * The answer is one that HASHBELT_IOC_GET could have given at a moment during the look, but for
 * @ttl_ms, which is as of the end of the look. Where gets with HASHBELT_NO_REFRESH hit but others
 * renew, it is the least time that the entry has left.
 *
 * Return: enum window_answer.
 */
OUT_OF_LINE enum window_answer
hashbelt_window_get(struct window_reader *reader, const void *key, size_t key_len, void *buffer,
		    size_t size, struct hashbelt_item *item)
{
	return unless_renewing(reader, item, look_up(reader, key, key_len, buffer, size, item));
}

/* A get by the call, with or without an item. */
static OUT_OF_LINE int get_by_call(struct hashbelt *belt, const void *key, size_t key_len,
				   void *buffer, size_t size, struct hashbelt_item *item)
{
	struct hashbelt_item plain = { 0 };

	if (!item)
		item = &plain;
	item->value = (uintptr_t)buffer;
	item->value_len = size < HASHBELT_VALUE_MAX ? size : HASHBELT_VALUE_MAX;
	return call_item(belt, HASHBELT_IOC_GET, key, key_len, item);
}

/**
 * struct get - the arguments of hashbelt_get()
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, bytes
 * @buffer:	space for the value
 * @size:	its size, bytes
 */
struct get {
	struct hashbelt *belt;
	const void *key;
	size_t key_len;
	void *buffer;
	size_t size;
};

/* A get that the window does not answer. */
static OUT_OF_LINE int get_after_look(const volatile struct get *get, struct window_reader *reader,
				      struct hashbelt_item *item, enum window_answer answer)
{
	int err;

	count(&stripe_of(reader, (uintptr_t)&err)->calls, 1);
	answer = unless_renewing(reader, item, answer);
	if (answer == WINDOW_ASK)
		item->how |= HASHBELT_TO_WINDOW;
	err = get_by_call(get->belt, get->key, get->key_len, get->buffer, get->size, item);
	if (answer == WINDOW_ASK)
		item->how &= ~HASHBELT_TO_WINDOW;
	return err;
}

/* Out of line, as an item on the stack is to be filled with zeros. */
static OUT_OF_LINE int get_value(struct hashbelt *belt, const void *key, size_t key_len,
				 void *buffer, size_t size)
{
	struct hashbelt_item item = { 0 };

	return hashbelt_get(belt, key, key_len, buffer, size, &item);
}

/**
 * hashbelt_get() - read an entry
 * @belt:	the handle
 * @key:	the key
 * @key_len:	its length, 1 to HASHBELT_KEY_MAX bytes
 * @buffer:	space for the value
 * @size:	its size, bytes
 * @item:	in: @how, and @ttl_ms with HASHBELT_AND_TOUCH. Returned: @value_len,
 *		@flags, @ttl_ms, @version. NULL if neither is of interest
 *
 * After hashbelt_window_map() it looks into the belt's window first.
 *
 * Return: 0; -ENOENT; -ERANGE if the value is larger than the buffer, and
 * @value_len says how large; -E2BIG or -EINVAL for the key's length.
 */
int hashbelt_get(struct hashbelt *belt, const void *key, size_t key_len, void *buffer, size_t size,
		 struct hashbelt_item *item)
{
	uintptr_t window = __atomic_load_n(&belt->window, __ATOMIC_ACQUIRE);
	struct window_reader *reader = (struct window_reader *)window;
	enum window_answer answer;
	/* In memory, so that they take no registers from the look. */
	volatile struct get get;

	if (window & WINDOW_NONE)
		return get_by_call(belt, key, key_len, buffer, size, item);
	if (!item)
		return get_value(belt, key, key_len, buffer, size);
	get.belt = belt;
	get.key = key;
	get.key_len = key_len;
	get.buffer = buffer;
	get.size = size;
	answer = look_up(reader, key, key_len, buffer, size, item);
	if (UNLIKELY(answer != WINDOW_HIT))
		return get_after_look(&get, reader, item, answer);
	return 0;
}

/* A get of a batch, unless it has what the kernel refuses. */
static enum window_answer look_up_item(struct window_reader *reader, struct hashbelt_item *item)
{
	if (item->reserved)
		return WINDOW_CALL;
	return hashbelt_window_get(reader, (const void *)(uintptr_t)item->key, item->key_len,
				   (void *)(uintptr_t)item->value, item->value_len, item);
}

/**
 * hashbelt_window_look() - look for the entries of gets in the window
 * @reader:	of the window
 * @items:	the gets; returned: the results of those that the window answers
 * @gets:	their number, WINDOW_BATCH at most
 * @rest:	returned: the others, to be made by the call
 */
void hashbelt_window_look(struct window_reader *reader, struct hashbelt_item *items,
			  unsigned int gets, struct window_rest *rest)
{
	enum window_answer answer;
	unsigned int i;

	rest->count = 0;
	for (i = 0; i < gets; i++) {
		rest->sizes[i] = items[i].value_len;
		answer = look_up_item(reader, &items[i]);
		if (answer == WINDOW_HIT) {
			items[i].result = 0;
			continue;
		}
		rest->items[rest->count] = items[i];
		if (answer == WINDOW_ASK)
			rest->items[rest->count].how |= HASHBELT_TO_WINDOW;
		rest->index[rest->count++] = i;
	}
	if (rest->count)
		count(&stripe_of(reader, (uintptr_t)&answer)->calls, rest->count);
}

/**
 * struct window_mapping - a window that the handle has mapped
 * @older:	the one that it had mapped before
 * @reader:	of the window
 *
 * It survives fork(2), unlike the reader's contents: the child finds the reader's pages by it.
 */
struct window_mapping {
	struct window_mapping *older;
	struct window_reader *reader;
};

/**
 * hashbelt_window_reader() - make a reader of a mapped window
 * @window:	where it is mapped
 * @bytes:	length of the mapping
 * @shift_ns:	as in struct hashbelt_window_map
 * @reader:	returned: the reader, to be freed by munmap(2) of its size
 *
 * Return: 0; -EOPNOTSUPP for a layout that this library does not know; -ENOMEM.
 */
int hashbelt_window_reader(const struct hashbelt_window *window, size_t bytes, __s64 shift_ns,
			   struct window_reader **reader)
{
	__u64 slots = (__u64)window->sets * HASHBELT_WINDOW_WAYS;
	struct window_reader *new;
	int i;

	if (window->layout != HASHBELT_WINDOW_LAYOUT || !slots || slots & (slots - 1) ||
	    window->slots_at > bytes ||
	    slots > (bytes - window->slots_at) / sizeof(struct hashbelt_window_slot))
		return -EOPNOTSUPP;
	new = mmap(NULL, sizeof(*new), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new == MAP_FAILED)
		return -ENOMEM;
	if (madvise(new, sizeof(*new), MADV_WIPEONFORK)) {
		munmap(new, sizeof(*new));
		return -EOPNOTSUPP;
	}
	new->slots = (const void *)((const char *)window + window->slots_at);
	new->seed = window->seed;
	new->last_set = window->sets - 1;
	new->shift_ns = shift_ns;
	new->bytes = bytes;
	for (i = 0; i < WINDOW_STRIPES; i++)
		new->stripes[i].left = WINDOW_TOLD;
	new->window = window;
	*reader = new;
	return 0;
}

/* The nanoseconds that readings of the clock take, by the C library or by a system call. */
static __u64 read_clock(unsigned int rounds, int by_call)
{
	struct timespec begin, end, time;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (rounds--) {
		if (by_call)
			syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &time);
		else
			clock_gettime(CLOCK_BOOTTIME, &time);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * (__u64)SECOND_NS + end.tv_nsec - begin.tv_nsec;
}

/*
 * Whether a reading of the clock is a system call, as on a machine without a reliable counter. A
 * read of the window would then be no faster than the get.
 */
static int clock_is_call(void)
{
	__u64 least[2] = { ~0ULL, ~0ULL }, took;
	int i;

	for (i = 0; i < 16; i++) {
		took = read_clock(16, i & 1);
		if (took < least[i & 1])
			least[i & 1] = took;
	}
	return least[0] > least[1] / 4 * 3;
}

/* Frees a reader, and the mapping of its window, which a child of fork(2) does not have. */
static void free_reader(struct window_reader *reader)
{
	if (reader->window)
		munmap((void *)reader->window, reader->bytes);
	munmap(reader, sizeof(*reader));
}

/* Maps a window, and makes a reader of it. */
static int map_window(struct hashbelt *belt, const struct hashbelt_window_map *map,
		      struct window_mapping **mapping)
{
	struct window_mapping *new = malloc(sizeof(*new));
	void *window;
	int err;

	if (!new)
		return -ENOMEM;
	window = mmap(NULL, map->bytes, PROT_READ, MAP_SHARED, belt->fd, 0);
	err = window == MAP_FAILED ? -errno :
	      hashbelt_window_reader(window, map->bytes, map->shift_ns, &new->reader);
	if (!err) {
		*mapping = new;
		return 0;
	}
	if (window != MAP_FAILED)
		munmap(window, map->bytes);
	free(new);
	return err;
}

/*
 * Keeps the mapping until hashbelt_close(). Gets read it if no call has bound the handle since
 * @before was loaded.
 */
static void publish(struct hashbelt *belt, struct window_mapping *mapping, uintptr_t before)
{
	uintptr_t reader = (uintptr_t)mapping->reader;

	mapping->older = __atomic_load_n(&belt->mappings, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&belt->mappings, &mapping->older, mapping, 1,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
	__atomic_compare_exchange_n(&belt->window, &before, reader, 0, __ATOMIC_SEQ_CST,
				    __ATOMIC_RELAXED);
}

/* Whether the handle has a window mapped that is in use. */
static int is_mapped(struct hashbelt *belt)
{
	struct window_reader *reader = window_reader_of(belt);

	return reader && reader->window && !(LOAD(&reader->window->state) & HASHBELT_WINDOW_DEAD);
}

/*
 * The process may have entered another time namespace since it mapped the window. The kernel lets
 * no process with several threads do that, so no other thread reads with the old shift.
 */
static void set_shift(struct hashbelt *belt, __s64 shift_ns)
{
	struct window_reader *reader = window_reader_of(belt);

	if (reader && LOAD(&reader->shift_ns) != shift_ns)
		__atomic_store_n(&reader->shift_ns, shift_ns, __ATOMIC_RELAXED);
}

/* Lets gets read no window any more. Return: what they read before. */
static uintptr_t forget(struct hashbelt *belt, uintptr_t *none)
{
	*none = __atomic_add_fetch(&belt->binds, 2 * WINDOW_NONE, __ATOMIC_RELAXED);
	return __atomic_exchange_n(&belt->window, *none, __ATOMIC_SEQ_CST);
}

/* Unmaps all windows, if no other thread uses the handle. */
static void unmap_former(struct hashbelt *belt)
{
	uintptr_t none;

	if (!__atomic_load_n(&belt->one_thread, __ATOMIC_RELAXED))
		return;
	forget(belt, &none);
	hashbelt_window_close(belt);
}

/* Maps the window of the belt to which the handle was bound when @before was read. */
static int map_and_publish(struct hashbelt *belt, const struct hashbelt_window_map *map,
			   uintptr_t before)
{
	struct window_mapping *mapping;
	unsigned int others;
	int err;

	if (is_mapped(belt)) {
		set_shift(belt, map->shift_ns);
		return 0;
	}
	if (sizeof(void *) < WORD || clock_is_call())
		return -EOPNOTSUPP;
	__atomic_fetch_add(&belt->mapping, 1, __ATOMIC_SEQ_CST);
	err = map_window(belt, map, &mapping);
	if (!err)
		publish(belt, mapping, before);
	others = __atomic_sub_fetch(&belt->mapping, 1, __ATOMIC_SEQ_CST);
	/* Another thread has mapped it, and it publishes its reader before it lowers the number. */
	if (err == -EBUSY && (others || is_mapped(belt)))
		return 0;
	return err;
}

/**
 * hashbelt_window_renew() - let gets read the window of another belt than before
 * @belt:	the handle, just bound to it
 *
 * Gets of other threads may be in the windows of former belts, which therefore stay mapped. So that
 * the owner of the belt cannot fill the address space, the handle maps WINDOWS_MAX at most.
 */
void hashbelt_window_renew(struct hashbelt *belt)
{
	uintptr_t before = __atomic_load_n(&belt->window, __ATOMIC_ACQUIRE);
	struct hashbelt_window_map map = { 0 };
	struct window_mapping *mapping;
	int mapped = 0;

	for (mapping = __atomic_load_n(&belt->mappings, __ATOMIC_ACQUIRE); mapping;
	     mapping = mapping->older)
		mapped++;
	if (mapped < WINDOWS_MAX && !call_here(belt, HASHBELT_IOC_WINDOW, &map))
		map_and_publish(belt, &map, before);
}

/**
 * hashbelt_window_map() - let gets read the belt's window
 * @belt:	the handle
 *
 * From then on hashbelt_get(), and hashbelt_batch() of gets alone, look for entries in the window
 * first, without a system call. All else is as before. This holds for the belt to which the handle
 * is bound now, until a call binds the handle; of a handle that hashbelt_keep_bound() keeps bound,
 * for further belts too. After hashbelt_set() of another window, the handle needs this call again;
 * and so does each handle after setns(2) into another time namespace, before its next get.
 *
 * Return: 0, also if the window is mapped already; -ENODATA if the belt has none; -EOPNOTSUPP if
 * the module does not know windows, if the program is a 32-bit one, or if a reading of the clock is
 * a system call; -EBUSY if the descriptor has the window mapped by another handle or process;
 * -ENOMEM. After an error gets work as before.
 */
int hashbelt_window_map(struct hashbelt *belt)
{
	struct hashbelt_window_map map;
	uintptr_t before;
	int err;

	__atomic_store_n(&belt->maps, 1, __ATOMIC_RELAXED);
	if (!is_mapped(belt))
		unmap_former(belt);
	do {
		before = __atomic_load_n(&belt->window, __ATOMIC_ACQUIRE);
		map = (struct hashbelt_window_map){ 0 };
		err = call(belt, HASHBELT_IOC_WINDOW, &map);
	} while (!err && before != __atomic_load_n(&belt->window, __ATOMIC_ACQUIRE));
	if (err)
		return err == -ENOTTY ? -EOPNOTSUPP : err;
	return map_and_publish(belt, &map, before);
}

/**
 * hashbelt_window_stats() - how many gets the window has answered
 * @belt:	the handle
 * @counts:	returned: the counts since hashbelt_window_map(); 0 if no window is mapped
 */
void hashbelt_window_stats(const struct hashbelt *belt, struct hashbelt_window_counts *counts)
{
	struct window_reader *reader = window_reader_of(belt);
	int i;

	memset(counts, 0, sizeof(*counts));
	for (i = 0; reader && i < WINDOW_STRIPES; i++) {
		counts->hits += LOAD(&reader->stripes[i].told) * (WINDOW_TOLD - 1);
		/* In a child of the process that has mapped the window all are 0. */
		if (reader->window)
			counts->hits += WINDOW_TOLD - LOAD(&reader->stripes[i].left);
		counts->calls += LOAD(&reader->stripes[i].calls);
	}
}

/**
 * hashbelt_window_bind() - make a call that binds the handle
 * @belt:	the handle
 * @request:	the call
 * @arg:	its argument
 *
 * No get reads the window of the former belt after the call. A thread in hashbelt_window_map()
 * finds another value than before, and does not publish its mapping.
 *
 * Return: that of the call. After an error the window is read as before.
 */
int hashbelt_window_bind(struct hashbelt *belt, unsigned long request, void *arg)
{
	uintptr_t none, before = forget(belt, &none);
	int err = call_here(belt, request, arg);

	if (err)
		__atomic_compare_exchange_n(&belt->window, &none, before, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED);
	else
		hashbelt_window_leave(belt);
	return err;
}

/* Lets gets read no window any more. */
void hashbelt_window_leave(struct hashbelt *belt)
{
	uintptr_t none;

	forget(belt, &none);
	unmap_former(belt);
}

/* Frees all windows of a handle that no other thread uses, and that reads none any more. */
void hashbelt_window_close(struct hashbelt *belt)
{
	struct window_mapping *older, *mapping;

	for (mapping = belt->mappings; mapping; mapping = older) {
		older = mapping->older;
		free_reader(mapping->reader);
		free(mapping);
	}
	belt->mappings = NULL;
}

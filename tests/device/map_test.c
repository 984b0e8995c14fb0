// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_test - the window of a belt: which mappings are refused, what a mapping shows, and that
 * nothing a reader does with it harms others.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <setjmp.h>

#include "process.h"
#include "window.h"

#define SIZE	HASHBELT_WINDOW_MIN

static int belt_with_window(__u64 bytes)
{
	return belt_of((struct hashbelt_settings){ .mode = 0600, .window_bytes = bytes });
}

/* Whether the window has the copy of a key that a get would return. */
static bool has_copy(const struct mapping *mapping, const char *key, const char *text)
{
	const struct hashbelt_window_slot *slot = slot_of(mapping, key);

	return slot && !(slot->sequence % 2) && slot->value_len == strlen(text) &&
	       !memcmp((const char *)slot->data + (slot->key_len + 7) / 8 * 8, text,
		       slot->value_len);
}

static void test_settings(void)
{
	int belt = new_belt(0);
	__u64 sizes[] = { 1, SIZE / 2, SIZE + 1, 3 * SIZE, 2 * HASHBELT_WINDOW_MAX, ~0ULL };
	unsigned int i;

	is_errno(map_window(belt).err, ENODATA, "a belt without a window cannot be mapped");
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		is_errno(set_belt(belt, (struct hashbelt_settings){
				.fields = HASHBELT_SET_WINDOW, .window_bytes = sizes[i] }),
			 EINVAL, "a window of %llu bytes is refused", sizes[i]);
	is_int(info_of(belt).window_bytes, 0, "after a refused size the belt has no window");
	for (i = SIZE; i <= HASHBELT_WINDOW_MAX; i *= 2) {
		SET(belt, .fields = HASHBELT_SET_WINDOW, .window_bytes = i);
		is_int(info_of(belt).window_bytes, i, "a window of %u bytes is accepted", i);
	}
	SET(belt, .fields = HASHBELT_SET_WINDOW);
	is_errno(map_window(belt).err, ENODATA, "a window of 0 bytes is none");
	is_errno(set_belt(belt, (struct hashbelt_settings){
			.fields = HASHBELT_SET_WINDOW | HASHBELT_SET_POLICY,
			.policy = HASHBELT_WIPE, .window_bytes = SIZE }),
		 EINVAL, "a belt that wipes has no window");
	SET(belt, .fields = HASHBELT_SET_WINDOW, .window_bytes = SIZE);
	is_errno(set_belt(belt, (struct hashbelt_settings){
			.fields = HASHBELT_SET_POLICY, .policy = HASHBELT_WIPE }),
		 EINVAL, "a belt with a window does not come to wipe");
	close(belt);
}

static void test_refusals(void)
{
	int belt = belt_with_window(SIZE), reader;
	struct mapping mapping;
	void *at;

	is_errno(map_with(belt, PROT_READ | PROT_WRITE, MAP_SHARED).err, EPERM,
		 "a mapping that could be written is refused");
	is_errno(map_with(belt, PROT_READ | PROT_EXEC, MAP_SHARED).err, EPERM,
		 "a mapping that could be executed is refused");
	is_errno(map_with(belt, PROT_READ, MAP_PRIVATE).err, EINVAL,
		 "a private mapping is refused");
	must(belt, HASHBELT_IOC_WINDOW, &mapping.map);
	at = mmap(NULL, mapping.map.bytes - PAGE, PROT_READ, MAP_SHARED, belt, 0);
	ok(at == MAP_FAILED && errno == EINVAL, "a mapping of a part is refused");
	at = mmap(NULL, mapping.map.bytes + PAGE, PROT_READ, MAP_SHARED, belt, 0);
	ok(at == MAP_FAILED && errno == EINVAL, "a mapping beyond the end is refused");
	at = mmap(NULL, mapping.map.bytes, PROT_READ, MAP_SHARED, belt, PAGE);
	ok(at == MAP_FAILED && errno == EINVAL, "a mapping at another offset is refused");

	mapping = must_map(belt);
	is_errno(map_window(belt).err, EBUSY, "a second mapping of a descriptor is refused");
	ok(mprotect((void *)mapping.shown, PAGE, PROT_READ | PROT_WRITE) && errno == EACCES,
	   "a mapping does not become writable");
	ok(mprotect((void *)mapping.shown, PAGE, PROT_READ | PROT_EXEC) && errno == EACCES,
	   "a mapping does not become executable");
	ok(munmap((void *)mapping.shown, PAGE) && errno == EINVAL,
	   "a part of a mapping cannot be unmapped");
	at = mremap((void *)mapping.shown, mapping.map.bytes, 2 * mapping.map.bytes,
		    MREMAP_MAYMOVE);
	ok(at == MAP_FAILED, "a mapping does not grow");
	at = mremap((void *)mapping.shown, mapping.map.bytes, mapping.map.bytes,
		    MREMAP_MAYMOVE | MREMAP_FIXED, mmap(NULL, mapping.map.bytes, PROT_NONE,
							MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	if (at != MAP_FAILED)
		mapping.shown = at;
	ok(at != MAP_FAILED && mapping.shown->layout == HASHBELT_WINDOW_LAYOUT,
	   "a mapping can be moved");
	is_errno(map_window(belt).err, EBUSY, "a second mapping is refused after the first moved");
	unmap(&mapping);
	mapping = map_window(belt);
	is_errno(mapping.err, 0, "a descriptor can map the window again after it has unmapped it");
	unmap(&mapping);

	reader = open_device(O_WRONLY);
	is_errno(create_belt(reader, "map", 0222), 0, "a belt is made by a descriptor to write");
	SET(reader, .fields = HASHBELT_SET_WINDOW, .window_bytes = SIZE);
	is_errno(map_window(reader).err, EPERM,
		 "a descriptor without the right to read does not learn of the window");
	at = mmap(NULL, mapping.map.bytes, PROT_READ, MAP_SHARED, reader, 0);
	ok(at == MAP_FAILED && (errno == EPERM || errno == EACCES),
	   "a descriptor without the right to read maps no window");
	must(reader, HASHBELT_IOC_DESTROY, &(struct hashbelt_name){ .name = "map" });
	close(reader);
	close(belt);
}

static void test_first_page(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);
	const unsigned char *page = (const unsigned char *)mapping.shown;
	unsigned int i, others = 0;
	__u64 clock;

	is_int(mapping.shown->layout, HASHBELT_WINDOW_LAYOUT, "the window says its layout");
	is_int(mapping.shown->state, 0, "the state of a new window is 0");
	is_int(mapping.shown->sets, SIZE / 128 / HASHBELT_WINDOW_WAYS,
	       "the number of sets follows from the size");
	is_int(mapping.map.bytes, mapping.shown->slots_at + SIZE,
	       "the mapping has the first page and the slots");
	is_int(mapping.map.shift_ns, 0, "the initial time namespace shifts no clock");
	is_int(mapping.shown->halted_ns, info_of(belt).now_ns, "a halted belt shows its time");
	for (i = sizeof(struct hashbelt_window); i < mapping.shown->slots_at; i++)
		others += page[i];
	is_int(others, 0, "the rest of the first page is zero");
	for (i = mapping.shown->slots_at; i < mapping.map.bytes; i++)
		others += page[i];
	is_int(others, 0, "the slots of a new window are zero");

	clock = mapping.shown->clock;
	advance(belt, 5000);
	ok(mapping.shown->clock == clock + 2 && mapping.shown->halted_ns == info_of(belt).now_ns,
	   "an advance of a halted belt shows in the window");
	must(belt, HASHBELT_IOC_RESUME, NULL);
	is_int(mapping.shown->halted_ns, 0, "a belt that is resumed shows no halted time");
	clock = mapping.shown->offset_ns;
	advance(belt, 7000);
	is_int(mapping.shown->offset_ns, (__s64)clock + 7000000000LL,
	       "an advance changes the offset by as much");
	must(belt, HASHBELT_IOC_HALT, NULL);
	is_int(mapping.shown->halted_ns, info_of(belt).now_ns, "a halt shows in the window");
	SET(belt, .fields = HASHBELT_SET_POLICY, .policy = HASHBELT_REFRESH_ON_GET);
	is_int(mapping.shown->state, HASHBELT_WINDOW_RENEWS,
	       "the window of a belt whose gets renew says so");
	SET(belt, .fields = HASHBELT_SET_POLICY);
	is_int(mapping.shown->state, 0, "and says so no more after that has changed");
	close(belt);
}

static void test_filling(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);
	const struct hashbelt_window_slot *slot;
	struct hashbelt_item item = text_item("key", "value");
	__u64 version;
	char text[80];

	item.flags = 77;
	must(belt, HASHBELT_IOC_PUT, &item);
	version = item.version;
	ok(!slot_of(&mapping, "key"), "a put alone brings no entry into the window");
	must(belt, HASHBELT_IOC_GET, &(struct hashbelt_item){
		.key = address("key"), .key_len = 3, .value = address(text), .value_len = 80 });
	must(belt, HASHBELT_IOC_GET, &(struct hashbelt_item){
		.key = address("key"), .key_len = 3, .value = address(text), .value_len = 80 });
	ok(!slot_of(&mapping, "key"), "gets that do not ask bring no entry into the window");
	ask(belt, "key");
	ok(!slot_of(&mapping, "key"), "the first get that asks brings no entry into the window");
	ask(belt, "key");
	ok(has_copy(&mapping, "key", "value"), "the second get that asks brings the entry in");
	slot = slot_of(&mapping, "key");
	ok(slot && slot->version == version && slot->flags == 77,
	   "the copy has the version and the flags of the entry");
	is_int(slot ? slot->deadline_ns : 0, info_of(belt).now_ns + TTL * 1000000,
	       "the copy has the deadline of the entry");
	is_int(slot ? slot->tag : 0, window_hash(&mapping, "key", 3) >> 32,
	       "the slot has the tag of the key");
	is_int(info_of(belt).window_used, 1, "info counts the slots that are used");
	is_int(counter(belt, HASHBELT_STAT_WINDOW_FILLS), 1, "the fill is counted");

	memset(text, 'x', sizeof(text));
	item = (struct hashbelt_item){ .key = address("0123456789"), .key_len = 10,
		.value = address(text), .value_len = 72 };
	must(belt, HASHBELT_IOC_PUT, &item);
	bring_in(belt, "0123456789");
	ok(slot_of(&mapping, "0123456789"), "a key and a value that fill a slot have room");
	item.value_len = 73;
	must(belt, HASHBELT_IOC_PUT, &item);
	bring_in(belt, "0123456789");
	ok(!slot_of(&mapping, "0123456789"), "a byte more has not");
	is_int(counter(belt, HASHBELT_STAT_WINDOW_REFUSED), 2,
	       "asks for an entry without room are counted");
	unmap(&mapping);
	close(belt);
}

/* A change of an entry. */
struct change {
	const char *name;
	void (*make)(int belt);
};

static void replace(int belt)
{
	put_text(belt, "key", "other", 0);
}

static void replace_longer(int belt)
{
	put_text(belt, "key", "longer value", 0);
}

static void add(int belt)
{
	struct hashbelt_sum sum = { .by = 1 };
	struct hashbelt_item item = item_of("key");

	item.value = address(&sum);
	item.value_len = sizeof(sum);
	must(belt, HASHBELT_IOC_ADD, &item);
}

static void take_out(int belt)
{
	must(belt, HASHBELT_IOC_REMOVE, &(struct hashbelt_item){
		.key = address("key"), .key_len = 3 });
}

static void expire(int belt)
{
	must(belt, HASHBELT_IOC_EXPIRE, &(struct hashbelt_item){
		.key = address("key"), .key_len = 3 });
}

/* A bucket beyond the deadline. */
static void pass_deadline(int belt)
{
	advance(belt, 2 * TTL);
}

static void test_emptying(void)
{
	static const struct change changes[] = {
		{ "a put of a value of the same length", replace },
		{ "a put of a longer value", replace_longer },
		{ "an addition", add },
		{ "a remove", take_out },
		{ "an expire", expire },
		{ "the worker that expires the entry", pass_deadline },
	};
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);
	const struct hashbelt_window_slot *slot;
	unsigned int i, used;
	__u64 sequence;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		must(belt, HASHBELT_IOC_CLEAR, NULL);
		advance(belt, 1);
		put_text(belt, "key", "12345", 0);
		bring_in(belt, "key");
		slot = slot_of(&mapping, "key");
		if (!ok(slot, "an entry is in the window before %s", changes[i].name))
			continue;
		sequence = slot->sequence;
		changes[i].make(belt);
		ok(!slot_of(&mapping, "key"), "%s empties the slot", changes[i].name);
		is_int(slot->sequence, sequence + 2, "%s changes the sequence of the slot",
		       changes[i].name);
		used = slot->data[0] || slot->data[1];
		ok(!used, "%s wipes the slot", changes[i].name);
		is_int(info_of(belt).window_used, 0, "no slot is used after %s", changes[i].name);
	}
	put_text(belt, "key", "value", 0);
	bring_in(belt, "key");
	sequence = slot_of(&mapping, "key")->version;
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	ok(mapping.shown->floor >= sequence, "a clear raises the floor above the copy's version");
	close(belt);
}

static void test_touch(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);
	const struct hashbelt_window_slot *slot;
	__u64 lives[] = { 5, 5 * TTL, HASHBELT_TTL_NEVER }, sequence;
	unsigned int i;

	put_text(belt, "key", "value", 0);
	bring_in(belt, "key");
	slot = slot_of(&mapping, "key");
	for (i = 0; i < ARRAY_SIZE(lives) && slot; i++) {
		sequence = slot->sequence;
		must(belt, HASHBELT_IOC_TOUCH, &(struct hashbelt_item){
			.key = address("key"), .key_len = 3, .ttl_ms = lives[i] });
		ok(slot_of(&mapping, "key") == slot && slot->sequence == sequence + 2,
		   "a touch of %lld ms changes the slot, and leaves it to the entry", lives[i]);
		ok(slot->deadline_ns == (lives[i] == HASHBELT_TTL_NEVER ? ~0ULL :
					 info_of(belt).now_ns + lives[i] * 1000000),
		   "the copy has the deadline of a touch of %lld ms", lives[i]);
	}
	close(belt);
}

static void test_eviction(void)
{
	int belt = belt_of((struct hashbelt_settings){ .mode = 0600, .window_bytes = SIZE,
		.policy = HASHBELT_EVICT, .max_entries = 1 });
	struct mapping mapping = must_map(belt);

	put_text(belt, "a", "1", 1000);
	bring_in(belt, "a");
	put_text(belt, "b", "1", 2000);
	ok(!is_there(belt, "a") && !slot_of(&mapping, "a"), "an eviction empties the slot");
	close(belt);
}

/* More keys of one set than it has slots. */
static void test_full_set(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);
	const struct hashbelt_window_slot *set = NULL;
	unsigned int i, found = 0, in = 0;
	char keys[6][16];

	for (i = 0; found < 6; i++) {
		snprintf(keys[found], sizeof(keys[found]), "%u", i);
		if (!set)
			set = set_of_key(&mapping, keys[0], strlen(keys[0]));
		if (set_of_key(&mapping, keys[found], strlen(keys[found])) == set)
			put_text(belt, keys[found++], "v", 0);
	}
	for (i = 0; i < 4; i++)
		bring_in(belt, keys[i]);
	for (i = 0; i < 4; i++)
		in += !!slot_of(&mapping, keys[i]);
	is_int(in, 4, "a set takes four entries");
	ask(belt, keys[0]);
	ask(belt, keys[1]);
	ask(belt, keys[2]);
	bring_in(belt, keys[4]);
	ok(slot_of(&mapping, keys[4]) && !slot_of(&mapping, keys[3]),
	   "a new entry takes the slot of the one that was not asked for again");
	for (i = 0; i < 4; i++)
		ask(belt, keys[4]);
	ask(belt, keys[5]);
	ask(belt, keys[5]);
	ok(!slot_of(&mapping, keys[5]), "an entry gets no slot while all others are hotter");
	for (i = 0; i < 32; i++)
		ask(belt, keys[5]);
	ok(slot_of(&mapping, keys[5]), "an entry that is asked for often gets a slot in the end");
	is_int(info_of(belt).window_used, 4, "a full set has four used slots");
	put_text(belt, keys[3], "w", 0);
	ok(holds_text(belt, keys[3], "w"), "an entry that has lost its slot can be overwritten");
	close(belt);
}

static sigjmp_buf after_fault;

static void on_fault(int signal)
{
	siglongjmp(after_fault, signal);
}

static int touches(void *at)
{
	int caught = sigsetjmp(after_fault, 1);

	if (caught)
		return caught;
	return *(volatile char *)at & 0;
}

static int touch_in_child(void *at)
{
	signal(SIGSEGV, on_fault);
	signal(SIGBUS, on_fault);
	return touches(at);
}

static void test_lifetime(void)
{
	__u64 before = get_parameter("used_bytes");
	int belt = open_device(O_RDWR), other = open_device(O_RDWR);
	struct hashbelt_settings create = { .name = "map", .mode = 0600, .window_bytes = MIB };
	struct mapping mapping, second;
	unsigned int i, rest = 0;

	must(belt, HASHBELT_IOC_CREATE, &create);
	open_belt(other, "map");
	put_text(belt, "key", "secret", 0);
	mapping = must_map(belt);
	second = must_map(other);
	bring_in(belt, "key");
	ok(slot_of(&second, "key"), "two descriptors map the same window");
	is_int(finish(start(touch_in_child, (void *)mapping.shown)), SIGSEGV,
	       "a forked process has no mapping of the window");
	close(other);
	ok(slot_of(&second, "key"), "a mapping outlives its descriptor");

	SET(belt, .fields = HASHBELT_SET_WINDOW, .window_bytes = SIZE);
	is_int(mapping.shown->state, HASHBELT_WINDOW_DEAD, "SET of another size ends the window");
	is_int(mapping.shown->sets, 1, "a window that has ended shows one set");
	for (i = 0; i < mapping.map.bytes; i += 8)
		rest += ((volatile char *)mapping.shown)[i] &&
			i % PAGE >= sizeof(struct hashbelt_window);
	is_int(rest, 0, "a mapping of a window that has ended shows nothing else");
	unmap(&mapping);
	mapping = must_map(belt);
	bring_in(belt, "key");
	ok(has_copy(&mapping, "key", "secret"), "the new window takes entries");
	is_errno(destroy_belt(belt, "map"), 0, "a belt is destroyed while its window is mapped");
	is_int(mapping.shown->state, HASHBELT_WINDOW_DEAD, "DESTROY ends the window");
	ok(!slot_of(&mapping, "key"), "DESTROY takes the copies away");
	ok(used_at_last(before),
	   "the memory of a destroyed belt's window is free while it is mapped");
	unmap(&mapping);
	unmap(&second);
	close(belt);
}

/* A nameless belt ends when its descriptor is bound to another one; the mapping is still there. */
static void test_bound_elsewhere(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);

	put_text(belt, "key", "value", 0);
	bring_in(belt, "key");
	must(belt, HASHBELT_IOC_CREATE, &(struct hashbelt_settings){ .mode = 0600 });
	put_text(belt, "key", "other", 0);
	bring_in(belt, "key");
	ok(!has_copy(&mapping, "key", "other"), "a mapping shows no other belt's entries");
	unmap(&mapping);
	close(belt);
}

/*
 * Objects of the kernel's general slab caches that are in use. Those that a processor or KASAN
 * keeps after they were freed count, too, unless their cache is shrunk before.
 */
static __u64 count_objects(void)
{
	DIR *caches = opendir("/sys/kernel/slab");
	unsigned long long objects, sum = 0;
	struct dirent *cache;
	char line[512];
	FILE *file;

	while (caches && (cache = readdir(caches)))
		if (!strncmp(cache->d_name, "kmalloc-", 8)) {
			snprintf(line, sizeof(line), "/sys/kernel/slab/%s/shrink",
				 cache->d_name);
			write_line(line, "1");
		}
	if (caches)
		closedir(caches);
	file = fopen("/proc/slabinfo", "r");
	if (!file)
		bail_out("/proc/slabinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "kmalloc-%*s %llu", &objects) == 1)
			sum += objects;
	fclose(file);
	return sum;
}

/* Waits for the count to fall to @most: the kernel frees some objects only after a grace period. */
static bool are_objects_gone(__u64 most)
{
	unsigned int tries;

	for (tries = 0; tries < 40; tries++) {
		if (count_objects() <= most)
			return true;
		usleep(250000);
	}
	return false;
}

/* Each window is an object of such a cache. */
static void test_leaks(void)
{
	enum { WINDOWS = 1000 };
	__u64 before = get_parameter("used_bytes"), most;
	int belt = open_device(O_RDWR);
	unsigned int i;

	most = count_objects() + WINDOWS / 2;
	for (i = 0; i < WINDOWS; i++)
		must(belt, HASHBELT_IOC_CREATE, &(struct hashbelt_settings){
			.mode = 0600, .window_bytes = SIZE });
	close(belt);
	ok(used_at_last(before) && are_objects_gone(most),
	   "%u windows that are gone leave no object each", WINDOWS);
}

int main(void)
{
	test_settings();
	test_refusals();
	test_first_page();
	test_filling();
	test_emptying();
	test_touch();
	test_eviction();
	test_full_set();
	test_lifetime();
	test_bound_elsewhere();
	test_leaks();
	return done_testing();
}

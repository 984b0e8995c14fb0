// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_test - the window of a belt: which mappings are refused, what a mapping shows, and how it
 * ends.
 *
 * Which entries get a slot, and how they leave it: tests/kunit/slot_test.c. What a reader can do
 * with a mapping: reader_test.c.
 */
#define _GNU_SOURCE
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
	close(belt);
}

static void test_refusals(void)
{
	int belt = belt_with_window(SIZE), reader;
	struct mapping mapping = {};
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

/* SET of a policy with which gets do not renew takes the copies out, under the belt's set_lock. */
static void test_policy(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);

	put_text(belt, "key", "value", 0);
	SET(belt, .fields = HASHBELT_SET_POLICY, .policy = HASHBELT_REFRESH_ON_GET);
	bring_in(belt, "key");
	SET(belt, .fields = HASHBELT_SET_POLICY);
	ok(!slot_of(&mapping, "key"), "SET of a policy that does not renew empties the window");
	unmap(&mapping);
	close(belt);
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

/* The first try of each get fails, because the page for the value is not there yet. */
static void test_absent_page(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);
	unsigned int i;

	put_text(belt, "key", "value", 0);
	for (i = 0; i < 2; i++) {
		struct hashbelt_item item = item_of("key");

		item.how = HASHBELT_TO_WINDOW;
		item.value = address(fresh_pages(PAGE));
		item.value_len = PAGE;
		must(belt, HASHBELT_IOC_GET, &item);
	}
	ok(has_copy(&mapping, "key", "value"),
	   "a get that has to wait for the page of its value asks for a slot as well");
	unmap(&mapping);
	close(belt);
}

int main(void)
{
	test_settings();
	test_refusals();
	test_first_page();
	test_policy();
	test_lifetime();
	test_bound_elsewhere();
	test_absent_page();
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_test - the window of a belt: which mappings are refused, what one shows, and how it ends.
 *
 * Which entries get a slot, and how they leave it: tests/kunit/slot_test.c. What a reader can do
 * with a mapping: reader_test.c.
 */
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

static void test_refusals(void)
{
	int belt = belt_with_window(SIZE);
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

	SET(belt, .fields = HASHBELT_SET_WINDOW);
	is_errno(map_window(belt).err, ENODATA, "a window of 0 bytes is none");
	close(belt);
}

static void test_first_page(void)
{
	int belt = belt_with_window(SIZE);
	struct mapping mapping = must_map(belt);

	is_int(mapping.shown->layout, HASHBELT_WINDOW_LAYOUT, "the window says its layout");
	is_int(mapping.shown->state, 0, "the state of a new window is 0");
	is_int(mapping.shown->sets, SIZE / 128 / HASHBELT_WINDOW_WAYS,
	       "the number of sets follows from the size");
	is_int(mapping.map.bytes, mapping.shown->slots_at + SIZE,
	       "the mapping has the first page and the slots");
	is_int(mapping.map.shift_ns, 0, "the initial time namespace shifts no clock");
	is_int(mapping.shown->halted_ns, info_of(belt).now_ns, "a halted belt shows its time");
	close(belt);
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
	test_refusals();
	test_first_page();
	test_policy();
	test_lifetime();
	test_bound_elsewhere();
	test_absent_page();
	return done_testing();
}

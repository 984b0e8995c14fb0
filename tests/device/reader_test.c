// SPDX-License-Identifier: GPL-2.0-only
/*
 * reader_test - hostile readers of a window: what a process that may only read can do with a
 * mapping, what it finds in its pages, and what that costs others.
 */
#include <setjmp.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "process.h"
#include "window.h"

#define SIZE	HASHBELT_WINDOW_MIN
#define OTHER	1000	/* a user */
#define KEYS	600	/* more than a window of SIZE has slots */
#define HOUR_S	3600

static int windowed_belt(const char *name, __u32 mode, __u64 window_bytes)
{
	struct hashbelt_settings settings = { .mode = mode, .ttl_ms = TTL,
		.window_bytes = window_bytes };
	int fd = open_device(O_RDWR);

	strcpy(settings.name, name);
	must(fd, HASHBELT_IOC_CREATE, &settings);
	return fd;
}

/* Writing */

static sigjmp_buf after_fault;

static void on_fault(int signal)
{
	siglongjmp(after_fault, signal);
}

/* The signal that a store to @at raises, or 0. */
static int store_raises(volatile char *at)
{
	struct sigaction before, action = { .sa_handler = on_fault };
	int caught;

	sigaction(SIGSEGV, &action, &before);
	caught = sigsetjmp(after_fault, 1);
	if (!caught)
		*at = 1;
	sigaction(SIGSEGV, &before, NULL);
	return caught;
}

/* Writes a word as a debugger does, by /proc/self/mem. Return: 0 or an error. */
static int write_by_file(void *at, long word)
{
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC), err = 0;

	if (fd < 0)
		bail_out("/proc/self/mem: %s", strerror(errno));
	if (pwrite(fd, &word, sizeof(word), (off_t)(uintptr_t)at) < 0)
		err = errno;
	close(fd);
	return err;
}

static int write_by_call(void *at, long word)
{
	struct iovec from = { &word, sizeof(word) }, to = { at, sizeof(word) };

	return process_vm_writev(getpid(), &from, 1, &to, 1, 0) < 0 ? errno : 0;
}

static void test_writing(void)
{
	int belt = windowed_belt("hostile", 0600, SIZE), reader = open_device(O_RDONLY);
	struct mapping mapping;
	char *shown;

	is_errno(open_belt(reader, "hostile"), 0, "a descriptor that is read-only opens the belt");
	mapping = must_map(reader);
	shown = (char *)mapping.shown;
	is_int(store_raises(shown), SIGSEGV, "a store to the first page of the window faults");
	is_int(store_raises(shown + mapping.map.bytes - 1), SIGSEGV,
	       "a store to the last page of the window faults");
	ok(write_by_file(shown, -1L), "/proc/self/mem cannot write to the window");
	ok(write_by_call(shown, -1L), "process_vm_writev cannot write to the window");
	is_errno(mprotect(shown, mapping.map.bytes, PROT_READ | PROT_WRITE) ? -errno : 0, EACCES,
		 "mprotect cannot make the window writable");
	is_errno(mprotect(shown, mapping.map.bytes, PROT_READ | PROT_EXEC) ? -errno : 0, EACCES,
		 "mprotect cannot make the window executable");
	is_errno(call(belt, HASHBELT_IOC_INFO, shown), EFAULT,
		 "the kernel does not write the result of an ioctl into the window");
	is_int(mapping.shown->layout, HASHBELT_WINDOW_LAYOUT, "the window is as it was");
	unmap(&mapping);
	close(reader);
	destroy_belt(belt, "hostile");
	close(belt);
}

/* The ends of mappings */

struct inheritance {
	struct mapping mapping;
	int ready[2];
	int ended[2];
};

static int look_twice(void *arg)
{
	struct inheritance *inheritance = arg;
	volatile struct hashbelt_window *shown = inheritance->mapping.shown;
	char byte = shown->state != 0;

	if (write(inheritance->ready[1], &byte, 1) != 1 ||
	    read(inheritance->ended[0], &byte, 1) != 1)
		return 2;
	return shown->state != HASHBELT_WINDOW_DEAD;
}

/* Whether this process has a mapping of a window. */
static bool has_mapping(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	bool has = false;

	if (!file)
		bail_out("/proc/self/maps: %s", strerror(errno));
	while (fgets(line, sizeof(line), file))
		has |= !!strstr(line, "[hashbelt]");
	fclose(file);
	return has;
}

static int inherits(void *arg)
{
	(void)arg;
	return has_mapping();
}

/*
 * madvise(2) can let a child inherit the mapping. It is one of the same window. From Linux 7.2 on,
 * madvise(2) refuses that for all mappings of devices.
 */
static void test_inherited(void)
{
	int belt = windowed_belt("hostile", 0600, SIZE);
	struct inheritance inheritance = { .mapping = must_map(belt) };
	struct mapping *mapping = &inheritance.mapping;
	pid_t child;
	char byte = 1;
	int err;

	is_int(finish(start(inherits, NULL)), 0, "a forked process has no mapping of the window");
	err = madvise((void *)mapping->shown, mapping->map.bytes, MADV_DOFORK) ? -errno : 0;
	if (err == -EINVAL) {
		is_int(finish(start(inherits, NULL)), 0,
		       "madvise refuses to let a child inherit the mapping, and it does not");
		unmap(mapping);
		is_errno(destroy_belt(belt, "hostile"), 0, "DESTROY succeeds after that");
		close(belt);
		return;
	}
	is_errno(err, 0, "madvise lets a child inherit the mapping");
	if (pipe(inheritance.ready) || pipe(inheritance.ended))
		bail_out("pipe: %s", strerror(errno));
	child = start(look_twice, &inheritance);
	/* Only the child can write to the pipe: if it faults, the read returns 0. */
	close(inheritance.ready[1]);
	is_int(read(inheritance.ready[0], &byte, 1) == 1 ? byte : -1, 0,
	       "a child that has inherited the mapping reads the window");
	unmap(mapping);
	is_errno(destroy_belt(belt, "hostile"), 0,
		 "DESTROY succeeds while a child has the mapping");
	is_int(write(inheritance.ended[1], &byte, 1), 1, "the child is told of it");
	is_int(finish(child), 0, "DESTROY ends the window that a child has inherited");
	close(inheritance.ready[0]);
	close(inheritance.ended[0]);
	close(inheritance.ended[1]);
	close(belt);
}

/* The mapping keeps the open file, as a duplicate of the descriptor does. */
static void test_bound(void)
{
	int belt = windowed_belt("hostile", 0600, SIZE), other = open_device(O_RDWR);
	struct hashbelt_item item = text_item("bound", "text");
	struct mapping mapping;

	item.how = HASHBELT_BOUND;
	if (open_belt(other, "hostile"))
		bail_out("the belt \"hostile\" cannot be opened");
	must(other, HASHBELT_IOC_PUT, &item);
	mapping = must_map(other);
	close(other);
	ok(is_there(belt, "bound"),
	   "an entry that is bound to a closed descriptor stays while its mapping is there");
	unmap(&mapping);
	ok(!is_there(belt, "bound"),
	   "an entry that is bound to a closed descriptor leaves with munmap");
	destroy_belt(belt, "hostile");
	close(belt);
}

static void test_moved(void)
{
	int belt = windowed_belt("hostile", 0600, SIZE);
	struct mapping mapping = must_map(belt);
	size_t bytes = mapping.map.bytes;
	void *at = (void *)mapping.shown, *to;

	ok(mremap(at, bytes, 2 * bytes, MREMAP_MAYMOVE) == MAP_FAILED, "the mapping cannot grow");
	ok(mremap(at, 0, bytes, MREMAP_MAYMOVE) == MAP_FAILED, "the mapping cannot be doubled");
	ok(mremap(at, bytes, PAGE, 0) == MAP_FAILED, "the mapping cannot shrink");
	ok(munmap((char *)at + PAGE, PAGE), "a page cannot be taken out of the mapping");
	to = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ok(mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
	   "the mapping can be moved");
	mapping.shown = to;
	is_int(mapping.shown->sets, 128, "the window is where the mapping was moved to");
	is_errno(map_window(belt).err, EBUSY, "a window whose mapping was moved is mapped");
	unmap(&mapping);
	mapping = must_map(belt);
	is_int(mapping.shown->sets, 128, "the window can be mapped again after munmap");
	unmap(&mapping);
	destroy_belt(belt, "hostile");
	close(belt);
}

static unsigned long module_references(void)
{
	unsigned long references = 0;
	FILE *file = fopen("/sys/module/hashbelt/refcnt", "r");

	if (!file || fscanf(file, "%lu", &references) != 1)
		bail_out("the module's references cannot be read");
	fclose(file);
	return references;
}

/* The descriptor is closed; the mapping is all that keeps the module. */
static void test_module(void)
{
	unsigned long before = module_references();
	int belt = windowed_belt("hostile", 0600, SIZE);
	struct mapping mapping = must_map(belt);

	destroy_belt(belt, "hostile");
	close(belt);
	ok(module_references() > before, "a mapping without a descriptor keeps the module");
	is_errno(syscall(SYS_delete_module, "hashbelt", O_NONBLOCK) ? -errno : 0, EWOULDBLOCK,
		 "the module cannot be removed while a window is mapped");
	is_int(mapping.shown->state, HASHBELT_WINDOW_DEAD,
	       "the mapping shows that the belt is gone");
	unmap(&mapping);
	is_int(module_references(), before, "munmap gives the module back");
}

/* Contents of the pages */

static bool is_zero(const volatile char *bytes, size_t size)
{
	while (size && !*bytes) {
		bytes++;
		size--;
	}
	return !size;
}

/* Whether a slot has a copy of what the belt holds now, and zeros behind it; or only zeros. */
static bool is_slot(int belt, const volatile struct hashbelt_window_slot *slot)
{
	char key[HASHBELT_WINDOW_DATA + 1] = "", text[HASHBELT_WINDOW_DATA + 1] = "";
	const volatile char *data = (const volatile char *)slot->data;
	struct hashbelt_item item;
	__u32 at = (slot->key_len + 7) / 8 * 8, i;

	if (!slot->version)
		return is_zero((char *)slot + sizeof(slot->sequence),
			       sizeof(*slot) - sizeof(slot->sequence));
	if (!slot->key_len || at + slot->value_len > HASHBELT_WINDOW_DATA)
		return false;
	for (i = 0; i < slot->key_len; i++)
		key[i] = data[i];
	item = (struct hashbelt_item){ .key = address(key), .key_len = slot->key_len,
		.value = address(text), .value_len = sizeof(text), .how = HASHBELT_NO_REFRESH };
	return !call(belt, HASHBELT_IOC_GET, &item) && item.version == slot->version &&
	       item.value_len == slot->value_len && item.flags == slot->flags &&
	       !memcmp((const void *)(data + at), text, item.value_len) &&
	       is_zero(data + slot->key_len, at - slot->key_len) &&
	       is_zero(data + at + slot->value_len, HASHBELT_WINDOW_DATA - at - slot->value_len);
}

/* The bytes of a window that are not what hashbelt.h says, by slots; the first page is one more. */
static unsigned int wrong_slots(int belt, const struct mapping *mapping)
{
	const volatile struct hashbelt_window *shown = mapping->shown;
	const volatile char *bytes = (const volatile char *)shown;
	const volatile struct hashbelt_window_slot *slot = (const void *)(bytes + shown->slots_at);
	unsigned int i, wrong;

	wrong = !is_zero(bytes + sizeof(*shown), shown->slots_at - sizeof(*shown));
	for (i = 0; i < shown->sets * HASHBELT_WINDOW_WAYS; i++, slot++)
		wrong += !is_slot(belt, slot);
	return wrong;
}

static void put_numbered(int belt, unsigned int number, const char *word)
{
	char key[16], text[80];

	snprintf(key, sizeof(key), "key%u", number);
	snprintf(text, sizeof(text), "%s%.*s", word, number % 60,
		 "............................................................");
	put_text(belt, key, text, 0);
	bring_in(belt, key);
}

/* Two belts, whose entries have come, changed and gone in all ways. */
static void test_contents(void)
{
	int belt = windowed_belt("mine", 0600, SIZE), other = windowed_belt("other", 0600, SIZE);
	struct mapping mapping = must_map(belt);
	unsigned int round, i;
	char key[16];

	is_int(wrong_slots(belt, &mapping), 0, "the pages of a new window are zero");
	for (round = 0; round < 3; round++) {
		for (i = 0; i < KEYS; i++) {
			put_numbered(belt, i, "mine");
			put_numbered(other, i, "secret");
		}
		for (i = round; i < KEYS; i += 3) {
			snprintf(key, sizeof(key), "key%u", i);
			must(belt, HASHBELT_IOC_REMOVE, &(struct hashbelt_item){
				.key = address(key), .key_len = strlen(key) });
		}
		is_int(wrong_slots(belt, &mapping), 0,
		       "round %u: each byte of the window is the belt's, or zero", round);
	}
	ok(info_of(belt).window_used > 256, "most of the 512 slots are used");
	unmap(&mapping);
	destroy_belt(belt, "mine");
	destroy_belt(other, "other");
	close(belt);
	close(other);
}

/* Costs for others */

static unsigned int ask_for_all(const void *arg)
{
	int belt = open(HASHBELT_DEVICE, O_RDONLY);
	unsigned int i, round;
	struct mapping mapping;
	char key[16];

	(void)arg;
	if (belt < 0 || open_belt(belt, "shared"))
		return 1;
	mapping = map_window(belt);
	if (mapping.err)
		return 2;
	for (round = 0; round < 5; round++)
		for (i = 0; i < KEYS; i++) {
			snprintf(key, sizeof(key), "key%u", i);
			if (ask(belt, key))
				return 3;
		}
	if (on_key(belt, HASHBELT_IOC_PUT, "key") != -EPERM)
		return 4;
	return mapping.shown->sets == 128 ? 0 : 5;
}

static void test_cost_for_others(void)
{
	int belt = windowed_belt("shared", 0644, SIZE);
	struct mapping mapping = must_map(belt);
	struct hashbelt_info before, after;
	__u64 used;
	unsigned int i;
	char key[16];

	for (i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "key%u", i);
		put_text(belt, key, "text", 0);
	}
	/* A round to its end: the worker does not resize the index later. */
	advance(belt, 1);
	before = info_of(belt);
	used = get_parameter("used_bytes");
	is_int(as(OTHER, OTHER, 0, ask_for_all, NULL), 0,
	       "a user that may only read maps the window, and asks for all entries");
	after = info_of(belt);
	is_int(after.entries, before.entries, "no entry has left by that");
	is_int(after.used_bytes, before.used_bytes, "the entries have no more memory by that");
	ok(get_parameter("used_bytes") <= used, "the module has no more memory by that");
	is_int(counter(belt, HASHBELT_STAT_EVICTED) + counter(belt, HASHBELT_STAT_PRESSURE), 0,
	       "no entry was evicted by that");
	unmap(&mapping);
	destroy_belt(belt, "shared");
	close(belt);
}

/* Time namespaces */

/* The belt time that a reader computes. */
static __s64 reader_time(const struct mapping *mapping)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec - mapping->map.shift_ns +
	       mapping->shown->offset_ns;
}

/*
 * Finds out whether the entries "short" and "long" are there by the window, and by the kernel. The
 * result is an exit status.
 */
static int read_there(void *arg)
{
	const __s64 *shift_ns = arg;
	int belt = open_device(O_RDONLY), bad = open_belt(belt, "times");
	struct mapping mapping = must_map(belt);
	__s64 earlier = info_of(belt).now_ns, now = reader_time(&mapping);
	__s64 later = reader_time(&mapping);

	bad |= (mapping.map.shift_ns != *shift_ns) << 1;
	/* The reader's clock is never behind the kernel's. */
	bad |= (now < earlier || later < now || now - earlier > 60000000000LL) << 2;
	bad |= !(slot_of(&mapping, "long") && now < (__s64)slot_of(&mapping, "long")->deadline_ns)
	       << 3;
	bad |= !(slot_of(&mapping, "short") &&
		 now >= (__s64)slot_of(&mapping, "short")->deadline_ns) << 4;
	bad |= (!is_there(belt, "long") || is_there(belt, "short")) << 5;
	return bad;
}

static int enter_and_read(void *arg)
{
	if (unshare(CLONE_NEWTIME) ||
	    !write_line("/proc/self/timens_offsets", *(__s64 *)arg > 0 ? "boottime 3600 0" :
									 "boottime -1 0"))
		return 77;
	/* The children are in the namespace. */
	return finish(start(read_there, arg));
}

static void test_time_namespaces(void)
{
	static const __s64 shifts_ns[] = { HOUR_S * 1000000000LL, -1000000000LL };
	int belt = windowed_belt("times", 0600, SIZE);
	unsigned int i;
	__s64 none = 0;

	/* An entry in its grace time is still in the window. */
	SET(belt, .fields = HASHBELT_SET_GRACE, .grace_ms = 3600000);
	put_text(belt, "long", "text", 7200000);
	put_text(belt, "short", "text", 600000);
	bring_in(belt, "long");
	bring_in(belt, "short");
	advance(belt, 600001);
	is_int(finish(start(read_there, &none)), 0, "a read hits and misses as the kernel does");
	for (i = 0; i < ARRAY_SIZE(shifts_ns) && !access("/proc/self/ns/time", F_OK); i++)
		is_int(finish(start(enter_and_read, (void *)&shifts_ns[i])), 0,
		       "in a time namespace that shifts by %lld s a read does as outside",
		       (long long)shifts_ns[i] / 1000000000);
	destroy_belt(belt, "times");
	close(belt);
}

int main(void)
{
	if (chmod(HASHBELT_DEVICE, 0666))
		bail_out("chmod: %s", strerror(errno));
	test_writing();
	test_inherited();
	test_bound();
	test_moved();
	test_module();
	test_contents();
	test_cost_for_others();
	test_time_namespaces();
	chmod(HASHBELT_DEVICE, 0600);
	return done_testing();
}

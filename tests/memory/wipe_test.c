// SPDX-License-Identifier: GPL-2.0-only
/*
 * wipe_test - the content of a wiping belt is nowhere in memory once it has left the belt.
 *
 * Values with a marker of 64 random bytes go into a belt, and leave it in every way there
 * is. Then the test searches all memory for the markers, through /proc/kcore. It does the
 * same with a belt that does not wipe, and must find markers then: otherwise the search
 * proves nothing. The program keeps its own markers with their bits flipped only, and
 * clears each buffer that had a marker.
 */
#include <elf.h>
#include <sys/random.h>

#include "events.h"
#include "process.h"

#define MARKER	64
#define WORDS	(MARKER / 8)
#define CHUNK	MIB

static __u64 hidden[WORDS];	/* the marker's words, flipped; [1] is its number */
static unsigned char *buffer;	/* for keys and values that go in and come out */

#define ROOM	(256 * 1024)

static void clear_buffer(void)
{
	explicit_bzero(buffer, ROOM);
}

/*
 * Writes marker @number to @where, a word at a time. A vector register would hold several
 * words, and the kernel saves these registers to memory.
 */
static void show_marker(unsigned char *where, unsigned int number)
{
	volatile __u64 *words = (volatile __u64 *)where;
	unsigned int i;

	for (i = 0; i < WORDS; i++)
		words[i] = ~hidden[i];
	words[1] = number;
}

/* Searching */

/* Counts the markers in @len bytes at @words, by number. */
static void search(const __u64 *words, size_t len, unsigned int *found,
		   unsigned int numbers)
{
	size_t i, k;

	for (i = 0; i + WORDS <= len / 8; i++) {
		if (~words[i] != hidden[0] || words[i + 1] >= numbers)
			continue;
		for (k = 2; k < WORDS && ~words[i + k] == hidden[k]; k++)
			;
		if (k == WORDS)
			found[words[i + 1]]++;
	}
}

static void search_segment(int file, const Elf64_Phdr *segment, unsigned int *found,
			   unsigned int numbers)
{
	static unsigned char chunk[CHUNK] __attribute__((aligned(4096)));
	__u64 at;
	ssize_t len;

	/* Chunks overlap, so that each marker lies in one of them as a whole. */
	for (at = 0; at < segment->p_memsz; at += CHUNK - MARKER) {
		size_t want = segment->p_memsz - at;

		if (want > CHUNK)
			want = CHUNK;
		len = pread(file, chunk, want, segment->p_offset + at);
		if (len > 0)
			search((const __u64 *)chunk, len, found, numbers);
		explicit_bzero(chunk, sizeof(chunk));
	}
}

/* Searches the mapping of all physical memory; returns its size in bytes. */
static __u64 search_memory(unsigned int *found, unsigned int numbers)
{
	int file = open("/proc/kcore", O_RDONLY);
	Elf64_Phdr segments[64];
	Elf64_Ehdr header;
	__u64 bytes = 0;
	unsigned int i;

	memset(found, 0, numbers * sizeof(*found));
	if (file < 0 || pread(file, &header, sizeof(header), 0) != sizeof(header) ||
	    header.e_phnum > ARRAY_SIZE(segments) ||
	    pread(file, segments, header.e_phnum * sizeof(*segments), header.e_phoff) < 0)
		bail_out("/proc/kcore: %s", strerror(errno));
	for (i = 0; i < header.e_phnum; i++) {
		/* Leave out segments without a physical address, and the kernel's text. */
		if (segments[i].p_type != PT_LOAD || segments[i].p_paddr == ~0ULL ||
		    segments[i].p_vaddr >= 0xffffffff80000000ULL)
			continue;
		search_segment(file, &segments[i], found, numbers);
		bytes += segments[i].p_memsz;
	}
	close(file);
	return bytes;
}

/* Ways to leave a belt */

/* 8 bytes, so that a value after it is aligned: the search looks at whole words. */
#define KEY	"the key!"

static struct hashbelt_item marked_item(unsigned int number, __u32 value_len)
{
	struct hashbelt_item item = item_of(KEY);

	memset(buffer, '.', value_len);
	show_marker(buffer + value_len - MARKER, number);
	item.value = address(buffer);
	item.value_len = value_len;
	return item;
}

static void put_marked(int belt, unsigned int number, __u32 value_len)
{
	struct hashbelt_item item = marked_item(number, value_len);

	must(belt, HASHBELT_IOC_PUT, &item);
	clear_buffer();
}

static void remove_it(int belt, unsigned int number)
{
	put_marked(belt, number, 200);
	on_key(belt, HASHBELT_IOC_REMOVE, KEY);
}

static void remove_pages(int belt, unsigned int number)
{
	put_marked(belt, number, 100000);
	on_key(belt, HASHBELT_IOC_REMOVE, KEY);
}

static void replace(int belt, unsigned int number)
{
	put_marked(belt, number, 200);
	put_text(belt, KEY, "other", 0);
}

static void report(int belt, unsigned int number)
{
	SET(belt, .fields = HASHBELT_SET_HANDLER, .handler = HASHBELT_NOTIFY);
	put_marked(belt, number, 200);
	on_key(belt, HASHBELT_IOC_EXPIRE, KEY);
	if (read_into(belt, buffer, ROOM) < 0)
		bail_out("no event");
	clear_buffer();
}

/* An event that is lost before it is read. */
static void lose(int belt, unsigned int number)
{
	SET(belt, .fields = HASHBELT_SET_HANDLER | HASHBELT_SET_MAX_EVENTS,
	    .handler = HASHBELT_NOTIFY, .max_events = 1);
	put_marked(belt, number, 200);
	on_key(belt, HASHBELT_IOC_EXPIRE, KEY);
	put_and_expire(belt, "other", "value");
}

static void refuse(int belt, unsigned int number)
{
	struct hashbelt_item item;

	put_text(belt, KEY, "value", 0);
	item = marked_item(number, 200);
	item.how = HASHBELT_IF_ABSENT;
	if (call(belt, HASHBELT_IOC_PUT, &item) != -EEXIST)
		bail_out("a put with IF_ABSENT over an entry did not return EEXIST");
	clear_buffer();
}

/* The marker is in the key, at its end: the allocator may write to an entry's middle. */
static void remove_key(int belt, unsigned int number)
{
	struct hashbelt_item item = { .key = address(buffer), .key_len = 200 };

	show_marker(buffer + 200 - MARKER, number);
	must(belt, HASHBELT_IOC_PUT, &item);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	clear_buffer();
}

/* A key that other calls have copied as well. */
static void look_for_key(int belt, unsigned int number)
{
	struct hashbelt_item item = { .key = address(buffer), .key_len = 200 };

	show_marker(buffer + 200 - MARKER, number);
	must(belt, HASHBELT_IOC_PUT, &item);
	must(belt, HASHBELT_IOC_GET, &item);
	must(belt, HASHBELT_IOC_TOUCH, &item);
	must(belt, HASHBELT_IOC_REMOVE, &item);
	clear_buffer();
}

/* Buffers beside entries */

#define KEY_LEN		200
#define LIST		(buffer + 65536)	/* for the output of scan and locks */
/*
 * Sizes of two slab caches. Whole pages would soon be used again, and so would the buffer
 * of the other call if both had one size.
 */
#define SCAN_SIZE	1024
#define LIST_SIZE	2048

static struct hashbelt_item marked_key(unsigned int number)
{
	memset(buffer, '.', KEY_LEN);
	show_marker(buffer + KEY_LEN - MARKER, number);
	return (struct hashbelt_item){ .key = address(buffer), .key_len = KEY_LEN };
}

static struct hashbelt_lock marked_lock(unsigned int number)
{
	marked_key(number);
	return (struct hashbelt_lock){
		.key = address(buffer), .key_len = KEY_LEN,
		.owner = address("an owner"), .owner_len = 8, .ttl_ms = TTL,
	};
}

/* The owner is a marker. */
static struct hashbelt_lock marked_owner(unsigned int number)
{
	show_marker(buffer, number);
	/* A long key: the allocator may write to the middle of an entry. */
	memset(LIST, '.', KEY_LEN);
	return (struct hashbelt_lock){
		.key = address(LIST), .key_len = KEY_LEN,
		.owner = address(buffer), .owner_len = MARKER, .ttl_ms = TTL,
	};
}

/* Only pinned belts grant locks. */
static void pin(int belt)
{
	SET(belt, .fields = HASHBELT_SET_POLICY,
	    .policy = info_of(belt).policy | HASHBELT_PINNED);
}

static void scan_keys(int belt, unsigned int number)
{
	struct hashbelt_item item = marked_key(number);
	struct hashbelt_scan scan = { .buffer = address(LIST), .size = SCAN_SIZE };

	must(belt, HASHBELT_IOC_PUT, &item);
	must(belt, HASHBELT_IOC_SCAN, &scan);
	must(belt, HASHBELT_IOC_REMOVE, &item);
	clear_buffer();
}

static void list_locks(int belt, unsigned int number)
{
	struct hashbelt_lock lock = marked_lock(number);
	struct hashbelt_locks locks = { .buffer = address(LIST), .size = LIST_SIZE };

	pin(belt);
	must(belt, HASHBELT_IOC_LOCK, &lock);
	must(belt, HASHBELT_IOC_LOCKS, &locks);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	clear_buffer();
}

static void hold_lock(int belt, unsigned int number)
{
	struct hashbelt_lock lock = marked_owner(number);

	pin(belt);
	must(belt, HASHBELT_IOC_LOCK, &lock);
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	clear_buffer();
}

static void give_up_fill(int belt, unsigned int number)
{
	struct hashbelt_fill fill = { .item = marked_key(number), .lease_ms = TTL };

	if (call(belt, HASHBELT_IOC_FILL, &fill) != -ENOENT)
		bail_out("fill of an absent key did not return ENOENT");
	must(belt, HASHBELT_IOC_CLEAR, NULL);
	clear_buffer();
}

static void cancel_request(int belt, unsigned int number)
{
	struct hashbelt_key key = { .key_len = KEY_LEN, .key = address(buffer) };
	struct hashbelt_request request = {
		.id = 1, .keys = address(&key), .count = 1, .ttl_ms = TTL,
	};

	marked_key(number);
	must(belt, HASHBELT_IOC_REQUEST, &request);
	must(belt, HASHBELT_IOC_CANCEL, &request.id);
	clear_buffer();
}

/*
 * Markers that a call leaves on its kernel stack. Each of these calls is the last one of its
 * process before the process pauses. pause() overwrites as little of the stack as a call can.
 */

/* The last eight bytes of a key are in an unmapped page. */
static void fault_on_key(int belt, unsigned int number)
{
	unsigned char *end = buffer + ROOM;
	struct hashbelt_item item = {
		.key = address(end + 8 - HASHBELT_KEY_MAX), .key_len = HASHBELT_KEY_MAX,
	};
	unsigned int i;

	for (i = 1; i < HASHBELT_KEY_MAX / MARKER; i++)
		show_marker(end - i * MARKER, number);
	if (call(belt, HASHBELT_IOC_TOUCH, &item) != -EFAULT)
		bail_out("touch with a key in an unmapped page did not return EFAULT");
	clear_buffer();
}

/* Fills a key of the greatest length with markers. */
static void show_markers(unsigned int number)
{
	unsigned int i;

	for (i = 0; i < HASHBELT_KEY_MAX / MARKER; i++)
		show_marker(buffer + i * MARKER, number);
}

static void touch_nothing(int belt, unsigned int number)
{
	struct hashbelt_item item = {
		.key = address(buffer), .key_len = HASHBELT_KEY_MAX,
	};

	show_markers(number);
	if (call(belt, HASHBELT_IOC_TOUCH, &item) != -ENOENT)
		bail_out("touch of an absent key did not return ENOENT");
	clear_buffer();
}

static void query_nothing(int belt, unsigned int number)
{
	struct hashbelt_lock lock = marked_lock(number);

	lock.key_len = HASHBELT_KEY_MAX;
	show_markers(number);
	call(belt, HASHBELT_IOC_HOLDER, &lock);
	clear_buffer();
}

static void complete_nothing(int belt, unsigned int number)
{
	struct hashbelt_key key = { .key_len = HASHBELT_KEY_MAX, .key = address(buffer) };

	show_markers(number);
	must(belt, HASHBELT_IOC_COMPLETE, &key);
	clear_buffer();
}

static void fill_nothing(int belt, unsigned int number)
{
	struct hashbelt_fill fill = {
		.how = HASHBELT_GIVE_UP,
		.item = { .key_len = HASHBELT_KEY_MAX, .key = address(buffer) },
	};

	show_markers(number);
	call(belt, HASHBELT_IOC_FILL, &fill);
	clear_buffer();
}

static const struct {
	const char *what;
	void (*leave)(int belt, unsigned int number);
} ways[] = {
	{ "was removed", remove_it },
	{ "was removed, of 100000 bytes", remove_pages },
	{ "was replaced", replace },
	{ "was reported and read", report },
	{ "was reported and lost", lose },
	{ "was refused", refuse },
	{ "was a key", remove_key },
	{ "was a key, and looked for", look_for_key },
	{ "was a key, and listed by a scan", scan_keys },
	{ "was the name of a lock, and listed", list_locks },
	{ "was the owner of a lock", hold_lock },
	{ "was the key of a fill lease", give_up_fill },
	{ "was the key of a request", cancel_request },
	/* From here on the marker was on a kernel stack: see FIRST_ON_STACK. */
	{ "was a key, not all of which could be read", fault_on_key },
	{ "was a key, and touched", touch_nothing },
	{ "was the name of a lock in a call for its holder", query_nothing },
	{ "was the key of a completion", complete_nothing },
	{ "was the key of a lease to give up", fill_nothing },
};

#define FIRST_ON_STACK	13

#define WAYS	ARRAY_SIZE(ways)

/* Runs in a separate process, whose kernel stack is freed with it. */
static int leave_all(void *arg)
{
	__u32 policy = *(__u32 *)arg;
	unsigned int i;
	int belt;

	for (i = 0; i < FIRST_ON_STACK; i++) {
		belt = new_belt(policy);
		ways[i].leave(belt, i);
		close(belt);
	}
	return 0;
}

/**
 * struct stay - a process that makes one call and waits
 * @policy:	of its belt
 * @way:	the call
 */
struct stay {
	__u32 policy;
	unsigned int way;
};

static int leave_and_stay(void *arg)
{
	const struct stay *stay = arg;
	int belt = new_belt(stay->policy);

	ways[stay->way].leave(belt, stay->way);
	syscall(CALL_PAUSE, 0, 0, 0, 0);
	return 1;
}

static void start_all(__u32 policy, pid_t *pids)
{
	struct stay stay = { .policy = policy };
	unsigned int i;

	for (i = FIRST_ON_STACK; i < WAYS; i++) {
		stay.way = i;
		pids[i] = start(leave_and_stay, &stay);
		await_sleep(pids[i], CALL_PAUSE);
	}
}

static void search_ways(__u32 policy, unsigned int *found)
{
	__u64 before = get_parameter("used_bytes"), bytes;
	pid_t pids[WAYS];
	unsigned int i;

	if (getrandom(hidden, sizeof(hidden), 0) != sizeof(hidden))
		bail_out("getrandom: %s", strerror(errno));
	if (finish(start(leave_all, &policy)))
		bail_out("the process that puts and removes markers failed");
	if (!used_at_last(before))
		bail_out("used_bytes does not return to what it was before");
	start_all(policy, pids);
	bytes = search_memory(found, WAYS);
	for (i = FIRST_ON_STACK; i < WAYS; i++)
		kill_and_wait(pids[i]);
	note("%llu MiB were searched", bytes >> 20);
}

/* The search finds a marker in this program's own memory, and none that is not there. */
static void test_search(void)
{
	unsigned int found[1];

	if (getrandom(hidden, sizeof(hidden), 0) != sizeof(hidden))
		bail_out("getrandom: %s", strerror(errno));
	search_memory(found, 1);
	is_int(found[0], 0,
	       "the search of all memory does not find a marker that was never written");
	show_marker(buffer, 0);
	search_memory(found, 1);
	ok(found[0] > 0, "the search of all memory finds a marker in a buffer");
	clear_buffer();
}

int main(void)
{
	unsigned int found[WAYS], i, sum = 0;

	/* The page after the buffer is unmapped. */
	buffer = fresh_pages(ROOM + PAGE);
	munmap(buffer + ROOM, PAGE);
	test_search();
	search_ways(HASHBELT_WIPE, found);
	for (i = 0; i < WAYS; i++)
		is_int(found[i], 0,
		       "wiping belt: a marker that %s is nowhere in memory", ways[i].what);
	search_ways(0, found);
	for (i = 0; i < WAYS; i++) {
		note("belt without wipe: a marker that %s is found %u times", ways[i].what,
		     found[i]);
		sum += found[i] > 0;
	}
	ok(sum >= WAYS / 2, "belt without wipe: at least half of the markers are found in memory");
	return done_testing();
}

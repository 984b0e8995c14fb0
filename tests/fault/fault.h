/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault.h - make one call fail at each point where it can, and look what that has left.
 *
 * The module is one that was built with inject.h, which says what the points are. How
 * often a call is made, and how often it was made to fail, is counted here; so is what
 * has failed at least once.
 */
#ifndef _FAULT_H
#define _FAULT_H

#include "../device/lock.h"
#include "../device/request.h"

#define SITES		"sites"		/* those that were compiled */
#define EXCUSES		"unreached"	/* those that need not fail, and why */

/* How fail-nth is to be understood: see inject.h. */
#define STEP		0x10000u
#define LACK		0x40000000u
#define SITES_ONLY	0x60000000u
#define START		0x80000000u

/* More points than any call has. */
#define POINTS_MAX	20000

/*
 * What is to fail: one point, all memory from one site on, a site as a whole, a point since
 * the first site.
 */
enum mode { ONE, MEMORY, SITE, STARTED };

/**
 * struct point - where a fault was
 * @fired:	there was one
 * @known:	the module has said where
 * @site:	that, as the module names it
 * @memory:	it was an allocation or the like; else a copy from or to user space
 * @writes:	a copy to user space of what a call returns, when all has been done
 */
struct point {
	bool fired;
	bool known;
	bool memory;
	bool writes;
	char site[96];
};

static int fail_nth = -1, kmsg = -1;

/* What has failed at least once, and in which case; in which we are. */
static struct {
	char in[48];
	char site[96];
} reached[4096];
static unsigned int reached_count;
static char current_case[48];
static unsigned long faults;

static inline void write_file(const char *path, const char *text)
{
	if (!write_line(path, text))
		bail_out("%s: cannot write %s", path, text);
}

/* The kernel's own points: all of them, and quietly. */
static inline void set_injection(const char *kind)
{
	static const char *const settings[][2] = {
		{ "verbose", "0" }, { "probability", "0" }, { "ignore-gfp-wait", "N" },
		{ "ignore-gfp-highmem", "N" }, { "min-order", "0" },
	};
	char path[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/%s", kind,
			 settings[i][0]);
		if (!access(path, W_OK))
			write_file(path, settings[i][1]);
		else if (i < 2)
			bail_out("%s: the kernel cannot inject faults", path);
	}
}

static inline void begin_faults(void)
{
	set_injection("failslab");
	set_injection("fail_page_alloc");
	set_injection("fail_usercopy");
	fail_nth = open("/proc/self/fail-nth", O_RDWR | O_CLOEXEC);
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fail_nth < 0 || kmsg < 0 || lseek(kmsg, 0, SEEK_END) < 0)
		bail_out("fail-nth or the kernel log: %s", strerror(errno));
}

/* From now on the @n-th point of this thread fails, or as the mode says. */
static inline void arm(enum mode mode, unsigned int n)
{
	static const unsigned int base[] = {
		[MEMORY] = LACK, [SITE] = SITES_ONLY, [STARTED] = START,
	};
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", mode == ONE ? n : base[mode] + n * STEP);

	if (pwrite(fail_nth, text, len, 0) != len)
		bail_out("fail-nth: %s", strerror(errno));
}

/* No more. Returns whether there was a fault. */
static inline bool disarm(enum mode mode)
{
	char text[16] = "";
	/* That the last point left is in here means that it was not in the call. */
	bool left = pread(fail_nth, text, sizeof(text) - 1, 0) < 0;
	unsigned int n = strtoul(text, NULL, 10);

	/* That may fail for the same reason, and then it is 0 as well. */
	if (pwrite(fail_nth, "0", 1, 0) != 1 && errno != EFAULT)
		bail_out("fail-nth: %s", strerror(errno));
	return !left && (mode == MEMORY ? n < LACK : !n);
}

static inline void begin_case(const char *name)
{
	snprintf(current_case, sizeof(current_case), "%s", name);
}

/*
 * A point is a site in a case, failed as a whole or from within. How many there are within is
 * the kernel's affair: the next of them may be a page that a slab cache wants, or a page table.
 * And while the module is loaded not all of those are tried.
 */
static inline void remember(const char *site, enum mode mode)
{
	bool within = !strncmp(site, "inside ", 7);
	size_t len = within ? strcspn(site, ",") : strlen(site);
	unsigned int i;

	if (within && mode == STARTED)
		return;
	for (i = 0; i < reached_count; i++)
		if (!strcmp(reached[i].in, current_case) &&
		    !strncmp(reached[i].site, site, len) && !reached[i].site[len])
			return;
	if (i == ARRAY_SIZE(reached) || len >= sizeof(reached[0].site))
		bail_out("too many points");
	snprintf(reached[i].in, sizeof(reached[i].in), "%s", current_case);
	snprintf(reached[i].site, sizeof(reached[i].site), "%.*s", (int)len, site);
	reached_count++;
}

/* A line of the module's; the first since there was a fault says what it was. */
static inline void take_line(struct point *point, char *site, enum mode mode)
{
	bool writes;

	site[strcspn(site, "\n")] = 0;
	remember(site, mode);
	if (point->known)
		return;
	point->known = true;
	snprintf(point->site, sizeof(point->site), "%s", site);
	writes = strstr(site, "to_user") || strstr(site, "put_user") ||
		 strstr(site, "write_access");
	/* A get is not done before its value has been copied. */
	point->writes = writes && !(strstr(site, "item.c") &&
				    strstr(site, "copy_to_user"));
	point->memory = !writes && !strstr(site, "from_user") &&
			!strstr(site, "get_user") && !strstr(site, "read_access");
}

/* The rest of what the kernel has said since. */
static inline void read_log(struct point *point, enum mode mode)
{
	static const char mark[] = "hashbelt: fault ";
	char text[1024], *site;
	ssize_t len;

	while ((len = read(kmsg, text, sizeof(text) - 1)) > 0 || errno == EPIPE) {
		if (len <= 0)
			continue;
		text[len] = 0;
		site = strstr(text, mark);
		if (site)
			take_line(point, site + strlen(mark), mode);
	}
}

static inline struct point fired(enum mode mode)
{
	struct point point = { .fired = disarm(mode) };

	snprintf(point.site, sizeof(point.site), "outside of the module");
	read_log(&point, mode);
	/* A fault that this side has not seen, or none where the module saw one. */
	if (point.known && !point.fired)
		bail_out("fail-nth says no, the module says: fault %s", point.site);
	faults += point.fired;
	return point;
}

/* What can be seen of a belt */

/**
 * struct belt_sight - all that must be as before where nothing has been done
 *
 * What memory is held for tables and wheels is no part of it: those that were made
 * for a call which failed stay for the next.
 */
struct belt_sight {
	__u64 words[19];
	__u64 counters[HASHBELT_STAT_COUNT];
	__u64 scanned;
	__u64 content;		/* of keys, lengths, flags and times left */
	__u64 versions;
	__u64 lock_content;
	__u64 lock_tokens;
	__u64 names;		/* belts with one */
};

/* Places in @words. */
#define QUEUED		3
#define SEQUENCE	6

static const char *const word_names[] = {
	"entries", "used_entries", "used_bytes", "queued", "in_flight", "queued_bytes",
	"sequence", "locks", "requests", "ttl_ms", "interval_ns", "grace_ms", "buckets",
	"policy and mode", "handler and reasons", "state and access", "max_entries",
	"max_bytes", "max_events",
};

static inline __u64 mix(__u64 sum, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	while (len--)
		sum = (sum ^ *bytes++) * 0x100000001b3ULL;
	return sum;
}

static inline void see_info(int belt, struct belt_sight *sight)
{
	struct hashbelt_info info = info_of(belt);
	const __u64 words[] = {
		info.entries, info.used_entries, info.used_bytes, info.queued,
		info.in_flight, info.queued_bytes, info.sequence, info.locks,
		info.requests, info.ttl_ms, info.interval_ns, info.grace_ms, info.buckets,
		(__u64)info.policy << 32 | info.mode,
		(__u64)info.handler << 32 | info.reasons,
		(__u64)info.state << 32 | info.access,
		info.max_entries, info.max_bytes, info.max_events,
	};

	_Static_assert(sizeof(words) == sizeof(sight->words), "words");
	memcpy(sight->words, words, sizeof(words));
}

static inline void see_counters(int belt, struct belt_sight *sight)
{
	struct hashbelt_stat stat = {
		.counters = address(sight->counters), .count = HASHBELT_STAT_COUNT,
	};

	must(belt, HASHBELT_IOC_STAT, &stat);
	/* When the worker comes by and an interval ends is nobody's doing. */
	sight->counters[HASHBELT_STAT_WAKEUPS] = 0;
	sight->counters[HASHBELT_STAT_DRAINED] = 0;
	sight->counters[HASHBELT_STAT_CASCADED] = 0;
	sight->counters[HASHBELT_STAT_ROTATIONS] = 0;
}

static inline void see_entries(int belt, struct belt_sight *sight)
{
	static __u64 buffer[8192];
	struct hashbelt_scan scan = { .buffer = address(buffer) };
	const struct hashbelt_record *record;
	unsigned int i;

	do {
		scan.size = sizeof(buffer);
		must(belt, HASHBELT_IOC_SCAN, &scan);
		record = (const void *)buffer;
		for (i = 0; i < scan.count; i++) {
			sight->scanned++;
			sight->content += mix(record->value_len ^ record->ttl_ms << 21 ^
					      (__u64)record->flags << 32,
					      record + 1, record->key_len);
			sight->versions += mix(record->version, record + 1,
					       record->key_len);
			record = (const void *)((const char *)record + record->size);
		}
	} while (scan.cursor);
}

static inline void see_locks(int belt, struct belt_sight *sight)
{
	static __u64 buffer[1024];
	struct hashbelt_locks locks = { .buffer = address(buffer) };
	const struct hashbelt_lock_record *record;
	unsigned int i;

	do {
		locks.size = sizeof(buffer);
		must(belt, HASHBELT_IOC_LOCKS, &locks);
		record = (const void *)buffer;
		for (i = 0; i < locks.count; i++) {
			sight->lock_content += mix(record->ttl_ms << 8 ^ record->how,
						   record + 1, record->key_len +
						   record->owner_len);
			sight->lock_tokens += record->token;
			record = (const void *)((const char *)record + record->size);
		}
	} while (locks.cursor);
}

static inline __u64 belts_with_name(int fd)
{
	struct hashbelt_info info = {};
	__u64 count = 0;

	while (!call(fd, HASHBELT_IOC_NEXT, &info))
		count++;
	return count;
}

static inline struct belt_sight see(int belt)
{
	struct belt_sight sight = {};

	see_counters(belt, &sight);
	see_info(belt, &sight);
	see_entries(belt, &sight);
	see_locks(belt, &sight);
	sight.names = belts_with_name(belt);
	return sight;
}

/* How much of what is seen has to be the same. */
#define WITH_VERSIONS	1
#define WITH_COUNTERS	2
#define WITH_CONTENT	4	/* what is scanned and listed: times left are in there */

static inline bool differs(const char *what, __u64 got, __u64 want)
{
	if (got != want)
		note("  %s: %llu, expected %llu", what, got, want);
	return got != want;
}

static inline bool same_belt(const struct belt_sight *got, const struct belt_sight *want,
			     unsigned int how)
{
	unsigned int i, wrong = 0;
	char name[32];

	for (i = 0; i < ARRAY_SIZE(word_names); i++)
		wrong += differs(word_names[i], got->words[i], want->words[i]);
	for (i = 0; how & WITH_COUNTERS && i < HASHBELT_STAT_COUNT; i++) {
		snprintf(name, sizeof(name), "counter %u", i);
		wrong += differs(name, got->counters[i], want->counters[i]);
	}
	wrong += differs("entries scanned", got->scanned, want->scanned);
	wrong += differs("belts", got->names, want->names);
	if (how & WITH_CONTENT) {
		wrong += differs("what is scanned", got->content, want->content);
		wrong += differs("locks listed", got->lock_content, want->lock_content);
	}
	if (how & WITH_VERSIONS) {
		wrong += differs("versions", got->versions, want->versions);
		wrong += differs("tokens", got->lock_tokens, want->lock_tokens);
	}
	return !wrong;
}

/* The sites */

static inline bool was_reached(const char *site)
{
	unsigned int i;

	for (i = 0; i < reached_count; i++)
		if (!strncmp(reached[i].site, "at ", 3) && !strcmp(reached[i].site + 3, site))
			return true;
	return false;
}

/*
 * Whether a site, "FILE:LINE CALL FUNCTION", is one of those that need not fail, "FILE
 * FUNCTION CALL: WHY". Says why.
 */
static inline bool is_excused(const char *site, char *why, size_t size)
{
	char file[64], called[64], function[64], name[200], line[256];
	FILE *excuses = fopen(EXCUSES, "r");
	bool found = false;

	if (!excuses || sscanf(site, "%63[^:]:%*u %63s %63s", file, called, function) != 3)
		bail_out("%s or a site cannot be read: %s", EXCUSES, site);
	snprintf(name, sizeof(name), "%s %s %s: ", file, function, called);
	while (!found && fgets(line, sizeof(line), excuses)) {
		found = !strncmp(line, name, strlen(name));
		line[strcspn(line, "\n")] = 0;
		snprintf(why, size, "%s", line + (found ? strlen(name) : 0));
	}
	fclose(excuses);
	return found;
}

/* The number of points that there have to be, as it is written down. */
static inline unsigned int points_due(void)
{
	FILE *excuses = fopen(EXCUSES, "r");
	unsigned int due = 0;
	char line[256];

	while (excuses && !due && fgets(line, sizeof(line), excuses))
		sscanf(line, "points %u", &due);
	if (!due)
		bail_out("%s says no number of points", EXCUSES);
	fclose(excuses);
	return due;
}

static inline void judge_site(char *site, unsigned int *missed, unsigned int *idle)
{
	char *function = strrchr(site, ' '), why[256] = "";
	bool excused = is_excused(site, why, sizeof(why)), hit;

	*function = 0;
	hit = was_reached(site);
	if (!hit)
		note("not reached: %s in %s(): %s", site, function + 1,
		     excused ? why : "NO REASON IS KNOWN");
	*missed += !hit && !excused;
	*idle += hit && excused;
}

/*
 * Three promises: all sites, no excuse too many, as many points as there were. Of these it counts
 * sites that failed as a whole: each was come to. Within, one may not be, when a slab cache needs a
 * page in one trial and none in the next.
 */
static inline void judge_sites(void)
{
	unsigned int sites = 0, missed = 0, idle = 0, whole = 0, i;
	FILE *file = fopen(SITES, "r");
	char site[160];

	while (file && fgets(site, sizeof(site), file)) {
		site[strcspn(site, "\n")] = 0;
		judge_site(site, &missed, &idle);
		sites++;
	}
	if (!sites)
		bail_out("%s: no sites", SITES);
	fclose(file);
	for (i = 0; i < reached_count; i++)
		whole += !strncmp(reached[i].site, "at ", 3);
	note("figure: %lu faults at %u different points, in all calls; %u sites in the module",
	     faults, reached_count, sites);
	is_int(missed, 0, "every call of the module that can fail has failed");
	is_int(idle, 0, "none that needs no excuse has one");
	ok(whole >= points_due(), "sites have failed at no fewer than %u points: %u",
	   points_due(), whole);
}

#endif /* _FAULT_H */

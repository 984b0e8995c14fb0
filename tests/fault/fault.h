/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fault.h - makes one call fail at each point where it can, and compares the belt before and after.
 *
 * The module was built with inject.h, which has the sites. This file counts the faults, and which
 * sites have failed in which case.
 */
#ifndef _FAULT_H
#define _FAULT_H

#include "mode.h"
#include "../device/lock.h"
#include "../device/request.h"
#include "../device/window.h"

#define SITES		"sites"		/* the file with all sites that were compiled */
#define EXCUSES		"unreached"	/* the file with the sites that need not fail, and why */

/* More points than any call has. */
#define POINTS_MAX	20000

static const char *const mode_names[] = {
	[FAULT_POINT] = "point", [FAULT_ALLOCATIONS] = "allocations",
	[FAULT_SITE] = "site", [FAULT_MODULE_POINT] = "module point",
};

/**
 * struct point - where a fault was
 * @fired:	there was one
 * @known:	the module has printed the site
 * @allocates:	the site allocates or registers; else it copies from or to user space
 * @writes:	the site copies the results of a call to user space, after the call has taken effect
 * @site:	"at SITE" or "inside of SITE", as the module prints it
 */
struct point {
	bool fired;
	bool known;
	bool allocates;
	bool writes;
	char site[96];
};

static int fail_nth = -1, kmsg = -1;

/* Pairs of a case and a site that has failed in it at least once, as a whole or inside. */
static struct {
	char in[48];
	char site[96];
} reached[4096];
static unsigned int reached_count;
static char current_case[48];	/* the case that runs */
static unsigned long faults;

static inline void write_file(const char *path, const char *text)
{
	if (!write_line(path, text))
		bail_out("%s: cannot write %s", path, text);
}

/* Enables all hooks of one kind of the kernel's fault injection, without log messages. */
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

/* Makes this thread fail from now on, as the mode says. */
static inline void arm(enum fault_mode mode, unsigned int n)
{
	static const unsigned int base[] = {
		[FAULT_ALLOCATIONS] = FAULT_ALLOCATIONS_BASE,
		[FAULT_SITE] = FAULT_SITE_BASE,
		[FAULT_MODULE_POINT] = FAULT_MODULE_POINT_BASE,
	};
	char text[16];
	int len = snprintf(text, sizeof(text), "%u",
			   mode == FAULT_POINT ? n : base[mode] + n * FAULT_STEP);

	if (pwrite(fail_nth, text, len, 0) != len)
		bail_out("fail-nth: %s", strerror(errno));
}

/* Ends that. Return: whether there was a fault. */
static inline bool disarm(enum fault_mode mode)
{
	char text[16] = "";
	/* This read fails if the next point was due, which was not in the call then. */
	bool left = pread(fail_nth, text, sizeof(text) - 1, 0) < 0;
	unsigned int n = strtoul(text, NULL, 10);

	/* This write may fail for the same reason. The number is 0 then, too. */
	if (pwrite(fail_nth, "0", 1, 0) != 1 && errno != EFAULT)
		bail_out("fail-nth: %s", strerror(errno));
	return !left && (mode == FAULT_ALLOCATIONS ? n < FAULT_ALLOCATIONS_BASE : !n);
}

static inline void begin_case(const char *name)
{
	snprintf(current_case, sizeof(current_case), "%s", name);
}

/*
 * Adds the pair of this case and a site. All faults inside of one site are one pair: how many
 * hooks the kernel passes there differs from run to run, since a slab cache may need a page or
 * not. In FAULT_MODULE_POINT they are not added, since not all of those points are tried.
 */
static inline void add_reached(const char *site, enum fault_mode mode)
{
	bool inside = !strncmp(site, "inside ", 7);
	size_t len = inside ? strcspn(site, ",") : strlen(site);
	unsigned int i;

	if (inside && mode == FAULT_MODULE_POINT)
		return;
	for (i = 0; i < reached_count; i++)
		if (!strcmp(reached[i].in, current_case) &&
		    !strncmp(reached[i].site, site, len) && !reached[i].site[len])
			return;
	if (i == ARRAY_SIZE(reached) || len >= sizeof(reached[0].site))
		bail_out("more than %zu sites in cases, or too long a name: enlarge reached[]",
			 ARRAY_SIZE(reached));
	snprintf(reached[i].in, sizeof(reached[i].in), "%s", current_case);
	snprintf(reached[i].site, sizeof(reached[i].site), "%.*s", (int)len, site);
	reached_count++;
}

/* Takes a line of the module's. The first line after a fault has the site of that fault. */
static inline void take_line(struct point *point, char *site, enum fault_mode mode)
{
	bool writes;

	site[strcspn(site, "\n")] = 0;
	add_reached(site, mode);
	if (point->known)
		return;
	point->known = true;
	snprintf(point->site, sizeof(point->site), "%s", site);
	writes = strstr(site, "to_user") || strstr(site, "to_iter") ||
		 strstr(site, "put_user") || strstr(site, "write_access");
	/* A get takes effect after its value has been copied. */
	point->writes = writes && !(strstr(site, "item.c") &&
				    strstr(site, "copy_to_user"));
	point->allocates = !writes && !strstr(site, "from_user") &&
			   !strstr(site, "get_user") && !strstr(site, "read_access");
}

/* Reads the kernel log from where it was read to before. */
static inline void read_log(struct point *point, enum fault_mode mode)
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

/* Disarms, and says where the fault was. */
static inline struct point fired(enum fault_mode mode)
{
	struct point point = { .fired = disarm(mode) };

	snprintf(point.site, sizeof(point.site), "outside of the module");
	read_log(&point, mode);
	if (point.known && !point.fired)
		bail_out("the module prints a fault %s, and fail-nth has none", point.site);
	faults += point.fired;
	return point;
}

/* Comparing belts */

/**
 * struct belt_snapshot - the state of a belt that a failed call must not change
 *
 * The memory of tables and wheels is not in it: a call that fails may leave those that it has
 * made for the next call.
 */
struct belt_snapshot {
	__u64 words[20];
	__u64 counters[HASHBELT_STAT_COUNT];
	__u64 scanned;
	__u64 content;		/* of keys, lengths, flags and times left */
	__u64 versions;
	__u64 lock_content;
	__u64 lock_tokens;
	__u64 names;		/* belts that have a name */
};

/* Indices into @words. */
#define QUEUED		3
#define SEQUENCE	6

static const char *const word_names[] = {
	"entries", "used_entries", "used_bytes", "queued", "in_flight", "queued_bytes",
	"sequence", "locks", "requests", "ttl_ms", "interval_ns", "grace_ms", "buckets",
	"policy and mode", "handler and reasons", "state and access", "max_entries",
	"max_bytes", "max_events", "window_bytes and window_used",
};

static inline __u64 mix(__u64 sum, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	while (len--)
		sum = (sum ^ *bytes++) * 0x100000001b3ULL;
	return sum;
}

static inline void see_info(int belt, struct belt_snapshot *snapshot)
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
		(__u64)info.window_bytes << 32 | info.window_used,
	};

	_Static_assert(sizeof(words) == sizeof(snapshot->words), "words");
	memcpy(snapshot->words, words, sizeof(words));
}

static inline void see_counters(int belt, struct belt_snapshot *snapshot)
{
	struct hashbelt_stat stat = {
		.counters = address(snapshot->counters), .count = HASHBELT_STAT_COUNT,
	};

	must(belt, HASHBELT_IOC_STAT, &stat);
	/* These depend on when the worker runs and an interval ends, and not on the call. */
	snapshot->counters[HASHBELT_STAT_WAKEUPS] = 0;
	snapshot->counters[HASHBELT_STAT_DRAINED] = 0;
	snapshot->counters[HASHBELT_STAT_CASCADED] = 0;
	snapshot->counters[HASHBELT_STAT_ROTATIONS] = 0;
}

static inline void see_entries(int belt, struct belt_snapshot *snapshot)
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
			snapshot->scanned++;
			snapshot->content += mix(record->value_len ^ record->ttl_ms << 21 ^
						 (__u64)record->flags << 32,
						 record + 1, record->key_len);
			snapshot->versions += mix(record->version, record + 1,
						  record->key_len);
			record = (const void *)((const char *)record + record->size);
		}
	} while (scan.cursor);
}

static inline void see_locks(int belt, struct belt_snapshot *snapshot)
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
			snapshot->lock_content += mix(record->ttl_ms << 8 ^ record->how,
						      record + 1, record->key_len +
						      record->owner_len);
			snapshot->lock_tokens += record->token;
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

static inline struct belt_snapshot see(int belt)
{
	struct belt_snapshot snapshot = {};

	see_counters(belt, &snapshot);
	see_info(belt, &snapshot);
	see_entries(belt, &snapshot);
	see_locks(belt, &snapshot);
	snapshot.names = belts_with_name(belt);
	return snapshot;
}

/* Parts of the state that have to be the same, besides the words and the counts. */
#define WITH_VERSIONS	1
#define WITH_COUNTERS	2
#define WITH_CONTENT	4	/* of the scan and the list of locks, with the times left */

static inline bool differs(const char *what, __u64 got, __u64 want)
{
	if (got != want)
		note("  %s: %llu, expected %llu", what, got, want);
	return got != want;
}

static inline bool same_belt(const struct belt_snapshot *got, const struct belt_snapshot *want,
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
		wrong += differs("content of the scan", got->content, want->content);
		wrong += differs("content of the locks", got->lock_content, want->lock_content);
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
 * Whether a site, "FILE:LINE CALL FUNCTION", need not fail, since EXCUSES has a line "FILE FUNCTION
 * CALL: WHY" for it. Return: that reason in @why.
 */
static inline bool is_excused(const char *site, char *why, size_t size)
{
	char file[64], called[64], function[64], name[200], line[256];
	FILE *excuses = fopen(EXCUSES, "r");
	bool found = false;

	if (!excuses || sscanf(site, "%63[^:]:%*u %63s %63s", file, called, function) != 3)
		bail_out("cannot read %s, or the site \"%s\" of %s", EXCUSES, site, SITES);
	snprintf(name, sizeof(name), "%s %s %s: ", file, function, called);
	while (!found && fgets(line, sizeof(line), excuses)) {
		found = !strncmp(line, name, strlen(name));
		line[strcspn(line, "\n")] = 0;
		snprintf(why, size, "%s", line + (found ? strlen(name) : 0));
	}
	fclose(excuses);
	return found;
}

/* The number of pairs of a case and a site that EXCUSES demands. */
static inline unsigned int pairs_due(void)
{
	FILE *excuses = fopen(EXCUSES, "r");
	unsigned int due = 0;
	char line[256];

	while (excuses && !due && fgets(line, sizeof(line), excuses))
		sscanf(line, "pairs %u", &due);
	if (!due)
		bail_out("%s has no line \"pairs NUMBER\"", EXCUSES);
	fclose(excuses);
	return due;
}

static inline void check_site(char *site, unsigned int *missed, unsigned int *idle)
{
	char *function = strrchr(site, ' '), why[256] = "";
	bool excused = is_excused(site, why, sizeof(why)), hit;

	*function = 0;
	hit = was_reached(site);
	if (!hit)
		note("has not failed: %s in %s(): %s", site, function + 1,
		     excused ? why : "NO REASON IS KNOWN");
	*missed += !hit && !excused;
	*idle += hit && excused;
}

/*
 * Each site has failed or is excused, no excuse is superfluous, and there are as many pairs as
 * EXCUSES demands. Only sites that failed as a whole count there: whether a hook inside of a site
 * is passed differs from run to run, since a slab cache may need a page or not.
 */
static inline void check_sites(void)
{
	unsigned int sites = 0, missed = 0, idle = 0, whole = 0, i;
	FILE *file = fopen(SITES, "r");
	char site[160];

	while (file && fgets(site, sizeof(site), file)) {
		site[strcspn(site, "\n")] = 0;
		check_site(site, &missed, &idle);
		sites++;
	}
	if (!sites)
		bail_out("%s: no sites", SITES);
	fclose(file);
	for (i = 0; i < reached_count; i++)
		whole += !strncmp(reached[i].site, "at ", 3);
	note("figure: %lu faults at %u pairs of a case and a site; %u sites in the module",
	     faults, reached_count, sites);
	is_int(missed, 0, "each site of the module fails in some case, unless it is excused");
	is_int(idle, 0, "no site fails that is excused");
	ok(whole >= pairs_due(),
	   "sites fail as a whole in at least %u pairs of a case and a site: %u",
	   pairs_due(), whole);
}

#endif /* _FAULT_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz - random calls of the device, from several processes.
 *
 *	fuzz [--seed N] [--seconds N | --calls N] [--cover] [--faults]
 *	     [--replay FILE [--rounds N]]
 *
 * A program (see program.h) is random, or a kept program with some changes. With --cover, a
 * program that reaches new places of the module is kept. --cover needs a kernel with KCOV
 * and a module that is built for it. Without --cover no program is kept.
 *
 * With --faults, an allocation or a copy of user memory fails in every third call: the program
 * says which. --faults needs a kernel that injects faults. --replay of such programs needs
 * --faults as well.
 *
 * One process runs as root, the others as other users. Now and then a process is killed, with
 * all its open files. After each stretch of 15 s all processes are ended. Then the belts must
 * have no event in flight and no request, and all memory must be freed.
 *
 * Before a program runs, it is written to the kernel's log, at a level that the console does
 * not show, but a panic does. --replay takes that log: each process runs the programs under
 * its number there again, in order.
 */
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "device.h"
#include "execution.h"

#define WORKERS		3
#define KEPT_MAX	2048	/* greatest number of kept programs */
#define KEPT_MIN	30	/* with fewer kept programs or places, --cover does not work */
#define PLACES_MIN	1000
#define RECENT		8	/* last programs of each process, printed after a failure */
#define STRETCH_MS	15000
#define KILL_MS		1500	/* from one kill to the next */
#define STUCK_MS	60000	/* a program that runs longer is stuck */
#define KMSG_MAX	900	/* bytes that fit into a line of the kernel's log */
#define REPLAY_MAX	4096	/* programs of one process */

/* Limits on belts, below the memory of the guest, so that calls meet them. */
#define MAX_BYTES	(48 * MIB)
#define USER_MAX_BYTES	(12 * MIB)
#define USER_MAX_PINNED	25
#define MAX_BELTS	48
#define USER_MAX_BELTS	12

/**
 * struct worker - a process that runs programs
 * @began_ms:	when it began its present program
 * @programs:	number of programs that it has run
 * @pid:	its process id, and its process group
 * @recent:	its last programs; program N is at N % RECENT
 */
struct worker {
	_Atomic __u64 began_ms;
	_Atomic __u64 programs;
	pid_t pid;
	struct program recent[RECENT];
};

/* Memory that all processes share. */
static struct shared {
	_Atomic unsigned int kept;
	_Atomic __u64 longest_ms;
	_Atomic bool is_kept[KEPT_MAX];
	struct program keep[KEPT_MAX];
	struct worker workers[WORKERS];
	struct tally tally;
} *shared;

/* The programs to replay, by worker. */
static struct {
	struct program *programs;
	unsigned int count;
} replays[WORKERS];
static bool is_replay;

static __u64 seed, seconds = 60, calls_wanted, rounds = 20;
static bool cover;
static int log_fd;
static __u64 births, begun_ms;

/* Counts of failures. */
static unsigned int complaints, stuck, leftovers;

static __u64 now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ull + now.tv_nsec / 1000000;
}

/* Functions of a worker */

/* Writes a program to the kernel's log, in as many lines as needed. */
static void write_down(unsigned int index, char *text)
{
	char line[KMSG_MAX + 32], *end;
	const char *mark = ":";
	size_t len;
	int used;

	while (*text) {
		len = strlen(text);
		if (len > KMSG_MAX) {
			for (end = text + KMSG_MAX; *end != ';'; end--)
				;
			len = end + 1 - text;
		}
		used = snprintf(line, sizeof(line), "<7>fuzz %u%s %.*s", index, mark, (int)len,
				text);
		if (write(log_fd, line, used) < 0)
			return;
		text += len;
		mark = "+";
	}
}

static void run_program(unsigned int index, const struct program *program)
{
	struct worker *worker = &shared->workers[index];
	char text[PROGRAM_TEXT];
	unsigned int at;
	__u64 took;

	worker->recent[worker->programs % RECENT] = *program;
	write_down(index, program_print(program, text));
	atomic_store(&worker->began_ms, now_ms());
	if (execution_run(program) && !is_replay) {
		at = atomic_fetch_add(&shared->kept, 1) % KEPT_MAX;
		shared->keep[at] = *program;
		atomic_store(&shared->is_kept[at], true);
	}
	took = now_ms() - worker->began_ms;
	if (took > shared->longest_ms)
		shared->longest_ms = took;
	atomic_fetch_add(&worker->programs, 1);
}

/* A kept program, or NULL. Half of the time it is one of the newer half. */
static const struct program *pick_kept(uint64_t *random)
{
	unsigned int kept = shared->kept < KEPT_MAX ? shared->kept : KEPT_MAX, at;

	if (!kept)
		return NULL;
	at = random_below(random, kept);
	if (random_below(random, 2))
		at = kept / 2 + at / 2;
	return shared->is_kept[at] ? &shared->keep[at] : NULL;
}

static void next_program(struct program *program, uint64_t *random)
{
	const struct program *kept = pick_kept(random), *other = pick_kept(random);

	if (!kept || !random_below(random, 4)) {
		program_make(program, random);
		return;
	}
	*program = *kept;
	program_change(program, other ? other : kept, random);
}

/* Makes worker 0 root's, and the others those of users without rights. */
static void become(unsigned int index)
{
	static const unsigned int ids[WORKERS] = { 0, 65534, 1000 };

	if (!ids[index])
		return;
	if (setgroups(0, NULL) || setgid(ids[index]) || setuid(ids[index]))
		_exit(3);
}

static _Noreturn void work(unsigned int index, uint64_t random)
{
	struct program program;
	unsigned int i, k;

	setpgid(0, 0);
	if (cover && !cover_begin())
		_exit(2);
	if (program_faults && !fail_begin())
		_exit(5);
	become(index);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!execution_begin(&shared->tally))
		_exit(4);
	for (i = 0; is_replay && i < rounds; i++)
		for (k = 0; k < replays[index].count; k++)
			run_program(index, &replays[index].programs[k]);
	while (!is_replay) {
		next_program(&program, &random);
		run_program(index, &program);
	}
	_exit(0);
}

/* Functions of the process that starts, watches and kills the workers */

static void begin_worker(unsigned int index)
{
	struct worker *worker = &shared->workers[index];
	uint64_t random = seed + ++births * 0x1000003;
	pid_t pid;

	worker->began_ms = now_ms();
	/* Not into shared memory at once: the worker would write it as well. */
	pid = fork();
	if (pid < 0)
		bail_out("fork: %s", strerror(errno));
	if (!pid)
		work(index, random);
	setpgid(pid, pid);
	worker->pid = pid;
}

/* Kills a worker and its children. They must end within STUCK_MS. */
static void end_worker(unsigned int index)
{
	struct worker *worker = &shared->workers[index];
	__u64 until = now_ms() + STUCK_MS;

	if (!worker->pid)
		return;
	kill(-worker->pid, SIGKILL);
	while (waitpid(-worker->pid, NULL, WNOHANG) >= 0) {
		usleep(1000);
		if (now_ms() < until)
			continue;
		note("process %d does not end within %u s of SIGKILL", worker->pid,
		     STUCK_MS / 1000);
		stuck++;
		break;
	}
	worker->pid = 0;
}

static void show_recent(void)
{
	char text[PROGRAM_TEXT];
	unsigned int i;
	__u64 n, k;

	note("the last programs, as input for --replay:");
	for (i = 0; i < WORKERS; i++) {
		n = shared->workers[i].programs + 1;
		for (k = n > RECENT ? n - RECENT : 0; k < n; k++)
			note("fuzz %u: %s", i,
			     program_print(&shared->workers[i].recent[k % RECENT], text));
	}
}

/* Searches the kernel's new messages for warnings. */
static void read_log(int log)
{
	static const char * const words[] = {
		"BUG:", "WARNING:", "KASAN", "UBSAN", "ODEBUG", "Oops", "general protection",
		"suspicious RCU", "possible circular", "possible recursive", "refcount_t",
		"list_add corruption", "list_del corruption", "blocked for more than",
		"scheduling while atomic", "inconsistent lock",
	};
	char line[8192];
	ssize_t len;
	size_t i;

	while ((len = read(log, line, sizeof(line) - 1)) > 0 || errno == EPIPE) {
		line[len > 0 ? len : 0] = '\0';
		/* Skip messages that were lost (EPIPE), and programs. */
		if (len <= 0 || strstr(line, ";fuzz "))
			continue;
		for (i = 0; i < ARRAY_SIZE(words); i++) {
			if (!strstr(line, words[i]))
				continue;
			complaints++;
			note("after %llu s the kernel warned:", (now_ms() - begun_ms) / 1000);
			note("%.*s", (int)strcspn(strchr(line, ';') + 1, "\n"),
			     strchr(line, ';') + 1);
		}
	}
}

static bool all_well(void)
{
	return !complaints && !stuck;
}

static void look_for_stuck(void)
{
	unsigned int i;

	for (i = 0; i < WORKERS; i++) {
		if (!shared->workers[i].pid ||
		    now_ms() < shared->workers[i].began_ms + STUCK_MS)
			continue;
		note("worker %u: a program runs for more than %u s", i, STUCK_MS / 1000);
		stuck++;
	}
}

/* Starts workers that have ended anew, or not in a replay. Return: true if any still runs. */
static bool look_for_ended(void)
{
	unsigned int i, left = 0;
	int status;

	for (i = 0; i < WORKERS; i++) {
		if (!shared->workers[i].pid)
			continue;
		if (waitpid(shared->workers[i].pid, &status, WNOHANG) <= 0) {
			left++;
			continue;
		}
		if (WIFEXITED(status) && WEXITSTATUS(status))
			bail_out("worker %u cannot begin (exit status %d)", i, WEXITSTATUS(status));
		end_worker(i);
		if (!is_replay)
			begin_worker(i);
	}
	return left;
}

static void stretch(int log)
{
	__u64 now = now_ms(), until = now + STRETCH_MS, kill_at = now + KILL_MS;
	uint64_t random = seed + now;
	unsigned int i;

	for (i = 0; i < WORKERS; i++)
		begin_worker(i);
	while (all_well() && (is_replay || now_ms() < until)) {
		usleep(50000);
		read_log(log);
		look_for_stuck();
		if (!look_for_ended() && is_replay)
			break;
		if (is_replay || now_ms() < kill_at)
			continue;
		i = random_below(&random, WORKERS);
		end_worker(i);
		begin_worker(i);
		kill_at = now_ms() + KILL_MS;
	}
	if (!all_well())
		show_recent();
	for (i = 0; i < WORKERS; i++)
		end_worker(i);
	read_log(log);
}

/* Checks while no worker runs */

/* Reads events until the belt is empty: its worker still reports cleared entries. */
static bool is_empty(void *arg)
{
	static char events[HASHBELT_EVENT_MAX];
	struct hashbelt_info info;
	int fd = *(int *)arg;

	while (read(fd, events, sizeof(events)) > 0)
		;
	info = info_of(fd);
	return !info.entries && !info.locks && !info.requests && !info.queued &&
	       !info.used_entries && !info.used_bytes;
}

static void leftover(const char *name, const char *what, __u64 count)
{
	if (!count)
		return;
	note("belt '%s': %s: %llu", name, what, count);
	leftovers++;
}

/* Checks a belt that only this process has open, and destroys it. */
static void check_belt(const char *name)
{
	int fd = open_device(O_RDWR | O_NONBLOCK);
	struct hashbelt_info info;

	if (open_belt(fd, name))
		bail_out("belt '%s' cannot be opened", name);
	info = info_of(fd);
	leftover(name, "events in flight", info.in_flight);
	leftover(name, "requests", info.requests);
	must(fd, HASHBELT_IOC_CLEAR, NULL);
	if (!at_last(is_empty, &fd)) {
		info = info_of(fd);
		note("%llu entries, %llu locks, %llu queued, %llu used, %llu bytes",
		     info.entries, info.locks, info.queued, info.used_entries,
		     info.used_bytes);
		leftover(name, "not empty", 1);
	}
	if (destroy_belt(fd, name))
		bail_out("belt '%s' cannot be destroyed", name);
	close(fd);
}

static void check_belts(void)
{
	int fd = open_device(O_RDWR);
	struct hashbelt_info info = {};

	while (!call(fd, HASHBELT_IOC_NEXT, &info))
		check_belt(info.name);
	close(fd);
}

/* Makes the default belt, which a new descriptor uses until it is bound. All may use it. */
static void make_default(void)
{
	int fd = open_device(O_RDWR);

	if (create_belt(fd, HASHBELT_DEFAULT_BELT, 0666))
		bail_out("the default belt cannot be made");
	close(fd);
}

static bool write_setting(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	close(fd);
	return good;
}

/* Lets allocations that may sleep fail as well, and keeps faults out of the kernel's log. */
static void prepare_faults(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char path[128];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose", kinds[i]);
		if (!write_setting(path, "0"))
			bail_out("%s: the kernel cannot inject faults", path);
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/ignore-gfp-wait", kinds[i]);
		if (!access(path, W_OK) && !write_setting(path, "N"))
			bail_out("%s: cannot write", path);
	}
}

static void prepare(void)
{
	int log;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		bail_out("mmap: %s", strerror(errno));
	if (cover && !cover_find())
		bail_out("no KCOV, or no module: cannot --cover");
	if (program_faults)
		prepare_faults();
	log_fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (log_fd < 0 || chmod(HASHBELT_DEVICE, 0666))
		bail_out("/dev/kmsg or " HASHBELT_DEVICE ": %s", strerror(errno));
	/* On a panic the kernel prints its log from the beginning. */
	log = open("/proc/sys/kernel/panic_print", O_WRONLY | O_CLOEXEC);
	if (log < 0 || write(log, "32", 2) != 2)
		note("panic_print: %s: a panic will not show the last programs", strerror(errno));
	close(log);
	/* This process reaps the children of killed workers. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	set_number("max_bytes", MAX_BYTES);
	set_number("user_max_bytes", USER_MAX_BYTES);
	set_number("user_max_pinned", USER_MAX_PINNED);
	set_number("max_belts", MAX_BELTS);
	set_number("user_max_belts", USER_MAX_BELTS);
}

/* Replaying */

static void read_replay(const char *path)
{
	static char last[WORKERS][4 * PROGRAM_TEXT];
	char *line = NULL, *text, mark;
	FILE *file = fopen(path, "re");
	unsigned int index, i;
	size_t room = 0;
	int used;

	if (!file)
		bail_out("%s: %s", path, strerror(errno));
	for (i = 0; i < WORKERS; i++)
		replays[i].programs = calloc(REPLAY_MAX, sizeof(struct program));
	while (getline(&line, &room, file) > 0) {
		text = strstr(line, "fuzz ");
		if (!text || sscanf(text, "fuzz %u%c %n", &index, &mark, &used) != 2 ||
		    index >= WORKERS || replays[index].count == REPLAY_MAX)
			continue;
		text += used;
		/* A line that continues a program: parse the whole program again. */
		if (mark == '+' && replays[index].count)
			replays[index].count--;
		else
			*last[index] = '\0';
		strncat(last[index], text, strcspn(text, "\r\n"));
		text = strdup(last[index]);
		if (!program_parse(&replays[index].programs[replays[index].count++], text))
			replays[index].count--;
		free(text);
	}
	free(line);
	fclose(file);
}

/* The report */

static bool has_succeeded(const char *name)
{
	unsigned int i;

	for (i = 0; i < call_count; i++)
		if (!strcmp(calls[i].name, name))
			return shared->tally.results[i][0];
	return false;
}

/* Writes the number of failures of a call, by errno, to @text; returns @text. */
static char *results_of(unsigned int index, char *text)
{
	char *end = text;
	unsigned int error;
	__u64 n;

	for (error = 1; error < ERRORS_MAX; error++) {
		n = shared->tally.results[index][error];
		if (n)
			end += sprintf(end, ", %s %llu", error_name(error), n);
	}
	*end = '\0';
	return text;
}

static bool reaches_enough(void)
{
	return shared->tally.points >= PLACES_MIN && shared->kept >= KEPT_MIN;
}

/* Return: true if each ioctl has succeeded once, and with --cover enough places are reached. */
static bool is_enough(void)
{
	unsigned int i;

	for (i = 0; i < call_count; i++)
		if (calls[i].act == IOCTL && !has_succeeded(calls[i].name))
			return false;
	return !cover || reaches_enough();
}

static __u64 calls_made(void)
{
	unsigned int i, error;
	__u64 total = 0;

	for (i = 0; i < call_count; i++)
		for (error = 0; error < ERRORS_MAX; error++)
			total += shared->tally.results[i][error];
	return total;
}

/*
 * Return: true after --seconds, or after --calls however long they take. If programs have not
 * reached enough by then, they get twice the seconds or ten times the calls.
 */
static bool is_over(void)
{
	__u64 made, since = now_ms() - begun_ms;

	if (!calls_wanted)
		return since >= (is_enough() ? 1 : 2) * seconds * 1000;
	made = calls_made();
	return made >= (is_enough() ? 1 : 10) * calls_wanted;
}

static void report(void)
{
	char text[4096];
	unsigned int i;

	for (i = 0; i < call_count; i++) {
		if (calls[i].act == IOCTL)
			ok(has_succeeded(calls[i].name), "%s succeeds at least once: %llu%s",
			   calls[i].name, (__u64)shared->tally.results[i][0],
			   results_of(i, text));
		else
			note("%s: succeeded %llu%s", calls[i].name,
			     (__u64)shared->tally.results[i][0], results_of(i, text));
	}
	note("figure: fuzz: seed %llu: %llu calls in %llu s, %llu processes", seed,
	     calls_made(), (now_ms() - begun_ms) / 1000, births);
	note("figure: fuzz: the longest program took %llu ms", (__u64)shared->longest_ms);
	if (cover)
		ok(reaches_enough(),
		   "random programs reach %u places of the module (at least %u), %u are kept (%u)",
		   shared->tally.points, PLACES_MIN, shared->kept, KEPT_MIN);
}

static void take_options(char **argv)
{
	const struct { const char *name; __u64 *number; } options[] = {
		{ "--seed", &seed }, { "--seconds", &seconds }, { "--calls", &calls_wanted },
		{ "--rounds", &rounds },
	};
	size_t i;

	seed = time(NULL) * 1000003ull + getpid();
	while (*++argv) {
		for (i = 0; i < ARRAY_SIZE(options) && strcmp(*argv, options[i].name); i++)
			;
		if (!strcmp(*argv, "--cover")) {
			cover = true;
		} else if (!strcmp(*argv, "--faults")) {
			program_faults = true;
		} else if (i < ARRAY_SIZE(options) && argv[1]) {
			*options[i].number = strtoull(*++argv, NULL, 0);
		} else if (!strcmp(*argv, "--replay") && argv[1]) {
			read_replay(*++argv);
			is_replay = true;
		} else {
			bail_out("usage: fuzz [--seed N] [--cover] [--faults] [--replay FILE] ...");
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int stretches = 0;
	__u64 base;
	int log;

	(void)argc;
	take_options(argv);
	if (is_replay)
		note("%u, %u and %u programs, %llu times", replays[0].count, replays[1].count,
		     replays[2].count, rounds);
	else
		note("seed %llu, %llu %s", seed, calls_wanted ? calls_wanted : seconds,
		     calls_wanted ? "calls" : "seconds");
	prepare();
	log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	lseek(log, 0, SEEK_END);
	check_belts();
	/* Memory that the module uses without a belt. */
	usleep(200000);
	base = get_parameter("used_bytes");
	begun_ms = now_ms();
	do {
		make_default();
		stretch(log);
		check_belts();
		if (!used_at_last(base))
			leftovers++;
		stretches++;
		/* A guest that prints nothing is ended. */
		note("%llu calls after %llu s", calls_made(), (now_ms() - begun_ms) / 1000);
	} while (!is_replay && all_well() && !leftovers && !is_over());
	is_int(complaints, 0, "the kernel warns of nothing while random programs run");
	is_int(stuck, 0, "no program runs for more than 60 s, and each process can be killed");
	is_int(leftovers, 0, "after each of %u stretches no event, request or memory is left",
	       stretches);
	if (!is_replay)
		report();
	return done_testing();
}

// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <linux/kcov.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "execution.h"

#define KCOV		"/sys/kernel/debug/kcov"
#define TRACE_MAX	65536	/* greatest number of places in the trace of a call */
#define ROUNDS		4	/* repetitions of a call that another thread meddles with */
#define CHANGES		20	/* repetitions if the thread only changes words, which is quick */
#define WAIT_US		20000	/* a signal ends each call that waits longer */

/* State of a process that runs programs. */
static struct tally *tally;
static int fds[SLOTS];
static struct { void *at; size_t bytes; } windows[SLOTS];	/* what the slots have mapped */
static int epoll_fd;
static uint64_t last[KINDS];	/* last value that a call returned, by enum kind */
static pid_t child;
static bool is_child;

/* Coverage */

static unsigned long module_at, module_size;
static unsigned long *trace;

/* Finds the address of the module; returns false if the kernel cannot trace its code. */
bool cover_find(void)
{
	FILE *modules = fopen("/proc/modules", "re");
	char line[512], name[64];
	bool found = false;

	while (modules && !found && fgets(line, sizeof(line), modules))
		found = sscanf(line, "%63s %lu %*s %*s %*s %lx", name, &module_size,
			       &module_at) == 3 && !strcmp(name, "hashbelt");
	if (modules)
		fclose(modules);
	return found && module_at && module_size <= TEXT_MAX && !access(KCOV, R_OK | W_OK);
}

/* Begins to trace this thread's calls. Needs root's rights only now, not later. */
bool cover_begin(void)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, TRACE_MAX))
		return false;
	trace = mmap(NULL, TRACE_MAX * sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, 0);
	return trace != MAP_FAILED && !ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC);
}

/* Records the places that the last call reached; returns how many of them are new. */
static unsigned int cover_collect(void)
{
	unsigned long i, n, at;
	unsigned int found = 0;

	if (!trace || is_child)
		return 0;
	n = __atomic_load_n(&trace[0], __ATOMIC_RELAXED);
	for (i = 1; i <= n && i < TRACE_MAX; i++) {
		at = trace[i] - module_at;
		if (at < module_size && !atomic_load_explicit(&tally->reached[at],
							      memory_order_relaxed) &&
		    !atomic_exchange(&tally->reached[at], 1))
			found++;
	}
	__atomic_store_n(&trace[0], 0, __ATOMIC_RELAXED);
	atomic_fetch_add(&tally->points, found);
	return found;
}

/* Faults */

static int fail_nth = -1;

/* Opens the file that makes calls of this thread fail. Needs root's rights only now. */
bool fail_begin(void)
{
	fail_nth = open("/proc/self/fail-nth", O_WRONLY | O_CLOEXEC);
	return fail_nth >= 0;
}

/* Not in a child: its copy of the descriptor would make calls of its parent fail. */
static void fail_arm(const struct step *step)
{
	char text[8];
	int len = snprintf(text, sizeof(text), "%u", step->fail);

	if (step->fail && fail_nth >= 0 && !is_child && pwrite(fail_nth, text, len, 0) != len)
		abort();
}

/*
 * Ends what fail_arm() began; returns the call's result, and keeps errno. If the fault is still
 * pending, the copy of "0" from user memory may fail with EFAULT: then none is pending.
 */
static long fail_disarm(const struct step *step, long result)
{
	int error = errno;

	if (step->fail && fail_nth >= 0 && !is_child && pwrite(fail_nth, "0", 1, 0) != 1 &&
	    errno != EFAULT)
		abort();
	errno = error;
	return result;
}

static long count(const struct step *step, long result)
{
	unsigned int error = result < 0 ? errno : 0;

	if (error < ERRORS_MAX)
		atomic_fetch_add(&tally->results[step->call][error], 1);
	return result;
}

/* Makes a call, which fails as the step says, and counts its result. */
#define TRY(step, call)	({ fail_arm(step); count(step, fail_disarm(step, (call))); })

/* Arguments */

static void *place_of(const struct step *step, size_t size)
{
	unsigned long end = ARGUMENT_AT + ARGUMENT_SIZE;

	switch (step->place) {
	case UNALIGNED:
		return (void *)(end - size - 1 - step->seed % 7);
	case CUT:
		return (void *)(end - step->seed % (size + 1));
	case READONLY:
		return (void *)READONLY_AT;
	case NOWHERE:
		return (void *)HOLE_AT;
	case AT_NULL:
		return NULL;
	case IN_KERNEL:
		return (void *)(~0ul - step->seed % 8192);
	default:
		return (void *)(end - size);
	}
}

static bool is_writable(const struct step *step)
{
	return step->place == AT_END || step->place == UNALIGNED;
}

/* Fills in the values that earlier calls of the program have returned. */
static void fill_in_last(const struct call *call, unsigned char *argument)
{
	const struct field *field;

	for (field = call->fields; field->name; field++)
		if (field->kind >= VERSION && field_get(field, argument) == ~0ull - field->kind)
			field_set(field, argument, last[field->kind]);
}

static void remember(const struct call *call, const unsigned char *argument)
{
	const struct field *field;

	for (field = call->fields; field->name; field++)
		if (field->kind >= VERSION)
			last[field->kind] = field_get(field, argument);
}

static void make_argument(const struct step *step, unsigned char *argument)
{
	const struct call *call = &calls[step->call];
	unsigned int i;

	call_fill(call, step->seed, argument);
	call_arrays(call, step->seed, argument);
	for (i = 0; i < step->twists; i++)
		field_set(call_field(call, step->twist[i].field), argument,
			  step->twist[i].value);
	fill_in_last(call, argument);
}

/* The other thread */

/**
 * struct job - work of the thread that meddles with a call
 * @turns:	number of turns begun
 * @over:	tells the thread to end its work
 * @step:	the call that runs meanwhile
 * @fd:		descriptor of that call
 * @at:		argument of that call, if it is writable
 * @argument:	a copy of the argument
 * @begin:	posted when there is work
 * @end:	posted when the work has ended
 * @thread:	the thread
 */
static struct {
	_Atomic unsigned int turns;
	_Atomic bool over;
	const struct step *step;
	int fd;
	unsigned char *at;
	unsigned char argument[ARGUMENT_MAX];
	sem_t begin;
	sem_t end;
	pthread_t thread;
} job;

static void change_word(void *at, uint64_t *random)
{
	volatile uint32_t *word = at;
	uint32_t was = *word;

	*word = random_word(random);
	if (random_below(random, 2))
		sched_yield();
	*word = was;
}

/* The word of an argument to change, mostly a length. The same one for each turn of a call. */
static unsigned char *some_word(const struct step *step, unsigned char *at)
{
	const struct call *call = &calls[step->call];
	uint64_t random = step->seed;
	const struct field *field;
	unsigned int tries;

	for (tries = 0; tries < 8 && call_fields(call); tries++) {
		field = call_field(call, random_below(&random, call_fields(call)));
		if (field->kind == LENGTH)
			return at + field->offset;
	}
	return at + random_below(&random, call->size / 4) * 4;
}

/* A page that the call may use. */
static void *some_page(uint64_t *random)
{
	static const unsigned long pages[] = {
		KEYS_AT, ARRAY_AT + ARRAY_LENGTH - PIECE, VALUE_AT + VALUE_SIZE - PIECE,
		VALUE_AT + VALUE_SIZE - 2 * PIECE, ARGUMENT_AT + ARGUMENT_SIZE - PIECE,
		KEYS_AT + 10 * PIECE,
	};

	return (void *)pages[random_below(random, ARRAY_SIZE(pages))];
}

static void take_page(enum meddle how, uint64_t *random)
{
	void *page = some_page(random);

	if (how == FORGET) {
		madvise(page, PIECE, MADV_DONTNEED);
	} else if (how == PROTECT) {
		mprotect(page, PIECE, random_below(random, 2) ? PROT_READ : PROT_NONE);
		mprotect(page, PIECE, PROT_READ | PROT_WRITE);
	} else {
		munmap(page, PIECE);
		mmap(page, PIECE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}

static void replace_file(int fd)
{
	int other = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (other < 0)
		return;
	dup2(other, fd);
	close(other);
}

/* Makes the call with this request, with a random argument. */
static void request_any(int fd, unsigned long request, uint64_t *random)
{
	unsigned char argument[ARGUMENT_MAX];
	unsigned int i;

	for (i = 0; i < call_count; i++)
		if (calls[i].request == request)
			break;
	call_fill(&calls[i], random_next(random), argument);
	ioctl(fd, request, argument);
}

static void rebind(int fd, uint64_t *random)
{
	request_any(fd, random_below(random, 4) ? HASHBELT_IOC_OPEN : HASHBELT_IOC_CREATE, random);
}

/* Any call that changes the belt as a whole. */
static void reshape(int fd, uint64_t *random)
{
	static const unsigned long requests[] = {
		HASHBELT_IOC_SET, HASHBELT_IOC_CLEAR, HASHBELT_IOC_ROTATE,
		HASHBELT_IOC_ADVANCE, HASHBELT_IOC_SET, HASHBELT_IOC_DESTROY,
		HASHBELT_IOC_HALT, HASHBELT_IOC_RESUME, HASHBELT_IOC_WATCH,
	};

	request_any(fd, requests[random_below(random, ARRAY_SIZE(requests))], random);
}

static void meddle(uint64_t *random)
{
	const struct call *call = &calls[job.step->call];
	char buffer[4096];

	switch (job.step->meddle) {
	case ARGUMENT:
		if (job.at)
			change_word(some_word(job.step, job.at), random);
		break;
	case ARRAY:
		change_word((uint32_t *)(ARRAY_AT + ARRAY_LENGTH) - 1 -
			    random_below(random, PIECE / 16), random);
		break;
	case PROTECT:
	case UNMAP:
	case FORGET:
		take_page(job.step->meddle, random);
		break;
	case REPLACE:
		replace_file(job.fd);
		break;
	case RACE:
		if (call->act == IOCTL)
			ioctl(job.fd, call->request, job.argument);
		break;
	case REBIND:
		rebind(job.fd, random);
		break;
	case CONSUME:
		if (read(job.fd, buffer, sizeof(buffer)) < 0)
			sched_yield();
		break;
	default:
		reshape(job.fd, random);
	}
}

static void *meddler(void *arg)
{
	uint64_t random;
	sigset_t alarms;

	(void)arg;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	for (;;) {
		while (sem_wait(&job.begin))
			;
		random = job.step->seed ^ job.step->meddle;
		do {
			atomic_fetch_add(&job.turns, 1);
			meddle(&random);
		} while (!atomic_load(&job.over));
		sem_post(&job.end);
	}
	return NULL;
}

/* Not in a child: fork() does not copy the other thread. */
static bool meddle_begin(const struct step *step, int fd, unsigned char *at,
			 const unsigned char *argument)
{
	if (step->meddle == NOTHING || is_child)
		return false;
	job.step = step;
	job.fd = fd;
	job.at = at;
	memcpy(job.argument, argument, sizeof(job.argument));
	atomic_store(&job.turns, 0);
	atomic_store(&job.over, false);
	sem_post(&job.begin);
	while (!atomic_load(&job.turns))
		sched_yield();
	return true;
}

static void meddle_end(const struct step *step)
{
	struct timespec until;

	atomic_store(&job.over, true);
	for (;;) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 5000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (!sem_timedwait(&job.end, &until))
			break;
		/* The thread may be waiting in a call. */
		if (errno == ETIMEDOUT)
			pthread_kill(job.thread, SIGUSR1);
	}
	if (step->meddle == PROTECT || step->meddle == UNMAP || step->meddle == FORGET)
		arena_map();
}

/* Calls */

/* The descriptor in a slot, or another open one; opens the device if there is none. */
static int descriptor(unsigned int slot)
{
	unsigned int i;

	for (i = 0; fds[slot] < 0 && i < SLOTS; i++)
		if (fds[i] >= 0)
			slot = i;
	if (fds[slot] < 0)
		fds[slot] = open(HASHBELT_DEVICE, O_RDWR | O_CLOEXEC);
	return fds[slot];
}

static unsigned int rounds_of(const struct step *step)
{
	if (step->meddle == NOTHING)
		return 1;
	return step->meddle == ARGUMENT || step->meddle == ARRAY ? CHANGES : ROUNDS;
}

static void do_ioctl(const struct step *step, int fd)
{
	const struct call *call = &calls[step->call];
	unsigned char argument[ARGUMENT_MAX], *at = place_of(step, call->size);
	bool writable = is_writable(step) && call->size, meddled, pages;
	unsigned int rounds = rounds_of(step);

	arena_fill();
	make_argument(step, argument);
	if (writable)
		memcpy(at, argument, call->size);
	meddled = meddle_begin(step, fd, writable ? at : NULL, argument);
	pages = step->meddle == PROTECT || step->meddle == UNMAP;
	while (rounds--) {
		/* Not while the other thread unmaps pages: the copy would get SIGSEGV. */
		if (writable && !pages)
			memcpy(at, argument, call->size);
		TRY(step, ioctl(fd, call->request, at));
	}
	if (meddled)
		meddle_end(step);
	if (writable) {
		memcpy(argument, at, call->size);
		remember(call, argument);
	}
}

/* Reads events, and remembers the first one's numbers for later calls. */
static void do_read(const struct step *step, int fd)
{
	static const unsigned int sizes[] = { 0, 63, 64, 100, 4096, 65536, HASHBELT_EVENT_MAX };
	size_t size = sizes[step->seed % ARRAY_SIZE(sizes)];
	unsigned char *to = (void *)(VALUE_AT + VALUE_SIZE - size), none[ARGUMENT_MAX] = {};
	struct hashbelt_event *event;
	bool meddled = meddle_begin(step, fd, NULL, none);
	ssize_t got;

	got = TRY(step, read(fd, step->place > CUT ? place_of(step, size) : to, size));
	if (meddled)
		meddle_end(step);
	if (got < (ssize_t)sizeof(*event) || step->place > CUT || meddled)
		return;
	event = (void *)to;
	last[SEQUENCE] = event->sequence;
	last[ID] = event->version;
}

static void do_poll(const struct step *step, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | (step->seed & 2 ? EPOLLET : 0) };
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	if (step->seed & 1) {
		TRY(step, poll(&pollfd, 1, step->seed % 4));
		return;
	}
	if (epoll_fd < 0)
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(epoll_fd, step->seed & 4 ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, fd, &event);
	count(step, epoll_wait(epoll_fd, &event, 1, 0));
}

static void do_open(const struct step *step)
{
	static const int modes[] = { O_RDONLY, O_WRONLY };
	int mode = step->seed % 16 < 2 ? modes[step->seed % 16] : O_RDWR;

	if (fds[step->slot] >= 0)
		close(fds[step->slot]);
	mode |= O_CLOEXEC | (step->seed & 32 ? O_NONBLOCK : 0);
	fds[step->slot] = TRY(step, open(HASHBELT_DEVICE, mode));
}

static void do_dup(const struct step *step, int fd)
{
	unsigned int to = step->seed % SLOTS;

	if (fds[to] == fd)
		return;
	if (fds[to] >= 0)
		close(fds[to]);
	fds[to] = dup(fd);
	count(step, fds[to]);
}

static void do_unknown(const struct step *step, int fd)
{
	unsigned long request = calls[step->seed % call_count].request;

	count(step, ioctl(fd, request ^ 1ul << (step->seed >> 8) % 32,
			  place_of(step, ARGUMENT_MAX)));
}

static void do_other(const struct step *step, int fd)
{
	struct iovec parts[] = { { (void *)VALUE_AT, 64 }, { (void *)VALUE_AT, 4096 } };
	void *page;

	switch (step->seed % 6) {
	case 0:
		count(step, write(fd, (void *)VALUE_AT, 100));
		break;
	case 1:
		count(step, lseek(fd, step->seed, SEEK_SET));
		break;
	case 2:
		page = mmap(NULL, PIECE, PROT_READ, MAP_SHARED, fd, 0);
		count(step, page == MAP_FAILED ? -1 : munmap(page, PIECE));
		break;
	case 3:
		count(step, fcntl(fd, F_SETFL, step->seed & 8 ? O_NONBLOCK : 0));
		break;
	case 4:
		count(step, readv(fd, parts, 2));
		break;
	default:
		count(step, fsync(fd));
	}
}

/* Windows */

static void unmap_window(unsigned int slot)
{
	if (windows[slot].at)
		munmap(windows[slot].at, windows[slot].bytes);
	windows[slot].at = NULL;
}

/* Maps the window as WINDOW has said, or in a way that is refused: abort() if it is not. */
static void do_map(const struct step *step, int fd)
{
	static const int rights[] = {
		PROT_READ, PROT_READ, PROT_READ, PROT_READ, PROT_READ, PROT_NONE,
		PROT_READ | PROT_WRITE, PROT_READ | PROT_EXEC,
	};
	int right = rights[step->seed % ARRAY_SIZE(rights)];
	int flags = step->seed & 0x700 ? MAP_SHARED : MAP_PRIVATE;
	struct hashbelt_window_map map = { .bytes = last[BYTES] };
	size_t offset = 0;
	void *at;

	if (step->seed & 0x1800)
		ioctl(fd, HASHBELT_IOC_WINDOW, &map);
	if (!(step->seed & 0xe000))
		map.bytes += PIECE * (step->seed >> 16 & 3);
	if (!(step->seed & 0x380000))
		offset = PIECE << (step->seed >> 22 & 15);
	fail_arm(step);
	at = mmap(NULL, map.bytes, right, flags, fd, offset);
	count(step, fail_disarm(step, at == MAP_FAILED ? -1 : 0));
	if (at == MAP_FAILED)
		return;
	if (right & (PROT_WRITE | PROT_EXEC) || flags == MAP_PRIVATE)
		abort();
	if (right == PROT_NONE && mprotect(at, map.bytes, PROT_READ))
		abort();
	unmap_window(step->slot);
	windows[step->slot].at = at;
	windows[step->slot].bytes = map.bytes;
}

/* A reader must not be able to write, in whatever way. */
static void try_to_write(void *at, size_t bytes)
{
	uint64_t word = 1;
	struct iovec from = { &word, sizeof(word) }, to = { at, sizeof(word) };

	if (!mprotect(at, bytes, PROT_READ | PROT_WRITE) ||
	    process_vm_writev(getpid(), &from, 1, &to, 1, 0) >= 0)
		abort();
}

static void do_unmap(const struct step *step)
{
	size_t bytes = windows[step->slot].bytes;
	void *at = windows[step->slot].at, *to;

	if (!at)
		return;
	switch (step->seed % 8) {
	case 0:
		count(step, munmap((char *)at + PIECE, PIECE));
		break;
	case 1:
		to = mremap(at, bytes, bytes + (step->seed & 8 ? PIECE : 0), MREMAP_MAYMOVE);
		count(step, to == MAP_FAILED ? -1 : 0);
		if (to != MAP_FAILED)
			windows[step->slot].at = to;
		break;
	case 2:
		count(step, madvise(at, bytes, step->seed & 8 ? MADV_DOFORK : MADV_DONTNEED));
		break;
	case 3:
		count(step, mlock(at, bytes));
		break;
	case 4:
		try_to_write(at, bytes);
		break;
	default:
		unmap_window(step->slot);
	}
}

/* Reads all slots. abort() if one is whole, and is not what hashbelt.h says. */
static void do_look(const struct step *step)
{
	const struct hashbelt_window *window = windows[step->slot].at;
	const struct hashbelt_window_slot *slot, *end;
	uint64_t sequence, version;
	uint32_t key_len, value_len, rest;

	if (!window || windows[step->slot].bytes < 2 * PIECE)
		return;
	slot = (const void *)((const char *)window + PIECE);
	end = slot + (windows[step->slot].bytes - PIECE) / sizeof(*slot);
	for (; slot < end; slot++) {
		sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);
		version = __atomic_load_n(&slot->version, __ATOMIC_RELAXED);
		key_len = __atomic_load_n(&slot->key_len, __ATOMIC_RELAXED);
		value_len = __atomic_load_n(&slot->value_len, __ATOMIC_RELAXED);
		rest = __atomic_load_n(&slot->tag, __ATOMIC_RELAXED) |
		       __atomic_load_n(&slot->flags, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (sequence % 2 || __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) != sequence)
			continue;
		if (version ? !key_len || (key_len + 7) / 8 * 8 + value_len > HASHBELT_WINDOW_DATA :
			      key_len || value_len || rest)
			abort();
	}
}

static void arm(void)
{
	struct itimerval timer = { { 0, WAIT_US }, { 0, WAIT_US } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Parent and child both run the rest of the program, on the same open files. */
static void do_fork(const struct step *step)
{
	if (is_child || child)
		return;
	child = count(step, fork());
	if (child < 0)
		child = 0;
	else if (!child)
		is_child = true;
	if (is_child) {
		/* It has not inherited the mappings, or does not look at them. */
		memset(windows, 0, sizeof(windows));
		arm();
	}
}

static void do_step(const struct step *step)
{
	int fd = descriptor(step->slot);

	switch (calls[step->call].act) {
	case IOCTL:
		do_ioctl(step, fd);
		break;
	case OPEN:
		do_open(step);
		break;
	case CLOSE:
		fds[step->slot] = -1;
		TRY(step, close(fd));
		break;
	case DUP:
		do_dup(step, fd);
		break;
	case READ:
		do_read(step, fd);
		break;
	case POLL:
		do_poll(step, fd);
		break;
	case FORK:
		do_fork(step);
		break;
	case SLEEP:
		count(step, usleep(step->seed % 2000));
		break;
	case MAP:
		do_map(step, fd);
		break;
	case LET_GO:
		do_unmap(step);
		break;
	case LOOK:
		do_look(step);
		break;
	case UNKNOWN:
		do_unknown(step, fd);
		break;
	case OTHER:
		do_other(step, fd);
		break;
	}
}

static void close_all(void)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++) {
		unmap_window(i);
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
	if (epoll_fd >= 0)
		close(epoll_fd);
	epoll_fd = -1;
}

/* Runs a program; returns the number of new places that it reached. */
unsigned int execution_run(const struct program *program)
{
	unsigned int i, found = 0;

	memset(last, 0, sizeof(last));
	for (i = 0; i < program->count; i++) {
		do_step(&program->steps[i]);
		found += cover_collect();
	}
	if (is_child)
		_exit(0);
	close_all();
	if (child && program->steps[0].seed & 1)
		kill(child, SIGKILL);
	while (child && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	child = 0;
	return found + cover_collect();
}

static void ignore(int signal)
{
	(void)signal;
}

/* Prepares this process for running programs. */
bool execution_begin(struct tally *shared)
{
	struct sigaction action = { .sa_handler = ignore };
	unsigned int i;

	tally = shared;
	for (i = 0; i < SLOTS; i++)
		fds[i] = -1;
	epoll_fd = -1;
	/* Without SA_RESTART: the signal has to end a call that waits. */
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	if (!arena_map() || sem_init(&job.begin, 0, 0) || sem_init(&job.end, 0, 0) ||
	    pthread_create(&job.thread, NULL, meddler, NULL))
		return false;
	arm();
	return true;
}

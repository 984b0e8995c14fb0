// SPDX-License-Identifier: GPL-2.0-only
/*
 * events --exec: a program handles each event. An event is acknowledged after the program has
 * ended with status 0; one that fails is handed to it again.
 *
 * The kernel settles an event and all that were read before it at once. So an event stays
 * unacknowledged until those before it have been handled, also if it was handled earlier.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "duration.h"
#include "settings.h"
#include "signals.h"

/* Events that are read and not acknowledged, about: no more are read then. */
#define EVENTS_MAX	1024

/* Size of a read, bytes: enough for hundreds of small events. */
#define BUFFER_SIZE	(64 * 1024)

#define JOBS_MAX	1024

/* The delay before the first retry, and the factor of the longest one to it. */
#define RETRY_MS	1000
#define RETRY_FACTOR	64

/* Exit statuses as in a shell: a program that cannot be run, one that is missing, and a signal. */
#define NOT_RUNNABLE	126
#define NOT_FOUND	127
#define BY_SIGNAL	128

/**
 * struct job - an event, and the program that handles it
 * @link:	to the event that was read next
 * @pid:	of the program; 0 while it does not run
 * @is_done:	the event is handled
 * @tries:	how often the program has run
 * @start_ms:	when it is to run next
 * @event:	the event, with its key and value
 */
struct job {
	STAILQ_ENTRY(job) link;
	pid_t pid;
	bool is_done;
	__u64 tries;
	__u64 start_ms;
	struct hashbelt_event event;
};

STAILQ_HEAD(job_list, job);

/**
 * struct handling - events that a program handles
 * @request:	the request
 * @program:	the program
 * @signals:	those that end this
 * @jobs:	the events that are not acknowledged, in the order in which they were read
 * @count:	their number
 * @running:	programs that run
 * @fresh:	events whose program has not run yet
 * @jobs_max:	most programs that may run
 * @tries_max:	most tries of an event; 0 for no limit
 * @retry_ms:	the first delay
 * @left:	events that may be taken yet
 * @newest:	without --follow: the newest event when this began
 * @follow:	wait for more
 * @ended:	no more events are taken
 * @is_stopping:	no more programs are started
 * @any:	an event was taken
 * @buffer:	the last read
 * @size:	its size, bytes
 */
struct handling {
	struct request *request;
	const char *program;
	struct signals signals;
	struct job_list jobs;
	unsigned int count;
	unsigned int running;
	unsigned int fresh;
	__u64 jobs_max;
	__u64 tries_max;
	__u64 retry_ms;
	__u64 left;
	__u64 newest;
	bool follow;
	bool ended;
	bool is_stopping;
	bool any;
	void *buffer;
	size_t size;
};

static __u64 clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000ULL + now.tv_nsec / 1000000;
}

static void set_number(const char *name, __u64 number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", number);
	setenv(name, text, 1);
}

/* Describes the event in the environment. A variable cannot have a NUL byte. */
static void set_environment(const struct handling *handling, const struct job *job)
{
	const struct hashbelt_event *event = &job->event;
	const struct key key = { hashbelt_event_key(event), event->key_len };
	char raw[HASHBELT_KEY_MAX + 1] = "";

	memcpy(raw, key.bytes, key.len);
	if (strlen(raw) == key.len)
		setenv("HASHBELT_KEY", raw, 1);
	else
		unsetenv("HASHBELT_KEY");
	setenv("HASHBELT_KEY_ESCAPED", key_text(&key), 1);
	setenv("HASHBELT_BELT", handling->request->belt, 1);
	setenv("HASHBELT_REASON", reason_name(event->reason), 1);
	setenv("HASHBELT_KIND", event->kind == HASHBELT_LOCK ? "lock" : "entry", 1);
	set_number("HASHBELT_FLAGS", event->flags);
	set_number("HASHBELT_VERSION", event->version);
	set_number("HASHBELT_SEQUENCE", event->sequence);
	set_number("HASHBELT_TRY", job->tries);
}

/* In the child: becomes the program, which ends with us: the event is then queued again. */
static void become_program(const struct handling *handling, const struct job *job, int input,
			   pid_t parent)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(STATUS_ERROR);
	set_environment(handling, job);
	sigprocmask(SIG_SETMASK, &handling->signals.old, NULL);
	if (dup2(input, STDIN_FILENO) >= 0)
		execlp(handling->program, handling->program, (char *)NULL);
	err = errno;
	fail(STATUS_ERROR, "cannot run '%s': %s", handling->program, strerror(err));
	_exit(err == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

/* A file with the value, which the program reads as its standard input. */
static int value_file(const struct hashbelt_event *event)
{
	const char *value = hashbelt_event_value(event);
	int file = memfd_create("value", MFD_CLOEXEC);
	size_t left = event->value_len;
	ssize_t written;

	if (file < 0)
		return -errno;
	for (; left; left -= written, value += written) {
		written = write(file, value, left);
		if (written < 0) {
			written = -errno;
			close(file);
			return written;
		}
	}
	lseek(file, 0, SEEK_SET);
	return file;
}

static enum status start(struct handling *handling, struct job *job)
{
	int input = value_file(&job->event);
	pid_t parent = getpid();

	if (input < 0)
		return fail(STATUS_ERROR, "cannot pass on the value: %s", strerror(-input));
	if (!job->tries++)
		handling->fresh--;
	fflush(stdout);
	job->pid = fork();
	if (!job->pid)
		become_program(handling, job, input, parent);
	close(input);
	if (job->pid < 0) {
		job->pid = 0;
		return fail(STATUS_ERROR, "cannot run '%s': %s", handling->program,
			    strerror(errno));
	}
	handling->running++;
	return STATUS_DONE;
}

/* Starts the programs that are due. */
static enum status start_jobs(struct handling *handling)
{
	enum status status = STATUS_DONE;
	__u64 now = clock_ms();
	struct job *job;

	STAILQ_FOREACH(job, &handling->jobs, link) {
		if (status || handling->running == handling->jobs_max)
			break;
		if (!job->pid && !job->is_done && job->start_ms <= now)
			status = start(handling, job);
	}
	return status;
}

/* The program has failed: it is to run again, later each time. */
static enum status retry(struct handling *handling, struct job *job, int code)
{
	__u64 delay = handling->retry_ms, factor = RETRY_FACTOR;
	char text[DURATION_SIZE];

	if (code == NOT_FOUND || code == NOT_RUNNABLE)
		return fail(STATUS_ERROR,
			    "'%s' cannot be run (status %d): the events are queued again",
			    handling->program, code);
	if (job->tries == handling->tries_max)
		return fail(STATUS_ERROR,
			    "event %llu: '%s' ended with status %d in each of %llu tries: the event is queued again",
			    job->event.sequence, handling->program, code, job->tries);
	if (job->tries <= 6)
		factor = 1 << (job->tries - 1);
	delay *= factor;
	job->start_ms = clock_ms() + delay;
	if (handling->is_stopping)
		return STATUS_DONE;
	fail(STATUS_DONE, "event %llu: '%s' ended with status %d: again in %s",
	     job->event.sequence, handling->program, code, duration_format(text, delay));
	return STATUS_DONE;
}

/* Takes note of a program that has ended. */
static enum status finish(struct handling *handling, pid_t pid, int status)
{
	int code = WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
	struct job *job;

	STAILQ_FOREACH(job, &handling->jobs, link)
		if (job->pid == pid)
			break;
	if (!job)
		return STATUS_DONE;
	job->pid = 0;
	job->is_done = !code;
	handling->running--;
	return code ? retry(handling, job, code) : STATUS_DONE;
}

/* Acknowledges the events that are handled, up to the first that is not. */
static enum status acknowledge(struct handling *handling)
{
	__u64 sequence = 0;
	struct job *job;
	int err;

	while ((job = STAILQ_FIRST(&handling->jobs)) && job->is_done) {
		sequence = job->event.sequence;
		STAILQ_REMOVE_HEAD(&handling->jobs, link);
		handling->count--;
		free(job);
	}
	if (!sequence)
		return STATUS_DONE;
	err = hashbelt_ack(handling->request->handle, sequence);
	return err ? fail_call(handling->request, HASHBELT_CALL_ACK, err) : STATUS_DONE;
}

static enum status first_failure(enum status first, enum status second)
{
	return first ? first : second;
}

/*
 * Takes note of all programs that have ended, also if one of them has failed: one SIGCHLD may
 * stand for several, and it has been read.
 */
static enum status reap(struct handling *handling)
{
	enum status status = STATUS_DONE;
	int how;
	pid_t pid;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
		status = first_failure(status, finish(handling, pid, how));
		handling->is_stopping |= status != STATUS_DONE;
	}
	return first_failure(status, acknowledge(handling));
}

/* Adds an event to those that are to be handled. */
static enum status add(struct handling *handling, const struct hashbelt_event *event)
{
	struct job *job = calloc(1, sizeof(*job) - sizeof(job->event) + event->size);

	if (!job)
		return fail(STATUS_ERROR, "out of memory");
	if (event->lost)
		fail(STATUS_DONE, event->lost == 1 ? "%llu event was lost" :
		     "%llu events were lost", event->lost);
	memcpy(&job->event, event, event->size);
	STAILQ_INSERT_TAIL(&handling->jobs, job, link);
	handling->count++;
	handling->fresh++;
	handling->any = true;
	handling->ended = !--handling->left ||
			  (!handling->follow && event->sequence >= handling->newest);
	return STATUS_DONE;
}

/* The next event is larger than the buffer. */
static enum status grow(struct handling *handling)
{
	free(handling->buffer);
	handling->size = HASHBELT_EVENT_MAX;
	handling->buffer = malloc(handling->size);
	return handling->buffer ? STATUS_DONE : fail(STATUS_ERROR, "out of memory");
}

/* Reads events. Those behind the last one to be taken are queued again at the end. */
static enum status take_events(struct handling *handling)
{
	ssize_t len = hashbelt_read(handling->request->handle, handling->buffer, handling->size);
	const struct hashbelt_event *event = NULL;
	enum status status = STATUS_DONE;

	if (len == -EMSGSIZE && handling->size < HASHBELT_EVENT_MAX)
		return grow(handling);
	if (len == -EAGAIN || (len == -ENODATA && handling->any && !handling->follow)) {
		handling->ended = !handling->follow;
		return STATUS_DONE;
	}
	if (len < 0)
		return len == -EINTR ? STATUS_DONE : fail_belt(handling->request, len);
	while (!status && !handling->ended &&
	       (event = hashbelt_event_next(handling->buffer, len, event)))
		status = add(handling, event);
	return status;
}

/* Whether more events could be handled now. */
static bool wants_more(const struct handling *handling)
{
	return !handling->ended && !handling->fresh && handling->running < handling->jobs_max &&
	       handling->count < EVENTS_MAX;
}

/* Milliseconds until a program is due, as poll(2) wants them. */
static int next_timeout(const struct handling *handling)
{
	__u64 now = clock_ms(), next = ~0ULL;
	const struct job *job;

	if (handling->running == handling->jobs_max || handling->is_stopping)
		return -1;
	STAILQ_FOREACH(job, &handling->jobs, link)
		if (!job->pid && !job->is_done && job->start_ms < next)
			next = job->start_ms;
	if (next == ~0ULL)
		return -1;
	next = next > now ? next - now : 0;
	return next < INT_MAX ? (int)next : INT_MAX;
}

/* Waits until a program ends or is due, an event comes, or a signal. */
static void wait_for_work(struct handling *handling)
{
	struct pollfd files[] = {
		{ .fd = handling->signals.fd, .events = POLLIN },
		{ .fd = hashbelt_fd(handling->request->handle), .events = POLLIN },
	};

	poll(files, wants_more(handling) ? 2 : 1, next_timeout(handling));
	signals_attend(&handling->signals);
}

static enum status step(struct handling *handling)
{
	enum status status = STATUS_DONE;

	if (wants_more(handling))
		status = take_events(handling);
	if (!status)
		status = start_jobs(handling);
	/* The last event may have been taken just now. */
	if (!status && (!handling->ended || handling->count))
		wait_for_work(handling);
	return status ? status : reap(handling);
}

/* Lets the programs that run come to their end, unless a further signal asks to end at once. */
static enum status drain(struct handling *handling)
{
	enum status status = STATUS_DONE;
	int caught = handling->signals.caught;

	handling->ended = true;
	handling->is_stopping = true;
	handling->signals.caught = 0;
	while (handling->running && !handling->signals.caught) {
		wait_for_work(handling);
		status = first_failure(status, reap(handling));
	}
	/* A signal ends this command well, and a batch as a whole. */
	if (handling->signals.caught)
		caught = handling->signals.caught;
	handling->signals.caught = handling->request->batch ? caught : 0;
	return status;
}

static int prepare(struct handling *handling)
{
	struct hashbelt *handle = handling->request->handle;
	struct hashbelt_info info;
	int fd = hashbelt_fd(handle), err;

	err = hashbelt_watch(handle, HASHBELT_WATCH_ACK);
	if (!err)
		err = hashbelt_info(handle, &info);
	if (err)
		return err;
	handling->newest = info.sequence;
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK))
		return -errno;
	handling->size = BUFFER_SIZE;
	handling->buffer = malloc(handling->size);
	return handling->buffer ? 0 : -ENOMEM;
}

static enum status run(struct handling *handling)
{
	enum status status = STATUS_DONE;
	int err = prepare(handling);

	if (!err)
		err = signals_begin(&handling->signals, true);
	if (err)
		return fail_belt(handling->request, err);
	while (!status && !handling->signals.caught && (!handling->ended || handling->count))
		status = step(handling);
	if (!status && !handling->signals.caught && !handling->any && !handling->follow)
		status = fail(STATUS_NO, "there is no event in belt '%s'",
			      handling->request->belt);
	if (status || handling->signals.caught)
		status = first_failure(status, drain(handling));
	signals_end(&handling->signals);
	return status;
}

static enum status take_options(struct handling *handling)
{
	const struct request *request = handling->request;
	enum status status;

	status = request_number(request, "max", 1, ~0ULL - 1, &handling->left);
	if (!status)
		status = request_number(request, "jobs", 1, JOBS_MAX, &handling->jobs_max);
	if (!status)
		status = request_number(request, "tries", 1, ~0ULL, &handling->tries_max);
	if (!status)
		status = request_duration(request, "retry", "", 1, &handling->retry_ms);
	return status;
}

/**
 * events_handle() - hbctl events --exec
 * @request:	the request
 *
 * Return: the exit status.
 */
enum status events_handle(struct request *request)
{
	struct handling handling = {
		.request = request,
		.program = request_option(request, "exec"),
		.jobs = STAILQ_HEAD_INITIALIZER(handling.jobs),
		.jobs_max = 1,
		.retry_ms = RETRY_MS,
		.left = ~0ULL,
		.follow = request_option(request, "follow"),
	};
	enum status status;
	struct job *job;

	if (!request_option(request, "ack"))
		return fail_usage(request,
				  "--exec needs --ack: an event is acknowledged after it was handled");
	status = take_options(&handling);
	if (!status)
		status = request_bind(request);
	if (!status)
		status = run(&handling);
	while ((job = STAILQ_FIRST(&handling.jobs))) {
		STAILQ_REMOVE_HEAD(&handling.jobs, link);
		free(job);
	}
	free(handling.buffer);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-only
/* A command that computes a value while a fill lease lasts. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fill_run.h"
#include "lock.h"

/* Exit statuses as in a shell: a command that cannot be run, and one that a signal ends. */
#define NOT_RUNNABLE	126
#define NOT_FOUND	127
#define BY_SIGNAL	128

/**
 * struct run - a command, and the fill lease that it runs under
 * @request:	the request
 * @key:	the key
 * @fill:	its @token and @lease_ms
 * @next:	when to renew the lease, as clock_ms()
 * @output:	where the output of the command comes from; -1 at its end
 * @child:	the command
 * @end:	can be read once @child has ended
 * @ended:	it has, and @status says how
 * @status:	as waitpid(2) says
 * @err:	of reading the output; 0
 */
struct run {
	const struct request *request;
	const struct key *key;
	const struct hashbelt_fill *fill;
	__u64 next;
	int output;
	pid_t child;
	int end;
	bool ended;
	int status;
	int err;
};

/* In the child: becomes the command, which writes into the pipe, and ends with us. */
static void become_command(char **line, int output, pid_t parent)
{
	int err;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(STATUS_ERROR);
	fail_in_child();
	if (dup2(output, STDOUT_FILENO) >= 0)
		execvp(line[0], line);
	err = errno;
	fail(STATUS_ERROR, "cannot run '%s': %s", line[0], strerror(err));
	_exit(err == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

/*
 * Renews the lease. A lease that has ended stays so, and one error may pass: in either case the put
 * finds out.
 */
static void renew(struct run *run)
{
	const struct key *key = run->key;

	hashbelt_fill_renew(run->request->handle, key->bytes, key->len, run->fill->token,
			    run->fill->lease_ms);
	run->next = clock_ms() + run->fill->lease_ms / 3 + 1;
}

/*
 * Until when nothing has to be done, as poll(2) wants it: a second at most, because poll() does not
 * count the time for which the machine is suspended, and leases do.
 */
static int next_timeout(const struct run *run)
{
	__u64 now = clock_ms();

	if (run->next <= now)
		return 0;
	return run->next - now < 1000 ? run->next - now : 1000;
}

static void close_output(struct run *run)
{
	close(run->output);
	run->output = -1;
}

/* Takes note of the end of the command. Orphans are children of the init process as well. */
static void reap(struct run *run)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != run->child)
			continue;
		run->status = status;
		run->ended = true;
	}
}

/* Reads the output to its end, and waits for the end of the command; renews the lease meanwhile. */
static void attend(struct run *run, struct value *value)
{
	struct pollfd ready[] = { { .fd = run->output, .events = POLLIN },
				  { .fd = run->end, .events = POLLIN } };

	while (run->output >= 0 || !ready[1].revents) {
		if (run->next <= clock_ms())
			renew(run);
		/* poll() ignores a descriptor below 0. */
		ready[0].fd = run->output;
		poll(ready, ARRAY_SIZE(ready), next_timeout(run));
		reap(run);
		if (run->output < 0 || !ready[0].revents)
			continue;
		run->err = value_read_more(value, run->output);
		if (run->err <= 0)
			close_output(run);
	}
}

/* The exit status of the command, or the one that a shell has for its end. */
static int status_of(const struct run *run)
{
	int status = run->status;

	while (!run->ended && waitpid(run->child, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_RUNNABLE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : BY_SIGNAL + WTERMSIG(status);
}

/* Starts the command. */
static enum status start(struct run *run)
{
	char **line = run->request->command_line;
	pid_t parent = getpid();
	int pipes[2], err;

	if (pipe2(pipes, O_CLOEXEC))
		return fail(STATUS_ERROR, "cannot make a pipe: %s", strerror(errno));
	/* The end of a child could not be waited for while SIGCHLD is ignored. */
	signal(SIGCHLD, SIG_DFL);
	run->child = fork();
	if (!run->child)
		become_command(line, pipes[1], parent);
	close(pipes[1]);
	run->output = pipes[0];
	if (run->child > 0)
		run->end = syscall(SYS_pidfd_open, run->child, 0);
	if (run->child > 0 && run->end >= 0)
		return STATUS_DONE;
	err = errno;
	close_output(run);
	if (run->child > 0) {
		kill(run->child, SIGKILL);
		status_of(run);
	}
	return fail(STATUS_ERROR, "cannot run '%s': %s", line[0], strerror(err));
}

/**
 * fill_run() - run the command of a request, and take its output for a value
 * @request:	the request, bound, with a command
 * @key:	the key
 * @fill:	the caller's fill lease: @token; @lease_ms, not 0
 * @value:	the output
 *
 * The lease is renewed while the command runs. The device is closed in the command: if hbctl is
 * killed, a lease that is bound to it ends, whatever the command does.
 *
 * Return: STATUS_DONE; the exit status of the command, or another one, after a line that says why.
 */
enum status fill_run(const struct request *request, const struct key *key,
		     const struct hashbelt_fill *fill, struct value *value)
{
	struct run run = { .request = request, .key = key, .fill = fill };
	const char *name = request->command_line[0];
	enum status status;

	value->len = 0;
	status = start(&run);
	if (status)
		return status;
	attend(&run, value);
	close(run.end);
	status = status_of(&run);
	if (run.err == -EMSGSIZE)
		return fail(STATUS_ERROR, "'%s' wrote more than %d bytes", name,
			    HASHBELT_VALUE_MAX);
	if (run.err)
		return fail(STATUS_ERROR, "cannot read the output of '%s': %s", name,
			    strerror(-run.err));
	return status ? fail(status, "'%s' ended with status %d", name, status) : STATUS_DONE;
}

// SPDX-License-Identifier: GPL-2.0-only
/* A command that runs under a lock. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock.h"

/* Tells the command which grant it runs under. */
#define TOKEN_VARIABLE	"HASHBELT_LOCK_TOKEN"

/* The exit statuses of a shell for a command that cannot be run, or is missing. */
#define STATUS_CANNOT_RUN	126
#define STATUS_NOT_FOUND	127
#define STATUS_SIGNAL		128	/* and the signal's number */

/* The least number that the command's copy of a descriptor has: shell scripts use those below. */
#define FIRST_DESCRIPTOR	10

/**
 * struct run - a command, and the lock that it runs under
 * @place:	where the lock is
 * @ask:	the call
 * @token:	of the grant
 * @next:	when to renew it, as clock_ms()
 * @end:	when the lease is over, unless it is renewed
 * @err:	why the last attempt to renew it has failed; 0
 * @lost:	it is not ours any more
 */
struct run {
	struct lock_place *place;
	const struct lock_ask *ask;
	__u64 token;
	__u64 next;
	__u64 end;
	int err;
	bool lost;
};

/* Notes a lease that was granted after @asked. */
static void note_lease(struct run *run, __u64 asked, __u64 ttl_ms)
{
	run->end = asked + ttl_ms;
	run->next = asked + ttl_ms / 3;
	run->err = 0;
	run->place->answer_timeout_ms = ttl_ms / 3 < ANSWER_TIMEOUT_MAX_MS ? ttl_ms / 3 + 1 :
				  ANSWER_TIMEOUT_MAX_MS;
}

/* Asks the command to end, if it still runs. Return: what that comes to, for a message. */
static const char *end_command(struct signals *signals)
{
	if (signals->ended)
		return "";
	if (!signals_send(signals, SIGTERM))
		return ": the command is asked to end (SIGTERM)";
	return ", and the command runs on without it: there is no right to send it SIGTERM";
}

/* Says that the lock is lost, and asks the command to end. */
static void lose(struct run *run)
{
	char *name = key_text(&run->ask->name);
	const char *why;

	if (run->err == -ENOENT)
		why = "its lease was over";
	else if (run->err == -EACCES)
		why = "another has it";
	else
		why = run->place->ops->reason(run->place, run->err);
	run->lost = true;
	fail(STATUS_ERROR, "lock '%s' is lost (%s)%s", name, why,
	     end_command(run->place->signals));
	free(name);
}

/* Renews the lease of our grant. */
static int renew_grant(struct run *run, struct lock_held *held)
{
	int err = run->place->ops->renew(run->place, run->ask, held);

	/* The same owner may have got it anew: in between it may have been another's. */
	return !err && held->token != run->token ? -ENOENT : err;
}

/* Renews the lease. An error may pass while the lease lasts. */
static void renew(struct run *run)
{
	__u64 asked = clock_ms(), left;
	struct lock_held held;
	int err;

	err = renew_grant(run, &held);
	if (!err) {
		note_lease(run, asked, held.ttl_ms);
		return;
	}
	run->err = err;
	asked = clock_ms();
	left = run->end > asked ? run->end - asked : 0;
	if (err == -ENOENT || err == -EACCES || err == -EIDRM || !left) {
		lose(run);
		return;
	}
	run->next = asked + (left < 4000 ? left / 4 + 1 : 1000);
}

/*
 * Until when nothing has to be done, as poll(2) wants it: a second at most, because poll() does not
 * count the time for which the machine is suspended, and leases do.
 */
static int next_timeout(const struct run *run)
{
	__u64 now = clock_ms();

	if (run->lost)
		return -1;
	if (run->next <= now)
		return 0;
	return run->next - now < 1000 ? run->next - now : 1000;
}

/* Renews the lock in time until the command has ended. */
static void attend(struct run *run)
{
	struct signals *signals = run->place->signals;
	struct pollfd ready = { .fd = signals->fd, .events = POLLIN };

	signals_attend(signals);
	while (!signals->ended) {
		poll(&ready, 1, next_timeout(run));
		signals_attend(signals);
		if (!signals->ended && !run->lost && run->next <= clock_ms())
			renew(run);
	}
}

/* Whether the command keeps the lock, too. */
static bool is_shared(const struct run *run)
{
	return run->ask->shared && run->place->ops->descriptor;
}

/* In the child: leaves the command a copy of the descriptor that keeps the lock. */
static void share(const struct run *run)
{
	int fd = run->place->ops->descriptor(run->place), err;
	struct rlimit limit;

	if (fcntl(fd, F_DUPFD, FIRST_DESCRIPTOR) >= 0)
		return;
	err = errno;
	/* The limit is too low for FIRST_DESCRIPTOR, or all below it are in use. */
	if ((err == EINVAL || err == EMFILE) && !getrlimit(RLIMIT_NOFILE, &limit))
		fail(STATUS_ERROR,
		     "cannot share the lock with the command: it needs a descriptor from number %d on, and may have %llu: raise the limit ('ulimit -n'), or use --close",
		     FIRST_DESCRIPTOR, (unsigned long long)limit.rlim_cur);
	else
		fail(STATUS_ERROR, "cannot share the lock with the command: %s", strerror(err));
	_exit(STATUS_CANNOT_RUN);
}

/*
 * In the child: becomes the command. Once hbctl is gone, no process renews the lease, so the
 * command is asked to end. A setuid program is not: the kernel takes that request back.
 */
static void become(const struct run *run, pid_t parent, char **command)
{
	char text[24];
	int err;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(STATUS_ERROR);
	fail_in_child();
	if (is_shared(run))
		share(run);
	snprintf(text, sizeof(text), "%llu", run->token);
	setenv(TOKEN_VARIABLE, text, 1);
	sigprocmask(SIG_SETMASK, &run->place->signals->old, NULL);
	execvp(command[0], command);
	err = errno;
	fail(STATUS_ERROR, "cannot run '%s': %s", command[0], strerror(err));
	_exit(err == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

/*
 * Gives the lock back. Whether that was in time is part of the answer. A shared lock is ours until
 * our caller closes the descriptor, and until its lease ends that of processes that the command has
 * left behind.
 */
static void give_back(struct run *run)
{
	struct lock_held held;
	int err;

	if (run->lost)
		return;
	if (is_shared(run))
		err = renew_grant(run, &held);
	else
		err = run->place->ops->unlock(run->place, run->ask);
	if (err == -ENOENT || err == -EACCES || err == -EIDRM) {
		run->err = err;
		lose(run);
	} else if (err && !is_shared(run)) {
		run->place->ops->fail(run->place, err);
	}
}

/* The exit status for that of a command. */
static int exit_status(const struct run *run)
{
	int status = run->place->signals->status;

	if (WIFSIGNALED(status))
		return STATUS_SIGNAL + WTERMSIG(status);
	/* Neither work after the lock was lost counts as success, nor after a lost signal. */
	if ((run->lost || run->place->signals->deaf) && !WEXITSTATUS(status))
		return STATUS_ERROR;
	return WEXITSTATUS(status);
}

/* Runs the command under the lock. */
static int run_command(struct run *run, char **command)
{
	struct signals *signals = run->place->signals;
	pid_t parent = getpid();

	signals->child = fork();
	if (!signals->child)
		become(run, parent, command);
	if (signals->child < 0) {
		signals->child = 0;
		give_back(run);
		return fail(STATUS_ERROR, "cannot run '%s': there is no room for a process",
			    command[0]);
	}
	attend(run);
	give_back(run);
	return exit_status(run);
}

/**
 * lock_run() - run a command under a lock
 * @place:	where the lock is; with its @signals
 * @ask:	the lock and its owner
 * @command:	the command and its arguments, ended by NULL
 *
 * The lock is renewed while the command runs. Signals that ask us to end are passed on
 * to the command; when the lock is lost, that is sent SIGTERM. A shared lock is left to
 * the processes that have inherited it: the place has to be closed.
 *
 * Return: the exit status: the command's if it was run, 128 and the signal's number if
 * one has ended it.
 */
int lock_run(struct lock_place *place, const struct lock_ask *ask, char **command)
{
	struct run run = { .place = place, .ask = ask };
	__u64 asked = clock_ms();
	struct lock_held held;
	int err;

	err = place->ops->lock(place, ask, &held);
	if (err)
		return refuse_lock(place, ask, err);
	run.token = held.token;
	/* One that came with the lock is for us: the command does not begin. */
	if (signals_attend(place->signals)) {
		give_back(&run);
		return fail_lock(place, ask, -EINTR);
	}
	note_lease(&run, asked, held.ttl_ms);
	/* When it was granted, at the end of a wait, we cannot tell: we see to it. */
	if (ask->wait_ms) {
		run.end = clock_ms() + held.ttl_ms;
		run.next = 0;
	}
	return run_command(&run, command);
}

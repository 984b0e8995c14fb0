// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "signals.h"

/* Those that ask a program to end. */
static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* The actions that signals_unblock() has replaced: of each stop signal, then of SIGALRM. */
static struct sigaction replaced[ARRAY_SIZE(stop_signals) + 1];

/* The last stop signal between signals_unblock() and signals_block(). */
static volatile sig_atomic_t received;

/**
 * signals_begin() - hold signals back from now on
 * @signals:	filled in; ended by signals_end()
 * @attends:	make @fd, for signals_attend()
 *
 * Return: 0 or a negative errno.
 */
int signals_begin(struct signals *signals, bool attends)
{
	struct sigaction action;
	size_t i;

	*signals = (struct signals){ .fd = -1 };
	sigemptyset(&signals->set);
	sigaddset(&signals->set, SIGCHLD);
	/* Signals that our caller ignores, as nohup(1) does, stay ignored. */
	for (i = 0; i < ARRAY_SIZE(stop_signals); i++)
		if (!sigaction(stop_signals[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&signals->set, stop_signals[i]);
	/* The end of a child could not be waited for while SIGCHLD is ignored. */
	signal(SIGCHLD, SIG_DFL);
	if (sigprocmask(SIG_BLOCK, &signals->set, &signals->old))
		return -errno;
	if (!attends)
		return 0;
	signals->fd = signalfd(-1, &signals->set, SFD_NONBLOCK | SFD_CLOEXEC);
	return signals->fd < 0 ? -errno : 0;
}

/**
 * signals_send() - send a signal to the command
 * @signals:	from signals_begin(), with a child that has not ended; gets its @deaf
 * @number:	the signal
 *
 * Return: 0; -EPERM: the command runs as another user now, as a setuid program does.
 */
int signals_send(struct signals *signals, int number)
{
	if (!kill(signals->child, number))
		return 0;
	signals->deaf = true;
	return -errno;
}

/*
 * Passes a signal on. One that the kernel sent comes from the terminal, and the
 * command, which belongs to the same group of processes, has it already.
 */
static void pass_on(struct signals *signals, const struct signalfd_siginfo *info)
{
	int number = info->ssi_signo, err;

	if (info->ssi_code > 0)
		return;
	err = signals_send(signals, number);
	if (err)
		fail(STATUS_ERROR,
		     "cannot pass signal %d (%s) on to the command: %s: it runs on, send it the signal as its user or as root",
		     number, strsignal(number), strerror(-err));
}

/* Takes note of the end of the child. Orphans are children of the init process as well. */
static void reap(struct signals *signals)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != signals->child)
			continue;
		signals->status = status;
		signals->ended = true;
	}
}

/**
 * signals_attend() - read the signals that are there
 * @signals:	from signals_begin()
 *
 * With a child they are passed on to it, and it is looked after; without one they
 * are for us.
 *
 * Return: whether we are asked to end, now or before.
 */
bool signals_attend(struct signals *signals)
{
	struct signalfd_siginfo info;

	while (read(signals->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		if (!signals->child)
			signals->caught = info.ssi_signo;
		else if (!signals->ended)
			pass_on(signals, &info);
	}
	if (signals->child && !signals->ended)
		reap(signals);
	return signals->caught;
}

/*
 * A signal that arrives between signals_unblock() and the system call does not interrupt that
 * call. An alarm each second does, until signals_block() has run.
 */
static void on_signal(int number)
{
	if (number != SIGALRM)
		received = number;
	alarm(1);
}

/**
 * signals_unblock() - let signals interrupt a system call that waits
 * @signals:	from signals_begin(), without a child
 *
 * Until signals_block(): such a call fails with EINTR. One thread at a time.
 */
void signals_unblock(const struct signals *signals)
{
	const struct sigaction action = { .sa_handler = on_signal };
	size_t i;

	received = 0;
	sigaction(SIGALRM, &action, &replaced[ARRAY_SIZE(stop_signals)]);
	for (i = 0; i < ARRAY_SIZE(stop_signals); i++)
		if (sigismember(&signals->set, stop_signals[i]))
			sigaction(stop_signals[i], &action, &replaced[i]);
	sigprocmask(SIG_SETMASK, &signals->old, NULL);
}

/**
 * signals_block() - hold signals back again
 * @signals:	gets its @caught
 */
void signals_block(struct signals *signals)
{
	size_t i;

	sigprocmask(SIG_BLOCK, &signals->set, NULL);
	alarm(0);
	sigaction(SIGALRM, &replaced[ARRAY_SIZE(stop_signals)], NULL);
	for (i = 0; i < ARRAY_SIZE(stop_signals); i++)
		if (sigismember(&signals->set, stop_signals[i]))
			sigaction(stop_signals[i], &replaced[i], NULL);
	if (received)
		signals->caught = received;
}

/**
 * signals_end() - hold no signals back any more
 * @signals:	from signals_begin(), also if that failed. The one that it caught ends
 *		the program as it would have ended it before
 */
void signals_end(struct signals *signals)
{
	if (signals->fd >= 0)
		close(signals->fd);
	signals->fd = -1;
	if (signals->caught)
		raise(signals->caught);
	sigprocmask(SIG_SETMASK, &signals->old, NULL);
}

// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "signals.h"

/* Those that ask a program to end. */
static const int askers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

/* What signals_let_in() has replaced: of each asker, and of SIGALRM behind them. */
static struct sigaction replaced[ARRAY_SIZE(askers) + 1];

/* The last asker that came in between signals_let_in() and signals_keep_out(). */
static volatile sig_atomic_t knocked;

/**
 * signals_begin() - hold signals back from now on
 * @signals:	filled in; ended by signals_end()
 *
 * Return: 0 or a negative errno.
 */
int signals_begin(struct signals *signals)
{
	struct sigaction action;
	size_t i;

	*signals = (struct signals){ .fd = -1 };
	sigemptyset(&signals->set);
	sigaddset(&signals->set, SIGCHLD);
	/* What our caller ignores, as nohup(1) does, stays ignored. */
	for (i = 0; i < ARRAY_SIZE(askers); i++)
		if (!sigaction(askers[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(&signals->set, askers[i]);
	/* A command whose end is ignored could not be waited for. */
	signal(SIGCHLD, SIG_DFL);
	if (sigprocmask(SIG_BLOCK, &signals->set, &signals->old))
		return -errno;
	signals->fd = signalfd(-1, &signals->set, SFD_NONBLOCK | SFD_CLOEXEC);
	return signals->fd < 0 ? -errno : 0;
}

/*
 * Passes a signal on. One that the kernel sent comes from the terminal, and the
 * command, which belongs to the same group of processes, has it already.
 */
static void pass_on(const struct signals *signals, const struct signalfd_siginfo *info)
{
	if (info->ssi_code <= 0)
		kill(signals->child, info->ssi_signo);
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
	if (signals->child && !signals->ended &&
	    waitpid(signals->child, &signals->status, WNOHANG) == signals->child)
		signals->ended = true;
	return signals->caught;
}

/*
 * A signal between signals_let_in() and the system call behind it would be seen too
 * late: it knocks again, each second, until somebody has noticed.
 */
static void knock(int number)
{
	if (number != SIGALRM)
		knocked = number;
	alarm(1);
}

/**
 * signals_let_in() - let signals interrupt a system call that waits
 * @signals:	from signals_begin(), without a child
 *
 * Until signals_keep_out(): such a call fails with EINTR. One thread at a time.
 */
void signals_let_in(const struct signals *signals)
{
	const struct sigaction action = { .sa_handler = knock };
	size_t i;

	knocked = 0;
	sigaction(SIGALRM, &action, &replaced[ARRAY_SIZE(askers)]);
	for (i = 0; i < ARRAY_SIZE(askers); i++)
		if (sigismember(&signals->set, askers[i]))
			sigaction(askers[i], &action, &replaced[i]);
	sigprocmask(SIG_SETMASK, &signals->old, NULL);
}

/**
 * signals_keep_out() - hold signals back again
 * @signals:	gets its @caught
 */
void signals_keep_out(struct signals *signals)
{
	size_t i;

	sigprocmask(SIG_BLOCK, &signals->set, NULL);
	alarm(0);
	sigaction(SIGALRM, &replaced[ARRAY_SIZE(askers)], NULL);
	for (i = 0; i < ARRAY_SIZE(askers); i++)
		if (sigismember(&signals->set, askers[i]))
			sigaction(askers[i], &replaced[i], NULL);
	if (knocked)
		signals->caught = knocked;
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

// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "array_size.h"
#include "init_process.h"

/* A shell adds it to the number of the signal that has ended a program. */
#define BY_SIGNAL	128

static void end(int number)
{
	_exit(BY_SIGNAL + number);
}

/**
 * init_process_begin() - act as the init process, if the program is the one of its pid namespace
 *
 * The kernel discards a signal for which that process has no handler. So the signals that ask a
 * program to end get one, which ends it at once. The status is that of a shell for a program which
 * such a signal has ended. Orphans become children of that process: the kernel reaps them, until
 * the program waits for children of its own.
 *
 * To be called before the program changes the action of any signal. Signals that the caller ignores
 * stay ignored.
 */
void init_process_begin(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	const struct sigaction action = { .sa_handler = end };
	struct sigaction old;
	size_t i;

	if (getpid() != 1)
		return;
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	signal(SIGCHLD, SIG_IGN);
}

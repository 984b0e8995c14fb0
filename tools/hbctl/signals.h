/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that ask a program to end, while it waits or while a command runs for it:
 * read from a descriptor, so that none comes between a look and a wait.
 */
#ifndef HBCTL_SIGNALS_H
#define HBCTL_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct signals - SIGINT, SIGTERM, SIGHUP and SIGQUIT, but for ignored ones, and SIGCHLD
 * @set:	those that are held back
 * @old:	the mask before
 * @fd:		can be read while one of them is there; -1 without signals_attend()
 * @caught:	the one that has asked us to end; 0 for none
 * @child:	a command that runs for us: it is told in our place; 0 for none
 * @deaf:	a signal could not be sent to it
 * @ended:	it has ended
 * @status:	how, as waitpid(2) says
 */
struct signals {
	sigset_t set;
	sigset_t old;
	int fd;
	int caught;
	pid_t child;
	bool deaf;
	bool ended;
	int status;
};

int signals_begin(struct signals *signals, bool attends);
bool signals_attend(struct signals *signals);
int signals_send(struct signals *signals, int number);
void signals_unblock(const struct signals *signals);
void signals_block(struct signals *signals);
void signals_end(struct signals *signals);

#endif /* HBCTL_SIGNALS_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface of hbctl-manage.so, the object with the commands for people and administrators.
 * hbctl loads it for the first one of them: a script that gets an entry pays for no table, no
 * terminal and no settings. The object uses functions of hbctl.
 */
#ifndef HBCTL_MANAGE_H
#define HBCTL_MANAGE_H

#include "command.h"

/**
 * struct manage - the object's interface
 * @version:	that of the hbctl with which it was built
 * @commands:	its table of commands
 * @print_help:	prints help on a command of either table; on all for NULL
 */
struct manage {
	const char *version;
	const struct command *commands;
	void (*print_help)(const struct command *command);
};

extern const struct manage hbctl_manage;

const struct manage *manage_load(void);

#endif /* HBCTL_MANAGE_H */

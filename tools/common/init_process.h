/* SPDX-License-Identifier: GPL-2.0-only */
/* Signals and orphans of a program that is the init process of a container. */
#ifndef TOOLS_INIT_PROCESS_H
#define TOOLS_INIT_PROCESS_H

void init_process_begin(void);

#endif /* TOOLS_INIT_PROCESS_H */

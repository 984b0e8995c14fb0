/* SPDX-License-Identifier: GPL-2.0-only */
/* Loads and unloads the module, and finds what uses it. */
#ifndef MANAGE_LOADER_H
#define MANAGE_LOADER_H

#include <stdbool.h>
#include <stdio.h>

/* Space for the parameters of the module as a line, bytes. */
#define LOADER_PARAMETERS	1024

bool loader_is_loaded(void);
long loader_users(void);
unsigned int loader_print_users(FILE *file, const char *device);
void loader_parameters(char *line);
const char *loader_check(int fd);
int loader_insert(int fd, const char *parameters);
int loader_modprobe(const char *parameters);
int loader_remove(void);
int loader_close(bool closed);
bool loader_is_closed(void);

#endif /* MANAGE_LOADER_H */

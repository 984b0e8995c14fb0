/* SPDX-License-Identifier: GPL-2.0-only */
/* A password from a file. */
#ifndef HBFOLLOW_PASSWORD_H
#define HBFOLLOW_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

/* Longest password, bytes, and space for a sentence about a file. */
#define PASSWORD_MAX		4096
#define PASSWORD_PROBLEM_SIZE	256

bool password_read(const char *path, char *password, char *problem);

#endif /* HBFOLLOW_PASSWORD_H */

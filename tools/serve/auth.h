/* SPDX-License-Identifier: GPL-2.0-only */
/* The users and passwords that clients have to name. */
#ifndef HBSERVE_AUTH_H
#define HBSERVE_AUTH_H

#include <stdbool.h>
#include <stddef.h>

struct auth;

int auth_load(const char *path, struct auth **auth);
bool auth_check(const struct auth *auth, const char *text, size_t len);
void auth_free(struct auth *auth);

#endif /* HBSERVE_AUTH_H */

// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>

#include "account.h"

/* The first size of the buffer for an account, bytes, and the largest one: a group may be large. */
#define BUFFER_LEAST	1024
#define BUFFER_MOST	(64 * 1024 * 1024)

/* Looks for an account of that name. Return: 0 or an errno; ERANGE: the buffer is too small. */
typedef int look_function(const char *name, char *buffer, size_t size, __u32 *id);

static int look_for_user(const char *name, char *buffer, size_t size, __u32 *id)
{
	struct passwd user, *found = NULL;
	int err = getpwnam_r(name, &user, buffer, size, &found);

	if (found)
		*id = found->pw_uid;
	return found || err == ERANGE ? err : ENOENT;
}

static int look_for_group(const char *name, char *buffer, size_t size, __u32 *id)
{
	struct group group, *found = NULL;
	int err = getgrnam_r(name, &group, buffer, size, &found);

	if (found)
		*id = found->gr_gid;
	return found || err == ERANGE ? err : ENOENT;
}

/* Looks with larger and larger buffers. */
static int look_up(const char *name, look_function *look, __u32 *id)
{
	size_t size = BUFFER_LEAST;
	char *buffer = NULL, *more;
	int err = ERANGE;

	for (; err == ERANGE && size <= BUFFER_MOST; size *= 2) {
		more = realloc(buffer, size);
		if (!more) {
			err = ENOMEM;
			break;
		}
		buffer = more;
		err = look(name, buffer, size, id);
	}
	free(buffer);
	return -err;
}

/**
 * account_user() - find a user
 * @name:	the user's name
 * @uid:	returned, if there is such a user
 *
 * Return: 0, -ENOENT, -ENOMEM, or -ERANGE for an account that is too large.
 */
int account_user(const char *name, __u32 *uid)
{
	return look_up(name, look_for_user, uid);
}

/**
 * account_group() - find a group
 * @name:	the group's name
 * @gid:	returned, if there is such a group
 *
 * Return: what account_user() returns.
 */
int account_group(const char *name, __u32 *gid)
{
	return look_up(name, look_for_group, gid);
}

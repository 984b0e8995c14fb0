// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "place.h"

/**
 * place_beside() - the path of a file that is installed together with the program
 * @path:	returned
 * @name:	its path from the directory of the program
 *
 * Return: 0 or a negative errno.
 */
int place_beside(char path[PATH_MAX], const char *name)
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
	char *end;

	if (len < 0)
		return -errno;
	end = memrchr(path, '/', len);
	if (!end)
		return -ENOENT;
	end++;
	if (end - path + strlen(name) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(end, name);
	return 0;
}

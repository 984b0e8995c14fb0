// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>

#include "module.h"

#define PARAMETERS	"/sys/module/hashbelt/parameters/"

/**
 * module_parameter() - read a parameter of the module
 * @name:	its name
 * @number:	returned, if it can be read
 *
 * Return: whether it can be read; only root may read used_bytes.
 */
bool module_parameter(const char *name, __u64 *number)
{
	char path[128];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), PARAMETERS "%s", name);
	file = fopen(path, "re");
	if (!file)
		return false;
	good = fscanf(file, "%llu", number) == 1;
	fclose(file);
	return good;
}

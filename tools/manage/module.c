// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "module.h"
#include "value.h"

#define PARAMETERS	"/sys/module/hashbelt/parameters/"
#define DKMS_KEY	"/var/lib/dkms/mok.pub"
#define LOCKDOWN	"/sys/kernel/security/lockdown"
#define VARIABLES	"/sys/firmware/efi/efivars/"
#define SECURE_BOOT	VARIABLES "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
#define ENROLLED	VARIABLES "MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"

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

/* Reads a file; a file that cannot be read has no bytes. */
static void read_all(const char *path, struct value *value)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (value_read(value, fd))
		value->len = 0;
	close(fd);
}

static bool is_locked_down(void)
{
	struct value state = { };
	bool locked;

	read_all(LOCKDOWN, &state);
	locked = state.len && !memmem(state.bytes, state.len, "[none]", strlen("[none]"));
	value_free(&state);
	return locked;
}

/* The firmware's variable has one byte, behind four with its attributes. */
static bool is_secure_boot(void)
{
	struct value variable = { };
	bool secure;

	read_all(SECURE_BOOT, &variable);
	secure = variable.len == 5 && variable.bytes[4] == 1;
	value_free(&variable);
	return secure;
}

/* The list of enrolled keys has each certificate as it is in its file. */
static bool is_enrolled(const struct value *key)
{
	struct value list = { };
	bool found;

	read_all(ENROLLED, &list);
	found = list.len && memmem(list.bytes, list.len, key->bytes, key->len);
	value_free(&list);
	return found;
}

/**
 * module_trust() - whether the kernel may refuse the module for its signature
 *
 * Return: what is known; a file that the caller may not read counts as missing.
 */
enum module_trust module_trust(void)
{
	enum module_trust trust = MODULE_UNKNOWN_KEY;
	struct value key = { };

	if (!is_locked_down())
		return MODULE_ANY;
	read_all(DKMS_KEY, &key);
	if (key.len && is_secure_boot())
		trust = is_enrolled(&key) ? MODULE_TRUSTED : MODULE_NOT_ENROLLED;
	value_free(&key);
	return trust;
}

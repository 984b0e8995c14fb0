// SPDX-License-Identifier: GPL-2.0-only
/*
 * belt.h without the module: the belt is the directory FAKE_BELT, and each file in it an entry. The
 * name of the file is the key in hexadecimal. There is no belt while there is no directory; a new
 * directory is a new belt.
 *
 * Files beside the directory steer it: FAKE_BELT.remove and FAKE_BELT.clear have the number of the
 * error with which these operations fail.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "belt.h"
#include "hashbelt.h"

struct follow_belt {
	const char *path;
	ino_t bound;		/* 0: to none */
	unsigned int count;
	struct {
		size_t len;
		char bytes[HASHBELT_KEY_MAX];
	} keys[HASHBELT_BATCH_MAX];
	uint64_t removed;
	uint64_t cleared;
};

int follow_belt_open(const char *name, struct follow_belt **belt)
{
	const char *path = getenv("FAKE_BELT");

	(void)name;
	*belt = calloc(1, sizeof(**belt));
	if (!*belt || !path)
		abort();
	(*belt)->path = path;
	return 0;
}

void follow_belt_close(struct follow_belt *belt)
{
	free(belt);
}

/* The inode of the directory; 0 if there is none. */
static ino_t look(const struct follow_belt *belt)
{
	struct stat found;

	return stat(belt->path, &found) ? 0 : found.st_ino;
}

/* The error that a file beside the directory has, as a negative number. */
static int failure(const struct follow_belt *belt, const char *operation)
{
	char path[PATH_MAX];
	int number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s.%s", belt->path, operation);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%d", &number) != 1)
			abort();
		fclose(file);
	}
	return -number;
}

int follow_belt_clear(struct follow_belt *belt)
{
	int err = failure(belt, "clear"), directory;
	struct dirent *entry;
	DIR *entries;

	belt->count = 0;
	if (err)
		return err;
	belt->bound = look(belt);
	directory = open(belt->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return errno == ENOENT ? 0 : -errno;
	entries = fdopendir(directory);
	if (!entries) {
		close(directory);
		return -ENOMEM;
	}
	while ((entry = readdir(entries)))
		unlinkat(directory, entry->d_name, 0);
	closedir(entries);
	belt->cleared++;
	return 0;
}

int follow_belt_flush(struct follow_belt *belt)
{
	char path[PATH_MAX + 2 * HASHBELT_KEY_MAX];
	int err = failure(belt, "remove"), len;
	unsigned int i;
	size_t at;

	if (!belt->count)
		return 0;
	if (err) {
		belt->count = 0;
		return err;
	}
	if (look(belt) != belt->bound)
		return follow_belt_clear(belt);
	for (i = 0; i < belt->count; i++) {
		len = snprintf(path, PATH_MAX, "%s/", belt->path);
		for (at = 0; at < belt->keys[i].len; at++)
			len += sprintf(path + len, "%02x", (uint8_t)belt->keys[i].bytes[at]);
		belt->removed += !unlink(path);
	}
	belt->count = 0;
	return 0;
}

int follow_belt_remove(struct follow_belt *belt, const char *key, size_t len)
{
	if (!len || len > HASHBELT_KEY_MAX)
		abort();
	memcpy(belt->keys[belt->count].bytes, key, len);
	belt->keys[belt->count].len = len;
	return ++belt->count == HASHBELT_BATCH_MAX ? follow_belt_flush(belt) : 0;
}

int follow_belt_check(struct follow_belt *belt)
{
	return look(belt) == belt->bound ? 0 : follow_belt_clear(belt);
}

bool follow_belt_is_there(const struct follow_belt *belt)
{
	return belt->bound;
}

uint64_t follow_belt_removed(const struct follow_belt *belt)
{
	return belt->removed;
}

uint64_t follow_belt_cleared(const struct follow_belt *belt)
{
	return belt->cleared;
}

const char *follow_belt_reason(struct follow_belt *belt, int err, char *text)
{
	(void)belt;
	snprintf(text, BELT_REASON_SIZE, "the fake belt: %s", strerror(-err));
	return text;
}

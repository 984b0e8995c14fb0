// SPDX-License-Identifier: GPL-2.0-only
/*
 * A password from a file. It is read anew for each connection, so that the file may change while
 * hbfollow runs, and is not kept.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "password.h"

/* Checks and reads an open file. Returns NULL, or what is wrong. */
static const char *read_file(FILE *file, char *password)
{
	struct stat found;

	if (fstat(fileno(file), &found))
		return strerror(errno);
	if (found.st_mode & 07)
		return "all users may use it: 'chmod o=' takes this away";
	/* Nothing of it stays in a buffer of stdio. */
	setvbuf(file, NULL, _IONBF, 0);
	if (!fgets(password, PASSWORD_MAX, file))
		return ferror(file) ? strerror(errno) : "it is empty";
	if (strlen(password) == PASSWORD_MAX - 1)
		return "its first line is too long";
	password[strcspn(password, "\r\n")] = '\0';
	return *password ? NULL : "its first line is empty";
}

/**
 * password_read() - read the first line of a file
 * @path:	the file, which other users may not read
 * @password:	returned: the line, PASSWORD_MAX bytes; the caller wipes it
 * @problem:	returned after an error: a sentence, PASSWORD_PROBLEM_SIZE bytes
 *
 * Return: whether there is one.
 */
bool password_read(const char *path, char *password, char *problem)
{
	FILE *file = fopen(path, "re");
	const char *wrong = file ? read_file(file, password) : strerror(errno);

	if (file)
		fclose(file);
	if (!wrong)
		return true;
	explicit_bzero(password, PASSWORD_MAX);
	snprintf(problem, PASSWORD_PROBLEM_SIZE, "cannot take a password from %s: %s", path,
		 wrong);
	return false;
}

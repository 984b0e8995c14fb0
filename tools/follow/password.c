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
#include "text_line.h"

/*
 * Checks and reads an open file. People write it, so the line may have no newline. Return: NULL, or
 * a sentence about the mistake.
 */
static const char *read_file(FILE *file, char *password)
{
	struct stat found;
	size_t len;
	char *end;

	if (fstat(fileno(file), &found))
		return strerror(errno);
	if (found.st_mode & 07)
		return "all users may use it: 'chmod o=' takes this away";
	/* Nothing of it stays in a buffer of stdio. */
	setvbuf(file, NULL, _IONBF, 0);
	len = fread(password, 1, PASSWORD_MAX, file);
	if (ferror(file))
		return strerror(errno);
	if (!len)
		return "it is empty";
	end = memchr(password, '\n', len);
	if (!end && len == PASSWORD_MAX)
		return "its first line is too long";
	end = end ? end : password + len;
	if (end > password && end[-1] == '\r')
		end--;
	*end = '\0';
	if (!strncmp(password, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		return "it begins with a byte order mark: save it without one";
	if (strlen(password) != (size_t)(end - password))
		return "its first line has a zero byte";
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

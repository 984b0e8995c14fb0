// SPDX-License-Identifier: GPL-2.0-only
/*
 * The users and passwords that clients have to name, of a file as memcached's --auth-file: a line
 * USER:PASSWORD for each user.
 *
 * Only digests are kept. A comparison takes the same time for each text of a length, so it shows
 * neither how much of a password is right nor which users exist.
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "auth.h"
#include "text_line.h"

/* Bytes of a line: far more than people choose. */
#define LINE_MAX_BYTES	65536

/**
 * struct auth - the users of a file
 * @count:	their number
 * @digests:	of "USER PASSWORD" of each
 */
struct auth {
	size_t count;
	unsigned char (*digests)[SHA256_DIGEST_LENGTH];
};

/* Adds a line, which becomes "USER PASSWORD". Return: NULL, or what is wrong. */
static const char *add_line(struct auth *auth, char *line, size_t len)
{
	size_t user = strcspn(line, ": \t");
	void *digests;

	if (strlen(line) != len)
		return "has a zero byte";
	if (!user || line[user] != ':')
		return "is not USER:PASSWORD, with a user without blanks";
	if (!line[user + 1])
		return "has no password";
	digests = realloc(auth->digests, (auth->count + 1) * sizeof(*auth->digests));
	if (!digests)
		return "does not fit into memory";
	auth->digests = digests;
	line[user] = ' ';
	SHA256((unsigned char *)line, len, auth->digests[auth->count++]);
	return NULL;
}

/* Reads all lines. Return: 0, or a negative errno after a message. */
static int read_lines(struct auth *auth, const char *path, FILE *file)
{
	struct text_line line = { .most = LINE_MAX_BYTES };
	char wrong[TEXT_LINE_WRONG];
	const char *problem = NULL;
	unsigned int number = 0;
	enum text_line_end end;

	do {
		end = text_line_read(&line, file);
		number++;
		if (end != TEXT_LINE_WHOLE && end != TEXT_LINE_CUT)
			break;
		if (number == 1 && text_line_drop_mark(&line))
			problem = text_line_wrong(&line, TEXT_LINE_MARKED, wrong);
		else if (line.len)
			problem = add_line(auth, line.text, line.len);
		OPENSSL_cleanse(line.text, line.room);
	} while (!problem);
	OPENSSL_cleanse(line.text, line.room);
	free(line.text);
	if (!problem && (end == TEXT_LINE_LONG || end == TEXT_LINE_MEMORY))
		problem = text_line_wrong(&line, end, wrong);
	if (problem)
		fprintf(stderr, "hbserve: %s:%u: the line %s\n", path, number, problem);
	else if (end == TEXT_LINE_FAILED)
		fprintf(stderr, "hbserve: cannot read %s: %s\n", path, strerror(line.err));
	else if (!auth->count)
		fprintf(stderr, "hbserve: %s has no line USER:PASSWORD\n", path);
	else
		return 0;
	return -EINVAL;
}

/* The file must not be open to all users of the machine. */
static int check_file(const char *path, FILE *file)
{
	struct stat found;

	if (fstat(fileno(file), &found))
		return -errno;
	if (!(found.st_mode & 07))
		return 0;
	fprintf(stderr, "hbserve: all users may use %s: 'chmod o= %s'\n", path, path);
	return -EPERM;
}

/**
 * auth_load() - read a file of users and passwords
 * @path:	the file
 * @auth:	the users, to be freed by auth_free()
 *
 * Return: 0, or a negative errno after a message on stderr.
 */
int auth_load(const char *path, struct auth **auth)
{
	FILE *file = fopen(path, "re");
	int err;

	if (!file) {
		err = -errno;
		fprintf(stderr, "hbserve: cannot open %s: %s\n", path, strerror(errno));
		return err;
	}
	*auth = calloc(1, sizeof(**auth));
	err = *auth ? check_file(path, file) : -ENOMEM;
	if (!err)
		err = read_lines(*auth, path, file);
	fclose(file);
	if (err) {
		auth_free(*auth);
		*auth = NULL;
	}
	return err;
}

/**
 * auth_check() - whether a client has named a user and the password
 * @auth:	the users
 * @text:	"USER PASSWORD"
 * @len:	its length, bytes
 *
 * Return: whether the file has this user with this password.
 */
bool auth_check(const struct auth *auth, const char *text, size_t len)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	bool found = false;
	size_t i;

	SHA256((const unsigned char *)text, len, digest);
	for (i = 0; i < auth->count; i++)
		found |= !CRYPTO_memcmp(digest, auth->digests[i], sizeof(digest));
	return found;
}

/**
 * auth_free() - free the users of a file
 * @auth:	the users; may be NULL
 */
void auth_free(struct auth *auth)
{
	if (!auth)
		return;
	free(auth->digests);
	free(auth);
}

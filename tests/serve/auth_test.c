// SPDX-License-Identifier: GPL-2.0-only
/* auth_test - files of users and passwords are read, and compared with what clients send. */
#include <sys/stat.h>

#include "array_size.h"
#include "auth.h"
#include "message.h"

static char path[32] = "/tmp/auth_test.XXXXXX";

/* Loads a file with a content. */
static int load(const char *content, size_t len, mode_t mode, struct auth **auth)
{
	int fd = open(path, O_WRONLY | O_TRUNC), err;

	if (fd < 0 || write(fd, content, len) != (ssize_t)len || fchmod(fd, mode))
		bail_out("cannot write %s: %s", path, strerror(errno));
	close(fd);
	message_begin();
	err = auth_load(path, auth);
	message_end();
	return err;
}

static const struct check_case {
	const char *text;
	bool good;
} check_cases[] = {
	{ "alice secret", true },
	{ "bob two words: and a colon", true },
	{ "carol x", true },
	{ "alice secre", false },
	{ "alice secret ", false },
	{ "alice secreT", false },
	{ "alice:secret", false },
	{ "alice x", false },
	{ "carol secret", false },
	{ "alice", false },
	{ "alice ", false },
	{ "", false },
	{ " ", false },
	{ "dave secret", false },
};

static void test_check(void)
{
	static const char content[] =
		"alice:secret\n\nbob:two words: and a colon\r\ncarol:x";
	struct auth *auth;
	size_t i;

	is_errno(load(content, strlen(content), 0600, &auth), 0, "a file with three users is read");
	if (!auth)
		bail_out("no users");
	for (i = 0; i < ARRAY_SIZE(check_cases); i++)
		is_int(auth_check(auth, check_cases[i].text, strlen(check_cases[i].text)),
		       check_cases[i].good, "'%s' is %s", check_cases[i].text,
		       check_cases[i].good ? "accepted" : "refused");
	ok(!auth_check(auth, "alice secret\0", 13), "a zero byte behind the password is refused");
	ok(!auth_check(auth, "alice secret\r\n", 14), "the end of a line is no part of a password");
	auth_free(auth);
}

static const struct refusal {
	const char *content;
	size_t len;
	const char *message;
} refusals[] = {
	{ "", 0, "has no line USER:PASSWORD" },
	{ "\n\n", 2, "has no line USER:PASSWORD" },
	{ "a:b\nalice\n", 10, ":2: the line is not USER:PASSWORD" },
	{ ":secret\n", 8, ":1: the line is not USER:PASSWORD" },
	{ "alice:\n", 7, ":1: the line has no password" },
	{ "al ice:x\n", 9, ":1: the line is not USER:PASSWORD" },
	{ "alice:x\0y\n", 10, ":1: the line has a zero byte" },
	{ "\357\273\277alice:x\n", 11, ":1: the line begins with a byte order mark: save" },
};

static void test_refusals(void)
{
	static char line[65537];
	struct auth *auth;
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(refusals); i++) {
		is_errno(load(refusals[i].content, refusals[i].len, 0600, &auth), EINVAL,
			 "a file whose problem is '%s' is refused", refusals[i].message);
		ok(message_is(refusals[i].message) && !strstr(message, "secret"),
		   "the error names the place, and no password");
		ok(!auth, "there are no users then");
	}
	memset(line, 'x', sizeof(line));
	line[1] = ':';
	is_errno(load(line, sizeof(line), 0600, &auth), EINVAL, "a line of 65537 bytes is refused");
	ok(message_is(":1: the line has more than 65536 bytes"),
	   "the error says how many are allowed");
	is_errno(load(line, sizeof(line) - 1, 0600, &auth), 0,
		 "a line of 65536 bytes is taken, without a newline too");
	auth_free(auth);
	is_errno(load("a:b\n", 4, 0604, &auth), EPERM, "a file that all users may read is refused");
	ok(message_is("chmod o="), "the error says how to close it");
	is_errno(load("a:b\n", 4, 0640, &auth), 0, "a file that a group may read is taken");
	auth_free(auth);
	message_begin();
	err = auth_load("/tmp/auth_test.none/x", &auth);
	message_end();
	is_errno(err, ENOENT, "a file that does not exist is an error");
	auth_free(NULL);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		bail_out("cannot make a file: %s", strerror(errno));
	close(fd);
	test_check();
	test_refusals();
	unlink(path);
	return done_testing();
}

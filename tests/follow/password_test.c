// SPDX-License-Identifier: GPL-2.0-only
/* password_test - a password is the first line of its file, or there is a reason why not. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../device/tap.h"
#include "array_size.h"
#include "password.h"

static char path[32] = "/tmp/password_test.XXXXXX";

/* A file, and the password that it has, or a part of what is wrong. */
static const struct file_case {
	const char *bytes;
	size_t len;
	const char *password;
	const char *wrong;
} cases[] = {
	{ "secret\n", 7, "secret", NULL },
	{ "secret", 6, "secret", NULL },
	{ "secret\r\n", 8, "secret", NULL },
	{ "sec\rret\r\nmore\n", 14, "sec\rret", NULL },
	{ "a b\xc3\xa4\n", 6, "a b\xc3\xa4", NULL },
	{ "", 0, NULL, "it is empty" },
	{ "\nsecret\n", 8, NULL, "its first line is empty" },
	{ "\r\n", 2, NULL, "its first line is empty" },
	{ "sec\0ret\n", 8, NULL, "its first line has a zero byte" },
	{ "\xef\xbb\xbfsecret\n", 10, NULL, "it begins with a byte order mark" },
};

static void write_file(const char *bytes, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || fchmod(fd, mode))
		bail_out("cannot write %s", path);
	close(fd);
}

static void test_file(const struct file_case *test, size_t number)
{
	char password[PASSWORD_MAX], problem[PASSWORD_PROBLEM_SIZE] = "";
	bool good;

	write_file(test->bytes, test->len, 0600);
	good = password_read(path, password, problem);
	if (test->password)
		ok(good && !strcmp(password, test->password), "cases[%zu] is read", number);
	else
		ok(!good && strstr(problem, test->wrong) && !strstr(problem, "secret"),
		   "cases[%zu] is refused, and the message says why", number);
}

static void test_length(void)
{
	char line[PASSWORD_MAX + 1], password[PASSWORD_MAX], problem[PASSWORD_PROBLEM_SIZE];

	memset(line, 'x', sizeof(line));
	line[PASSWORD_MAX - 1] = '\n';
	write_file(line, PASSWORD_MAX, 0600);
	ok(password_read(path, password, problem) && strlen(password) == PASSWORD_MAX - 1,
	   "a line that just fits is read");
	write_file(line, PASSWORD_MAX - 1, 0600);
	ok(password_read(path, password, problem) && strlen(password) == PASSWORD_MAX - 1,
	   "a line that just fits is read without its newline");
	line[PASSWORD_MAX - 1] = 'x';
	line[PASSWORD_MAX] = '\n';
	write_file(line, PASSWORD_MAX + 1, 0600);
	ok(!password_read(path, password, problem) && strstr(problem, "too long"),
	   "a line of a byte more is refused");
	ok(!*password, "nothing of it stays in memory");
	write_file("secret\n", 7, 0604);
	ok(!password_read(path, password, problem) && strstr(problem, "chmod o="),
	   "a file that all users may read is refused");
}

int main(void)
{
	int fd = mkstemp(path);
	size_t i;

	if (fd < 0)
		bail_out("cannot make a file");
	close(fd);
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		test_file(&cases[i], i);
	test_length();
	unlink(path);
	return done_testing();
}

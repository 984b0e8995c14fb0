// SPDX-License-Identifier: GPL-2.0-only
/*
 * start - the instructions of a program from its start to its end, in a guest in which one
 * instruction takes one nanosecond.
 *
 *	start [--user] NAME PROGRAM WORD...
 *		prints "NAME, process COUNT", and with --user "NAME, user COUNT"
 *	start --coprocess NAME LINE PROGRAM WORD...
 *		prints "NAME COUNT"
 *
 * "process" are the instructions of fork(2), execve(2), the program, its end and waitpid(2), the
 * kernel's included: the least of RUNS runs. A %d in a WORD is the number of the run. "user" are
 * those of user space from execve(2) to exit: the process is traced in single steps, which takes
 * ten seconds of processor time.
 *
 * With --coprocess, the program gets the LINE on its standard input again and again, and answers
 * with a line each time. COUNT are all instructions of one such exchange, on both sides and in the
 * kernel: the least of RUNS averages of EXCHANGES.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

#define RUNS		16
#define EXCHANGES	64
#define WORDS_MAX	16

static void die(const char *what)
{
	fprintf(stderr, "start: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* The words of a run. */
static char **number_words(char **words, int run)
{
	static char texts[WORDS_MAX][64];
	static char *numbered[WORDS_MAX + 1];
	const char *at;
	int i;

	for (i = 0; words[i] && i < WORDS_MAX; i++) {
		at = strstr(words[i], "%d");
		numbered[i] = words[i];
		if (!at)
			continue;
		snprintf(texts[i], sizeof(texts[i]), "%.*s%d%s", (int)(at - words[i]), words[i],
			 run, at + 2);
		numbered[i] = texts[i];
	}
	numbered[i] = NULL;
	return numbered;
}

static void become(char **words)
{
	int null = open("/dev/null", O_WRONLY);

	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 || close(null))
		_exit(126);
	execv(words[0], words);
	_exit(127);
}

static void check_end(int status)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "start: the program ended with status %#x\n", status);
		exit(EXIT_FAILURE);
	}
}

static uint64_t run_process(char **words)
{
	uint64_t begin = now_ns();
	pid_t child = fork();
	int status;

	if (!child)
		become(words);
	if (child < 0 || waitpid(child, &status, 0) != child)
		die("cannot run the program");
	begin = now_ns() - begin;
	check_end(status);
	return begin;
}

static pid_t begin_trace(char **words)
{
	pid_t child = fork();
	int status;

	if (!child) {
		/* Addresses decide how the strings of the program lie in words. */
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		become(words);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		die("cannot trace the program");
	return child;
}

/* The child is behind execve(2), before its first instruction. */
static uint64_t count_steps(char **words)
{
	pid_t child = begin_trace(words);
	uint64_t steps = 0;
	int status, signal;

	for (signal = 0;; steps++) {
		if (ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(intptr_t)signal) ||
		    waitpid(child, &status, 0) != child)
			die("cannot step");
		if (!WIFSTOPPED(status))
			break;
		signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	}
	check_end(status);
	return steps;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void print_count(const char *name, const char *what, uint64_t count)
{
	printf("%s%s %llu\n", name, what, (unsigned long long)count);
	fflush(stdout);
}

static void measure_process(const char *name, char **words)
{
	uint64_t ns = ~0ULL;
	int run;

	for (run = 0; run < RUNS; run++)
		ns = least(ns, run_process(number_words(words, run)));
	print_count(name, ", process", ns);
}

static void measure_user(const char *name, char **words)
{
	print_count(name, ", user", count_steps(number_words(words, RUNS)));
}

/* Starts the program. @ends: what it reads, and what it writes. */
static void begin_coprocess(char **words, int ends[2])
{
	int lines[2], replies[2];

	if (pipe2(lines, O_CLOEXEC) || pipe2(replies, O_CLOEXEC))
		die("cannot make pipes");
	switch (fork()) {
	case -1:
		die("cannot fork");
		break;
	case 0:
		dup2(lines[0], STDIN_FILENO);
		dup2(replies[1], STDOUT_FILENO);
		execv(words[0], words);
		_exit(127);
	}
	close(lines[0]);
	close(replies[1]);
	ends[0] = replies[0];
	ends[1] = lines[1];
}

static void exchange(const int ends[2], const char *line, size_t len)
{
	char reply[4096];
	ssize_t got;

	if (write(ends[1], line, len) != (ssize_t)len)
		die("cannot write a line");
	do {
		got = read(ends[0], reply, sizeof(reply));
		if (got <= 0)
			die("the program has ended");
	} while (reply[got - 1] != '\n');
	if (strncmp(reply, "0\t", 2))
		die("a command has failed");
}

static void measure_coprocess(const char *name, const char *text, char **words)
{
	uint64_t ns = ~0ULL, begin;
	int ends[2], run, i, len;
	char line[256];

	len = snprintf(line, sizeof(line), "%s\n", text);
	begin_coprocess(words, ends);
	for (run = 0; run < RUNS; run++) {
		begin = now_ns();
		for (i = 0; i < EXCHANGES; i++)
			exchange(ends, line, len);
		ns = least(ns, (now_ns() - begin) / EXCHANGES);
	}
	print_count(name, "", ns);
}

int main(int argc, char **argv)
{
	if (argc > 4 && !strcmp(argv[1], "--coprocess")) {
		measure_coprocess(argv[2], argv[3], argv + 4);
	} else if (argc > 3 && !strcmp(argv[1], "--user")) {
		measure_process(argv[2], argv + 3);
		measure_user(argv[2], argv + 3);
	} else if (argc > 2) {
		measure_process(argv[1], argv + 2);
	} else {
		fprintf(stderr, "usage: start [--user|--coprocess] NAME [LINE] PROGRAM WORD...\n");
		return 2;
	}
	return EXIT_SUCCESS;
}

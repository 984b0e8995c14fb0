// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "duration.h"
#include "encoding.h"
#include "output.h"

/* The heap, and the size that the C library takes, would cost more than most commands. */
#define SHORT	512

/**
 * output_is_short() - give standard output a small buffer, if all output fits
 * @request:	the request, of a command that has not printed yet
 * @size:	the most that it prints, bytes
 *
 * Context: a batch keeps the buffer that its first line has begun with.
 */
void output_is_short(const struct request *request, size_t size)
{
	static char buffer[SHORT];

	if (!request->batch && size <= sizeof(buffer))
		setvbuf(stdout, buffer, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, sizeof(buffer));
}

/**
 * ttl_text() - the time that an entry has left
 * @text:	where, DURATION_SIZE bytes
 * @ttl_ms:	milliseconds, or HASHBELT_TTL_NEVER
 *
 * Return: @text, as --ttl takes it.
 */
const char *ttl_text(char *text, __u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return strcpy(text, "never");
	return duration_format(text, ttl_ms);
}

/**
 * number_print() - print a number
 * @number:	the number
 *
 * printf(3) would cost a program that does little else a tenth of its instructions.
 */
void number_print(__u64 number)
{
	char text[NUMBER_SIZE], *digit = text + sizeof(text);

	*--digit = '\0';
	do {
		*--digit = '0' + number % 10;
	} while (number /= 10);
	fputs(digit, stdout);
}

/**
 * output_begin() - begin to print what the caller must learn
 * @old:	for output_end()
 *
 * A reader that has gone is an error from now on, and does not end the program.
 */
void output_begin(struct sigaction *old)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, old);
}

/**
 * output_end() - see whether standard output could be written
 * @old:	from output_begin()
 *
 * Return: 0 or a negative errno. The output may have been written in part.
 */
int output_end(const struct sigaction *old)
{
	bool failed = ferror(stdout);
	int err = EIO;

	if (fflush(stdout)) {
		failed = true;
		err = errno;
	}
	sigaction(SIGPIPE, old, NULL);
	return failed ? -err : 0;
}

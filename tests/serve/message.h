/* SPDX-License-Identifier: GPL-2.0-only */
/* Catches the output of a function on stdout and stderr. */
#ifndef _MESSAGE_H
#define _MESSAGE_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../device/tap.h"

static char message[16384];
static int message_file, message_kept[2];

/* From here to message_end(), the output of the program goes into @message. */
static void message_begin(void)
{
	int i;

	fflush(stdout);
	message_file = memfd_create("message", 0);
	for (i = 0; i < 2; i++) {
		message_kept[i] = dup(i + 1);
		if (message_file < 0 || message_kept[i] < 0 || dup2(message_file, i + 1) < 0)
			bail_out("cannot keep descriptor %d: %s", i + 1, strerror(errno));
	}
}

static void message_end(void)
{
	ssize_t len;
	int i;

	fflush(stdout);
	for (i = 0; i < 2; i++) {
		if (dup2(message_kept[i], i + 1) < 0)
			_exit(255);
		close(message_kept[i]);
	}
	len = pread(message_file, message, sizeof(message) - 1, 0);
	message[len > 0 ? len : 0] = '\0';
	close(message_file);
}

/* Whether the output is one line that has a text. */
static bool message_is(const char *text)
{
	size_t len = strlen(message);
	bool good = len && strchr(message, '\n') == message + len - 1 && strstr(message, text);

	if (!good)
		note("expected a line with '%s', found '%s'", text, message);
	return good;
}

#endif /* _MESSAGE_H */

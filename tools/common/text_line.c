// SPDX-License-Identifier: GPL-2.0-only
/*
 * getline(3) returns -1 at the end of a file, after an error of the file, and where there is no
 * memory for a line, whose length has no bound. A caller that takes -1 for the end loses the rest
 * of the file. So lines are read here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text_line.h"

/* The least size of a buffer. */
#define FIRST_ROOM	128

/* Makes room for another byte and a NUL. */
static bool make_room(struct text_line *line)
{
	size_t room = line->room < FIRST_ROOM ? FIRST_ROOM : line->room * 2;
	char *text;

	if (line->len + 1 < line->room)
		return true;
	/* A line that is too long is found out by a byte more than a line and its end have. */
	if (room > line->most + 3)
		room = line->most + 3;
	text = realloc(line->text, room);
	if (!text)
		return false;
	line->text = text;
	line->room = room;
	return true;
}

/* Cuts a carriage return off. */
static void trim(struct text_line *line)
{
	if (line->len && line->text[line->len - 1] == '\r')
		line->len--;
	line->text[line->len] = '\0';
}

/**
 * text_line_read() - read the next line of a file
 * @line:	gets the line
 * @file:	the file, which no other thread reads
 *
 * The end of a line is a newline, perhaps with a carriage return before it, as some editors write
 * it. At the end of the file it may be the carriage return alone. A line may have NUL bytes.
 *
 * Return: how that has ended. Only after TEXT_LINE_WHOLE and TEXT_LINE_CUT there is a line.
 */
enum text_line_end text_line_read(struct text_line *line, FILE *file)
{
	int byte;

	line->len = 0;
	line->read = 0;
	for (;;) {
		if (!make_room(line))
			return TEXT_LINE_MEMORY;
		errno = 0;
		byte = getc_unlocked(file);
		if (byte == EOF)
			break;
		line->read++;
		if (byte == '\n')
			break;
		line->text[line->len++] = byte;
		if (line->len > line->most + 1)
			return TEXT_LINE_LONG;
	}
	if (byte == EOF && ferror(file)) {
		line->err = errno;
		return TEXT_LINE_FAILED;
	}
	trim(line);
	if (line->len > line->most)
		return TEXT_LINE_LONG;
	if (byte == EOF)
		return line->read ? TEXT_LINE_CUT : TEXT_LINE_NONE;
	return TEXT_LINE_WHOLE;
}

/**
 * text_line_wrong() - say what is wrong with a line
 * @line:	the line
 * @end:	how its read has ended
 * @text:	space for the text
 *
 * Return: the rest of a sentence that begins with "the line".
 */
const char *text_line_wrong(const struct text_line *line, enum text_line_end end,
			    char text[TEXT_LINE_WRONG])
{
	switch (end) {
	case TEXT_LINE_LONG:
		snprintf(text, TEXT_LINE_WRONG, "has more than %zu bytes", line->most);
		return text;
	case TEXT_LINE_MEMORY:
		return "does not fit into memory";
	case TEXT_LINE_CUT:
		return "is the last one and has no newline: it may be cut off";
	case TEXT_LINE_MARKED:
		return "begins with a byte order mark: save the file without one";
	default:
		return "cannot be read";
	}
}

/**
 * text_line_drop_mark() - remove a byte order mark from the beginning of a line
 * @line:	the first line of a file
 *
 * Return: whether there was one.
 */
bool text_line_drop_mark(struct text_line *line)
{
	size_t size = strlen(BYTE_ORDER_MARK);

	if (line->len < size || memcmp(line->text, BYTE_ORDER_MARK, size))
		return false;
	line->len -= size;
	memmove(line->text, line->text + size, line->len + 1);
	return true;
}

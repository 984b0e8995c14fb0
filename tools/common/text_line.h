/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of a file: of a bounded length, and with their ends told apart. */
#ifndef TOOLS_TEXT_LINE_H
#define TOOLS_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Some editors write it at the beginning of a file in UTF-8. */
#define BYTE_ORDER_MARK	"\xef\xbb\xbf"

/* Space for the text of text_line_wrong(). */
#define TEXT_LINE_WRONG	64

/**
 * enum text_line_end - how the read of a line has ended
 * @TEXT_LINE_WHOLE:	there is a line, and its newline
 * @TEXT_LINE_CUT:	there is the last line, without a newline: it may be the beginning of one
 * @TEXT_LINE_NONE:	the file has ended
 * @TEXT_LINE_FAILED:	the file cannot be read
 * @TEXT_LINE_LONG:	the line is too long
 * @TEXT_LINE_MEMORY:	there is no memory for the line
 * @TEXT_LINE_MARKED:	a caller has found a byte order mark, and wants none
 */
enum text_line_end {
	TEXT_LINE_WHOLE,
	TEXT_LINE_CUT,
	TEXT_LINE_NONE,
	TEXT_LINE_FAILED,
	TEXT_LINE_LONG,
	TEXT_LINE_MEMORY,
	TEXT_LINE_MARKED,
};

/**
 * struct text_line - a line, and the memory for the next one; all 0 but for @most at first
 * @most:	bytes that a line may have, without its end
 * @text:	the line, and a NUL behind it; to be freed by the caller
 * @len:	its length, without its end
 * @room:	the size of @text
 * @read:	bytes that were read for the line, its end included
 * @err:	of the read, with TEXT_LINE_FAILED: an errno
 */
struct text_line {
	size_t most;
	char *text;
	size_t len;
	size_t room;
	size_t read;
	int err;
};

enum text_line_end text_line_read(struct text_line *line, FILE *file);
const char *text_line_wrong(const struct text_line *line, enum text_line_end end,
			    char text[TEXT_LINE_WRONG]);
bool text_line_drop_mark(struct text_line *line);

#endif /* TOOLS_TEXT_LINE_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Help on stdout. Lines are broken between words, at a width that does not depend on the terminal:
 * help is the same in a pipe and on each terminal. Texts are ASCII.
 */
#include <stdio.h>
#include <string.h>

#include "help.h"

/* The longest line, columns. */
#define WIDTH	80

/* The blanks before a row, and between its sides. */
#define GAP	2

/*
 * Prints a line of text behind @column columns of the line, and a newline. If it has to be broken,
 * each further line begins with @indent blanks. Runs of blanks stay, but none ends a line.
 */
static void print_line(unsigned int column, unsigned int indent, const char *text, size_t len)
{
	const char *end = text + len;
	size_t blanks, word;

	for (; text < end; text += blanks + word) {
		blanks = strspn(text, " ");
		word = strcspn(text + blanks, "\n ");
		if (column > indent && column + blanks + word > WIDTH) {
			printf("\n%*s", (int)indent, "");
			text += blanks;
			column = indent;
			blanks = 0;
		}
		printf("%.*s", (int)(blanks + word), text);
		column += blanks + word;
	}
	putchar('\n');
}

/* The column of the text of a line "WORD   TEXT", with two blanks or more; 0 for another line. */
static unsigned int find_text(const char *line)
{
	size_t word = strcspn(line, "\n "), blanks = strspn(line + word, " ");

	return blanks < 2 ? 0 : word + blanks;
}

/**
 * help_text() - print paragraphs
 * @text:	the paragraphs, with a newline between them; "WORD   TEXT", with two blanks or more,
 *		is the row of a table: where it is broken, the further lines stand below TEXT
 */
void help_text(const char *text)
{
	size_t len;

	for (;; text += len + 1) {
		len = strcspn(text, "\n");
		print_line(0, find_text(text), text, len);
		if (!text[len])
			return;
	}
}

/**
 * help_row() - print a row of two sides
 * @left:	the left side
 * @width:	its columns; the right side of a longer one is in the next line
 * @text:	the right side, without a newline
 */
void help_row(const char *left, unsigned int width, const char *text)
{
	unsigned int indent = GAP + width + GAP;

	if (strlen(left) > width)
		printf("%*s%s\n%*s", GAP, "", left, (int)indent, "");
	else
		printf("%*s%-*s%*s", GAP, "", (int)width, left, GAP, "");
	print_line(indent, indent, text, strlen(text));
}

/**
 * help_option() - print an option
 * @letter:	its short form; 0 for none
 * @name:	without the dashes
 * @argument:	the name of its argument; NULL if it takes none
 * @text:	its effect
 */
void help_option(char letter, const char *name, const char *argument, const char *text)
{
	char left[96], form[] = "-x, ";

	form[1] = letter;
	snprintf(left, sizeof(left), "%s--%s%s%s", letter ? form : "    ", name,
		 argument ? " " : "", argument ? argument : "");
	help_row(left, HELP_OPTION, text);
}

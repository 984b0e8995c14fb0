/* SPDX-License-Identifier: GPL-2.0-only */
/* Help on stdout, in lines of at most 80 columns. */
#ifndef COMMON_HELP_H
#define COMMON_HELP_H

/* Columns of the left side of a row: of an option, and of a column of a table. */
#define HELP_OPTION	26
#define HELP_COLUMN	16

void help_text(const char *text);
void help_row(const char *left, unsigned int width, const char *text);
void help_option(char letter, const char *name, const char *argument, const char *text);

#endif /* COMMON_HELP_H */

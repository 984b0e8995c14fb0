// SPDX-License-Identifier: GPL-2.0-only
/* Completion for bash, zsh and fish, from the table of options. */
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "offer.h"
#include "option.h"

static void print_bash(const struct option_program *program)
{
	const char *name = program->name;
	const struct option_row *row;

	printf("# bash completion for %s, made by: %s --completion bash\n"
	       "_%s()\n"
	       "{\n"
	       "\tlocal -a words\n"
	       "\tlocal typed head quote before previous dashed\n"
	       "\n"
	       "\t_%s_read \"$2\"\n"
	       "\tcase $previous in\n", name, name, name, name);
	for (row = program->rows; row->name; row++) {
		if (!row->help || !row->argument)
			continue;
		printf("\t--%s", row->name);
		if (row->letter)
			printf(" | -%c", row->letter);
		fputs(") ", stdout);
		offer_print(OFFER_BASH, name, row->argument);
		puts(" ;;");
	}
	printf("\t*) _%s_offer", name);
	for (row = program->rows; row->name; row++)
		if (row->help)
			printf(" --%s", row->name);
	puts(" ;;\n"
	     "\tesac\n"
	     "}");
	offer_print_functions(OFFER_BASH, name);
	printf("complete -F _%s %s\n", name, name);
}

/* Prints a help text of the table, which has no quotes, for zsh. */
static void print_zsh_help(const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:\\", *text))
			putchar('\\');
		putchar(*text);
	}
}

static void print_zsh(const struct option_program *program)
{
	const char *name = program->name;
	const struct option_row *row;

	printf("#compdef %s\n"
	       "# zsh completion for %s, made by: %s --completion zsh\n", name, name, name);
	offer_print_functions(OFFER_ZSH, name);
	fputs("_arguments -s", stdout);
	for (row = program->rows; row->name; row++) {
		if (!row->help)
			continue;
		fputs(" \\\n\t", stdout);
		if (row->letter)
			printf("'(-%c --%s)'{-%c,--%s}", row->letter, row->name, row->letter,
			       row->name);
		else
			printf("--%s", row->name);
		fputs("'[", stdout);
		print_zsh_help(row->help);
		putchar(']');
		if (row->argument) {
			printf(":%s:", row->argument);
			offer_print(OFFER_ZSH, name, row->argument);
		}
		putchar('\'');
	}
	putchar('\n');
}

static void print_fish(const struct option_program *program)
{
	const char *name = program->name;
	const struct option_row *row;

	printf("# fish completion for %s, made by: %s --completion fish\n", name, name);
	offer_print_functions(OFFER_FISH, name);
	printf("complete -c %s -f\n", name);
	for (row = program->rows; row->name; row++) {
		if (!row->help)
			continue;
		printf("complete -c %s -l %s", name, row->name);
		if (row->letter)
			printf(" -s %c", row->letter);
		if (row->argument) {
			fputs(" -r", stdout);
			offer_print(OFFER_FISH, name, row->argument);
		}
		printf(" -d '%s'\n", row->help);
	}
}

/**
 * completion_print() - print a script that makes a shell complete a program's options
 * @program:	the program and its options
 * @shell:	the name of the shell
 *
 * Return: whether the shell is known.
 */
bool completion_print(const struct option_program *program, const char *shell)
{
	static void (* const print[OFFER_SHELLS])(const struct option_program *program) = {
		[OFFER_BASH] = print_bash, [OFFER_FISH] = print_fish, [OFFER_ZSH] = print_zsh,
	};
	enum offer_shell found;

	if (!offer_find_shell(shell, &found))
		return false;
	print[found](program);
	return true;
}

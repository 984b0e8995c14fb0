// SPDX-License-Identifier: GPL-2.0-only
/* Completion for bash, zsh and fish, from the table of options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "option.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The command that prints the names of belts. */
#define PRINT_BELTS	"hbctl belts --noheadings -o NAME 2>/dev/null"

/* The offers for an argument of a certain name. */
struct offer {
	const char *argument;
	const char *bash;
	const char *zsh;
	const char *fish;
};

static const struct offer offers[] = {
	{ "FILE", "compgen -f", "_files", "-F" },
	{ "BELT", "compgen -W \"$(" PRINT_BELTS ")\"",
	  "{compadd -- ${(f)\"$(" PRINT_BELTS ")\"}}", "-f -a '(" PRINT_BELTS ")'" },
	{ "GROUP", "compgen -g", "_groups", "-f -a '(__fish_complete_groups)'" },
};

static const struct offer *find_offer(const char *argument)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(offers); i++)
		if (!strcmp(offers[i].argument, argument))
			return &offers[i];
	return NULL;
}

/* Prints words that are separated by '|'. */
static void print_words(const char *words)
{
	for (; *words; words++)
		putchar(*words == '|' ? ' ' : *words);
}

static bool has_words(const char *argument)
{
	return islower((unsigned char)*argument);
}

static void print_bash(const struct option_program *program)
{
	const char *name = program->name;
	const struct option_row *row;
	const struct offer *offer;

	printf("# bash completion for %s, made by: %s --completion bash\n"
	       "_%s()\n"
	       "{\n"
	       "\tlocal current=$2\n"
	       "\n"
	       "\tcase $3 in\n", name, name, name);
	for (row = program->rows; row->name; row++) {
		if (!row->help || !row->argument)
			continue;
		printf("\t--%s", row->name);
		if (row->letter)
			printf(" | -%c", row->letter);
		offer = find_offer(row->argument);
		if (offer)
			printf(") COMPREPLY=($(%s -- \"$current\")) ;;\n", offer->bash);
		else if (has_words(row->argument))
			printf(") COMPREPLY=($(compgen -W '"), print_words(row->argument),
			puts("' -- \"$current\")) ;;");
		else
			puts(") COMPREPLY=() ;;");
	}
	fputs("\t*) COMPREPLY=($(compgen -W '", stdout);
	for (row = program->rows; row->name; row++)
		if (row->help)
			printf("--%s ", row->name);
	printf("' -- \"$current\")) ;;\n"
	       "\tesac\n"
	       "}\n"
	       "complete -F _%s %s\n", name, name);
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

static void print_zsh_argument(const char *argument)
{
	const struct offer *offer = find_offer(argument);

	printf(":%s:", argument);
	if (offer) {
		fputs(offer->zsh, stdout);
	} else if (has_words(argument)) {
		putchar('(');
		print_words(argument);
		putchar(')');
	}
}

static void print_zsh(const struct option_program *program)
{
	const char *name = program->name;
	const struct option_row *row;

	printf("#compdef %s\n"
	       "# zsh completion for %s, made by: %s --completion zsh\n"
	       "_arguments -s", name, name, name);
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
		if (row->argument)
			print_zsh_argument(row->argument);
		putchar('\'');
	}
	putchar('\n');
}

static void print_fish(const struct option_program *program)
{
	const char *name = program->name;
	const struct option_row *row;
	const struct offer *offer;

	printf("# fish completion for %s, made by: %s --completion fish\n"
	       "complete -c %s -f\n", name, name, name);
	for (row = program->rows; row->name; row++) {
		if (!row->help)
			continue;
		printf("complete -c %s -l %s", name, row->name);
		if (row->letter)
			printf(" -s %c", row->letter);
		offer = row->argument ? find_offer(row->argument) : NULL;
		if (row->argument)
			fputs(" -r", stdout);
		if (offer)
			printf(" %s", offer->fish);
		else if (row->argument && has_words(row->argument))
			fputs(" -f -a '", stdout), print_words(row->argument), putchar('\'');
		else if (row->argument)
			fputs(" -f", stdout);
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
	static const struct {
		const char *shell;
		void (*print)(const struct option_program *program);
	} printers[] = {
		{ "bash", print_bash }, { "fish", print_fish }, { "zsh", print_zsh },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(printers); i++) {
		if (strcmp(printers[i].shell, shell))
			continue;
		printers[i].print(program);
		return true;
	}
	return false;
}

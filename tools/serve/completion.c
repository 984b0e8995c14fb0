// SPDX-License-Identifier: GPL-2.0-only
/* Completion for bash, zsh and fish, from the table of options. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "option_row.h"

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

static void print_bash(const struct option_row *rows)
{
	const struct option_row *row;
	const struct offer *offer;

	puts("# bash completion for hbserve, made by: hbserve --completion bash\n"
	     "_hbserve()\n"
	     "{\n"
	     "\tlocal current=$2\n"
	     "\n"
	     "\tcase $3 in");
	for (row = rows; row->name; row++) {
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
	for (row = rows; row->name; row++)
		if (row->help)
			printf("--%s ", row->name);
	puts("' -- \"$current\")) ;;\n"
	     "\tesac\n"
	     "}\n"
	     "complete -F _hbserve hbserve");
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

static void print_zsh(const struct option_row *rows)
{
	const struct option_row *row;

	fputs("#compdef hbserve\n"
	      "# zsh completion for hbserve, made by: hbserve --completion zsh\n"
	      "_arguments -s", stdout);
	for (row = rows; row->name; row++) {
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

static void print_fish(const struct option_row *rows)
{
	const struct option_row *row;
	const struct offer *offer;

	puts("# fish completion for hbserve, made by: hbserve --completion fish\n"
	     "complete -c hbserve -f");
	for (row = rows; row->name; row++) {
		if (!row->help)
			continue;
		printf("complete -c hbserve -l %s", row->name);
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
 * completion_print() - print a script that makes a shell complete hbserve's options
 * @shell:	the name of the shell
 * @rows:	the options; their help has no quotes
 *
 * Return: whether the shell is known.
 */
bool completion_print(const char *shell, const struct option_row *rows)
{
	static const struct {
		const char *shell;
		void (*print)(const struct option_row *rows);
	} printers[] = {
		{ "bash", print_bash }, { "fish", print_fish }, { "zsh", print_zsh },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(printers); i++) {
		if (strcmp(printers[i].shell, shell))
			continue;
		printers[i].print(rows);
		return true;
	}
	return false;
}

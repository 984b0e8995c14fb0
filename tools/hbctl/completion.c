// SPDX-License-Identifier: GPL-2.0-only
/* Completion for bash, from the table of commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"

static const char head[] =
	"# bash completion for hbctl, made by: hbctl completion bash\n"
	"_hbctl()\n"
	"{\n"
	"\tlocal current=$2 previous=$3 command= words= i\n"
	"\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t-D | --device | -b | --belt | --belt-owner) ((i++)) ;;\n"
	"\t\t-*) ;;\n"
	"\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tcase $previous in\n"
	"\t-D | --device) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
	"\t-b | --belt) words=$(_hbctl_belts) ;;\n"
	"\t--belt-owner) COMPREPLY=($(compgen -u -- \"$current\")); return ;;\n"
	"\t*)\n"
	"\t\tcase $command:$previous in\n";

static const char middle[] =
	"\t\t*)\n"
	"\t\t\tcase $command:$current in\n";

static const char tail[] =
	"\t\t\tesac ;;\n"
	"\t\tesac ;;\n"
	"\tesac\n"
	"\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
	"}\n"
	"_hbctl_belts()\n"
	"{\n"
	"\thbctl belts 2>/dev/null | awk 'NR > 1 { print $1 }'\n"
	"}\n"
	"complete -F _hbctl hbctl";

/* Prints those of the words, separated by '|' or in brackets, that are in lower case. */
static void print_words(const char *words)
{
	size_t len;

	for (; *words; words += len + !!words[len]) {
		len = strcspn(words, "|[]");
		if (islower((unsigned char)*words))
			printf(" %.*s", (int)len, words);
	}
}

/* The arguments of a command's options. */
static void print_arguments(const struct command *command)
{
	const struct option_spec *spec;

	for (spec = command->options; spec->name; spec++) {
		if (!spec->argument)
			continue;
		printf("\t\t%s:--%s) words=\"", command->name, spec->name);
		print_words(spec->argument);
		puts("\" ;;");
	}
}

static void print_options(const struct option_spec *spec)
{
	for (; spec->name; spec++)
		printf(" --%s", spec->name);
}

static void print_commands(const struct command *commands)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		printf(" %s", command->name);
}

/* The operands of a command. */
static void print_operands(const struct command *commands, const struct command *command)
{
	const char *operands = command->operands;

	if (strstr(operands, "FILE")) {
		printf("\t\t\t%s:*) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n",
		       command->name);
		return;
	}
	printf("\t\t\t%s:*) words=\"", command->name);
	if (strstr(operands, "COMMAND") && !strstr(operands, COMMAND_LINE))
		print_commands(commands);
	else if (strstr(operands, "BELT") && strcmp(command->name, "create"))
		printf("$(_hbctl_belts)");
	else
		print_words(operands);
	puts("\" ;;");
}

/**
 * completion_bash() - print a script that makes bash complete hbctl's commands
 * @commands:	the table of commands
 *
 * Return: the exit status.
 */
enum status completion_bash(const struct command *commands)
{
	const struct command *command;

	fputs(head, stdout);
	for (command = commands; command->name; command++)
		print_arguments(command);
	fputs(middle, stdout);
	printf("\t\t\t:-*) words=\"");
	print_options(common_options);
	printf("\" ;;\n\t\t\t:*) words=\"");
	print_commands(commands);
	puts("\" ;;");
	for (command = commands; command->name; command++) {
		printf("\t\t\t%s:-*) words=\"", command->name);
		print_options(command->options);
		print_options(common_options);
		puts("\" ;;");
		print_operands(commands, command);
	}
	puts(tail);
	return STATUS_DONE;
}

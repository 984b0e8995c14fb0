// SPDX-License-Identifier: GPL-2.0-only
/* Completion for bash, zsh and fish, from the tables of commands. */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "offer.h"
#include "table.h"

static const char head[] =
	"# bash completion for hbctl, made by: hbctl completion bash\n"
	"_hbctl()\n"
	"{\n"
	"\tlocal -a words\n"
	"\tlocal typed head quote before previous dashed command= i\n"
	"\n"
	"\t_hbctl_read \"$2\"\n"
	"\tfor ((i = 1; i < ${#words[@]}; i++)); do\n"
	"\t\tcase ${words[i]} in\n"
	"\t\t-D | --device | -b | --belt | --belt-owner) ((i++)) ;;\n"
	"\t\t-*) ;;\n"
	"\t\t*) command=${words[i]}; break ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tcase $command:$previous in\n";

static const char middle[] =
	"\tesac\n"
	"\tcase $command:$dashed$typed in\n";

static const char tail[] =
	"\tesac\n"
	"}\n"
	"# Columns stand behind others, with commas between them, or behind a +.\n"
	"_hbctl_offer_columns()\n"
	"{\n"
	"\tlocal given=${typed#\"$before\"}\n"
	"\n"
	"\tcase $given in\n"
	"\t*,*) before+=${given%,*}, ;;\n"
	"\t+*) before+=+ ;;\n"
	"\tesac\n"
	"\t_hbctl_offer \"$@\"\n"
	"}\n"
	"# Offers the belts that an operand may name: only behind a -- is one with a dash no option.\n"
	"_hbctl_offer_operands()\n"
	"{\n"
	"\tlocal name\n"
	"\n"
	"\twhile IFS= read -r name; do\n"
	"\t\t[[ ! $dashed && $name == -* ]] || _hbctl_offer \"$name\"\n"
	"\tdone < <(hbctl completion belts 2>/dev/null)\n"
	"}\n";

/* An operand that may be the name of a belt. */
static bool names_belt(const struct command *command)
{
	return strstr(command->operands, "BELT") && strcmp(command->name, "create");
}

/* An operand that is the name of a command of hbctl. */
static bool names_command(const struct command *command)
{
	return strstr(command->operands, "COMMAND") && !strstr(command->operands, COMMAND_LINE);
}

static void print_columns(const struct table_column *column)
{
	for (; column->name; column++)
		printf(" %s", column->name);
}

/* The arguments of options. @name: the command that has them; "*" for all. */
static void print_arguments(const char *name, const struct option_spec *spec,
			    const struct table_column *columns)
{
	for (; spec->name; spec++) {
		if (!spec->argument)
			continue;
		printf("\t%s:--%s", name, spec->name);
		if (spec->letter)
			printf(" | %s:-%c", name, spec->letter);
		fputs(") ", stdout);
		if (!strcmp(spec->argument, "COLUMNS")) {
			fputs("_hbctl_offer_columns", stdout);
			print_columns(columns);
		} else {
			offer_print(OFFER_BASH, "hbctl", spec->argument);
		}
		puts("; return ;;");
	}
}

static void print_options(const struct option_spec *spec)
{
	for (; spec->name; spec++)
		printf(" --%s", spec->name);
}

static void print_commands(void)
{
	const struct command *command;

	for (command = command_next(NULL); command; command = command_next(command))
		printf(" %s", command->name);
}

/* The operands of a command. */
static void print_operands(const struct command *command)
{
	printf("\t%s:*) ", command->name);
	if (names_command(command)) {
		fputs("_hbctl_offer", stdout);
		print_commands();
	} else if (names_belt(command)) {
		fputs("_hbctl_offer_operands", stdout);
	} else if (strcmp(command->name, "create")) {
		offer_print(OFFER_BASH, "hbctl", command->operands);
	} else {
		putchar(':');
	}
	puts(" ;;");
}

/**
 * completion_bash() - print a script that makes bash complete hbctl's commands
 *
 * Return: the exit status.
 */
enum status completion_bash(void)
{
	const struct command *command;

	fputs(head, stdout);
	print_arguments("*", common_options, NULL);
	for (command = command_next(NULL); command; command = command_next(command))
		print_arguments(command->name, command->options, command->table);
	fputs(middle, stdout);
	fputs("\t:-*) _hbctl_offer", stdout);
	print_options(common_options);
	fputs(" ;;\n\t:*) _hbctl_offer", stdout);
	print_commands();
	puts(" ;;");
	for (command = command_next(NULL); command; command = command_next(command)) {
		printf("\t%s:-*) _hbctl_offer", command->name);
		print_options(command->options);
		print_options(common_options);
		puts(" ;;");
		print_operands(command);
	}
	fputs(tail, stdout);
	offer_print_functions(OFFER_BASH, "hbctl");
	puts("complete -F _hbctl hbctl");
	return STATUS_DONE;
}

/* Prints a text, with a backslash before each of the @special characters, and ' as '\\''. */
static void print_quoted(const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", stdout);
		else if (strchr(special, *text))
			putchar('\\');
		putchar(*text);
	}
}

/* The options as arguments of zsh's _arguments. */
static void print_zsh_options(const struct option_spec *spec,
			      const struct table_column *columns)
{
	for (; spec->name; spec++) {
		printf(" \\\n\t\t");
		if (spec->letter)
			printf("'(-%c --%s)'{-%c,--%s}", spec->letter, spec->name, spec->letter,
			       spec->name);
		else
			printf("--%s", spec->name);
		printf("'[");
		print_quoted(spec->help, "[]:\\");
		putchar(']');
		if (spec->argument) {
			fputs(*spec->argument == '[' ? "::" : ":", stdout);
			printf("argument:");
			if (!strcmp(spec->argument, "COLUMNS")) {
				fputs("_values -s , column", stdout);
				print_columns(columns);
			} else {
				offer_print(OFFER_ZSH, "hbctl", spec->argument);
			}
		}
		putchar('\'');
	}
}

static void print_zsh_command(const struct command *command)
{
	printf("\t%s)\n\t\t_arguments -s -S", command->name);
	print_zsh_options(command->options, command->table);
	print_zsh_options(common_options, NULL);
	fputs(" \\\n\t\t'*:operand:", stdout);
	if (names_command(command))
		fputs("_hbctl_commands", stdout);
	else if (names_belt(command))
		fputs("_hbctl_operands", stdout);
	else if (strcmp(command->name, "create"))
		offer_print(OFFER_ZSH, "hbctl", command->operands);
	puts("' ;;");
}

/**
 * completion_zsh() - print a script that makes zsh complete hbctl's commands
 *
 * Return: the exit status.
 */
enum status completion_zsh(void)
{
	const struct command *command;

	puts("#compdef hbctl\n"
	     "# zsh completion for hbctl, made by: hbctl completion zsh");
	offer_print_functions(OFFER_ZSH, "hbctl");
	puts("# Only behind a -- is an operand with a dash no option.\n"
	     "_hbctl_operands() {\n"
	     "\tlocal -a belts=(${(f)\"$(hbctl completion belts 2>/dev/null)\"})\n"
	     "\t(( ${words[(I)--]} )) || belts=(${belts:#-*})\n"
	     "\tcompadd -- $belts\n"
	     "}\n"
	     "_hbctl_commands() {\n"
	     "\tlocal -a commands=(");
	for (command = command_next(NULL); command; command = command_next(command)) {
		printf("\t\t'%s:", command->name);
		print_quoted(command->summary, ":\\");
		puts("'");
	}
	fputs("\t)\n"
	      "\t_describe command commands\n"
	      "}\n"
	      "_hbctl() {\n"
	      "\tlocal curcontext=$curcontext state line\n"
	      "\t_arguments -C -s", stdout);
	print_zsh_options(common_options, NULL);
	puts(" \\\n\t\t'1:command:_hbctl_commands' '*::operand:->operands' && return\n"
	     "\tcase $line[1] in");
	for (command = command_next(NULL); command; command = command_next(command))
		print_zsh_command(command);
	puts("\tesac\n"
	     "}\n"
	     "if [ \"$funcstack[1]\" = _hbctl ]; then\n"
	     "\t_hbctl \"$@\"\n"
	     "else\n"
	     "\tcompdef _hbctl hbctl\n"
	     "fi");
	return STATUS_DONE;
}

/* @name: the command that has the options; NULL for all. */
static void print_fish_options(const char *name, const struct option_spec *spec,
			       const struct table_column *columns)
{
	for (; spec->name; spec++) {
		printf("complete -c hbctl");
		if (name)
			printf(" -n '__hbctl_is %s'", name);
		printf(" -l %s", spec->name);
		if (spec->letter)
			printf(" -s %c", spec->letter);
		if (spec->argument && *spec->argument != '[')
			printf(" -r");
		if (spec->argument && !strcmp(spec->argument, "COLUMNS")) {
			fputs(" -f -a '", stdout);
			print_columns(columns);
			putchar('\'');
		} else if (spec->argument) {
			offer_print(OFFER_FISH, "hbctl", spec->argument);
		}
		printf(" -d '");
		print_quoted(spec->help, "\\");
		puts("'");
	}
}

static void print_fish_command(const struct command *command)
{
	printf("complete -c hbctl -n 'not __hbctl_command' -a %s -d '", command->name);
	print_quoted(command->summary, "\\");
	puts("'");
	print_fish_options(command->name, command->options, command->table);
	printf("complete -c hbctl -n '__hbctl_is %s'", command->name);
	if (names_command(command)) {
		fputs(" -a '", stdout);
		print_commands();
		putchar('\'');
	} else if (names_belt(command)) {
		fputs(" -f -a '(__hbctl_operands)'", stdout);
	} else if (strcmp(command->name, "create")) {
		offer_print(OFFER_FISH, "hbctl", command->operands);
	}
	putchar('\n');
}

/**
 * completion_fish() - print a script that makes fish complete hbctl's commands
 *
 * Return: the exit status.
 */
enum status completion_fish(void)
{
	const struct command *command;

	puts("# fish completion for hbctl, made by: hbctl completion fish");
	offer_print_functions(OFFER_FISH, "hbctl");
	puts("# Prints the command on the line; false if there is none. A belt behind -b is none.\n"
	     "function __hbctl_command\n"
	     "\tset -l words (commandline -opc)\n"
	     "\tset -e words[1]\n"
	     "\twhile set -q words[1]\n"
	     "\t\tswitch \"$words[1]\"\n"
	     "\t\tcase -D --device -b --belt --belt-owner\n"
	     "\t\t\tset -e words[1..2]\n"
	     "\t\tcase '-*'\n"
	     "\t\t\tset -e words[1]\n"
	     "\t\tcase '*'\n"
	     "\t\t\techo $words[1]\n"
	     "\t\t\treturn 0\n"
	     "\t\tend\n"
	     "\tend\n"
	     "\treturn 1\n"
	     "end\n"
	     "function __hbctl_is\n"
	     "\tcontains -- $argv[1] (__hbctl_command)\n"
	     "end\n"
	     "# Only behind a -- is an operand with a dash no option.\n"
	     "function __hbctl_operands\n"
	     "\tif contains -- -- (commandline -opc)\n"
	     "\t\t__hbctl_belts\n"
	     "\telse\n"
	     "\t\t__hbctl_belts | string match -v -- '-*'\n"
	     "\tend\n"
	     "end\n"
	     "complete -c hbctl -f");
	print_fish_options(NULL, common_options, NULL);
	for (command = command_next(NULL); command; command = command_next(command))
		print_fish_command(command);
	return STATUS_DONE;
}

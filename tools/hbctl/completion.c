// SPDX-License-Identifier: GPL-2.0-only
/* Completion for bash, zsh and fish, from the table of commands. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "table.h"

/* The command that prints the names of belts. */
#define PRINT_BELTS	"hbctl belts --noheadings -o NAME 2>/dev/null"

static const char head[] =
	"# bash completion for hbctl, made by: hbctl completion bash\n"
	"_hbctl()\n"
	"{\n"
	"\tlocal current=$2 previous=$3 command= words= before= i\n"
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
	"\tif [[ $previous == -o || $previous == --output ]]; then\n"
	"\t\t[[ $current != *,* ]] || before=${current%,*},\n"
	"\t\t[[ $before || $current != +* ]] || before=+\n"
	"\t\tCOMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- \"${current:${#before}}\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
	"}\n"
	"_hbctl_belts()\n"
	"{\n"
	"\t" PRINT_BELTS "\n"
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

static void print_columns(const struct table_column *column)
{
	for (; column->name; column++)
		printf(" %s", column->name);
}

/* The arguments of a command's options. */
static void print_arguments(const struct command *command)
{
	const struct option_spec *spec;

	for (spec = command->options; spec->name; spec++) {
		if (!spec->argument)
			continue;
		printf("\t\t%s:--%s", command->name, spec->name);
		if (spec->letter)
			printf(" | %s:-%c", command->name, spec->letter);
		printf(") words=\"");
		if (!strcmp(spec->argument, "COLUMNS"))
			print_columns(command->table);
		else
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

static bool has_words(const char *text)
{
	for (; *text; text += strcspn(text, "|[]"), text += !!*text)
		if (islower((unsigned char)*text))
			return true;
	return false;
}

/* Prints the action of zsh for an argument or an operand. */
static void print_zsh_action(const char *argument)
{
	if (strstr(argument, "FILE") || strstr(argument, "DEVICE") || strstr(argument, "PROGRAM")) {
		fputs("_files", stdout);
	} else if (strstr(argument, "BELT")) {
		fputs("_hbctl_belts", stdout);
	} else if (strstr(argument, "USER")) {
		fputs("_users", stdout);
	} else if (has_words(argument)) {
		putchar('(');
		print_words(argument);
		putchar(')');
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
				print_zsh_action(spec->argument);
			}
		}
		putchar('\'');
	}
}

static void print_zsh_command(const struct command *command)
{
	bool names_command = strstr(command->operands, "COMMAND") &&
			     !strstr(command->operands, COMMAND_LINE);

	printf("\t%s)\n\t\t_arguments -s", command->name);
	print_zsh_options(command->options, command->table);
	print_zsh_options(common_options, NULL);
	fputs(" \\\n\t\t'*:operand:", stdout);
	if (names_command)
		fputs("_hbctl_commands", stdout);
	else if (strcmp(command->name, "create"))
		print_zsh_action(command->operands);
	puts("' ;;");
}

/**
 * completion_zsh() - print a script that makes zsh complete hbctl's commands
 * @commands:	the table of commands
 *
 * Return: the exit status.
 */
enum status completion_zsh(const struct command *commands)
{
	const struct command *command;

	puts("#compdef hbctl\n"
	     "# zsh completion for hbctl, made by: hbctl completion zsh\n"
	     "_hbctl_belts() {\n"
	     "\tcompadd -- ${(f)\"$(" PRINT_BELTS ")\"}\n"
	     "}\n"
	     "_hbctl_commands() {\n"
	     "\tlocal -a commands=(");
	for (command = commands; command->name; command++) {
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
	for (command = commands; command->name; command++)
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

/* Prints the options of complete, of fish, for an argument or an operand. */
static void print_fish_action(const char *argument)
{
	if (strstr(argument, "FILE") || strstr(argument, "DEVICE") || strstr(argument, "PROGRAM")) {
		fputs(" -F", stdout);
	} else if (strstr(argument, "BELT")) {
		fputs(" -f -a '(__hbctl_belts)'", stdout);
	} else if (strstr(argument, "USER")) {
		fputs(" -f -a '(__fish_complete_users)'", stdout);
	} else if (has_words(argument)) {
		fputs(" -f -a '", stdout);
		print_words(argument);
		putchar('\'');
	} else {
		fputs(" -f", stdout);
	}
}

/* @name: the command that has the options; NULL for all. */
static void print_fish_options(const char *name, const struct option_spec *spec,
			       const struct table_column *columns)
{
	for (; spec->name; spec++) {
		printf("complete -c hbctl");
		if (name)
			printf(" -n '__fish_seen_subcommand_from %s'", name);
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
			print_fish_action(spec->argument);
		}
		printf(" -d '");
		print_quoted(spec->help, "\\");
		puts("'");
	}
}

static void print_fish_command(const struct command *commands, const struct command *command)
{
	bool names_command = strstr(command->operands, "COMMAND") &&
			     !strstr(command->operands, COMMAND_LINE);

	printf("complete -c hbctl -n __fish_use_subcommand -a %s -d '", command->name);
	print_quoted(command->summary, "\\");
	puts("'");
	print_fish_options(command->name, command->options, command->table);
	printf("complete -c hbctl -n '__fish_seen_subcommand_from %s'", command->name);
	if (names_command) {
		fputs(" -a '", stdout);
		print_commands(commands);
		putchar('\'');
	} else if (strcmp(command->name, "create")) {
		print_fish_action(command->operands);
	}
	putchar('\n');
}

/**
 * completion_fish() - print a script that makes fish complete hbctl's commands
 * @commands:	the table of commands
 *
 * Return: the exit status.
 */
enum status completion_fish(const struct command *commands)
{
	const struct command *command;

	puts("# fish completion for hbctl, made by: hbctl completion fish\n"
	     "function __hbctl_belts\n"
	     "\t" PRINT_BELTS "\n"
	     "end\n"
	     "complete -c hbctl -f");
	print_fish_options(NULL, common_options, NULL);
	for (command = commands; command->name; command++)
		print_fish_command(commands, command);
	return STATUS_DONE;
}

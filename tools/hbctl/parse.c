// SPDX-License-Identifier: GPL-2.0-only
/* The words of a command line as options and operands. */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "guess.h"
#include "parse.h"

/* getopt_long(3) returns this plus the index of an option. */
#define OPTION_BASE	256

static bool may_be_left_out(const struct option_spec *spec)
{
	return spec->argument && !strcmp(spec->argument, YES_NO);
}

/**
 * struct parser - options as getopt_long(3) wants them
 * @specs:	by index: those of all commands, then the command's
 * @count:	their number
 * @options:	the same, ended by zeros
 * @letters:	the short ones
 */
struct parser {
	const struct option_spec *specs[OPTIONS_MAX];
	int count;
	struct option options[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 3];
};

static void add_options(struct parser *parser, const struct option_spec *spec)
{
	char *letter = parser->letters + strlen(parser->letters);

	for (; spec->name && parser->count < OPTIONS_MAX; spec++) {
		parser->specs[parser->count] = spec;
		parser->options[parser->count] = (struct option){
			.name = spec->name,
			.has_arg = may_be_left_out(spec) ? optional_argument :
				   spec->argument ? required_argument : no_argument,
			.val = OPTION_BASE + parser->count,
		};
		parser->count++;
		if (!spec->letter)
			continue;
		*letter++ = spec->letter;
		if (spec->argument)
			*letter++ = ':';
	}
}

static int index_of_letter(const struct parser *parser, int letter)
{
	int i;

	for (i = 0; i < parser->count; i++)
		if (parser->specs[i]->letter == letter)
			return i;
	return -1;
}

/**
 * dash_hint() - the advice about operands behind the last that the command takes
 * @request:	the request
 *
 * flock(1) and timeout(1) run a command without a '--' before it.
 *
 * Return: the rest of a sentence, empty if there are no such operands, or none can be a command.
 */
const char *dash_hint(const struct request *request)
{
	const struct command *command = request->command;

	if (!command || request->count <= command->most ||
	    !strstr(command->operands, COMMAND_LINE))
		return "";
	return ": write '--' before a command";
}

/* @word: the option as it was given, perhaps with its argument. */
static enum status fail_unknown(const struct request *request, const struct parser *parser,
				const char *word)
{
	char name[64], text[GUESS_SIZE];
	struct guess guess = { .word = name };
	const char *hint = dash_hint(request);
	int i;

	if (strncmp(word, "--", 2) || *hint)
		return fail_usage(request, "there is no option '%s'%s", word, hint);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (i = 0; i < parser->count; i++)
		guess_offer(&guess, parser->specs[i]->name);
	return fail_usage(request, "there is no option '%s'%s", word,
			  guess_text(&guess, "--", text));
}

/* Reports the error in the option that getopt_long(3) stopped at. */
static enum status fail_option(const struct request *request,
			       const struct parser *parser, char **argv, bool missing)
{
	int index = optopt >= OPTION_BASE ? optopt - OPTION_BASE : -1;

	if (missing && optopt < OPTION_BASE)
		return fail_usage(request, "-%c needs an argument", optopt);
	if (missing)
		return fail_usage(request, "--%s needs an argument",
				  parser->specs[index]->name);
	if (index >= 0)
		return fail_usage(request, "--%s takes no argument",
				  parser->specs[index]->name);
	if (optopt)
		return fail_usage(request, "there is no option '-%c'%s", optopt,
				  dash_hint(request));
	return fail_unknown(request, parser, argv[optind - 1]);
}

/*
 * The argument of an option that getopt_long(3) found none for. It knows those
 * that may be left out only behind a '=': --pinned=no. We take a word as well.
 */
static const char *take_argument(const struct option_spec *spec, int argc, char **argv)
{
	if (!may_be_left_out(spec))
		return "";
	if (optind < argc && (!strcmp(argv[optind], "yes") || !strcmp(argv[optind], "no")))
		return argv[optind++];
	return "yes";
}

/*
 * Takes the next word if it is a number below 0 where the command takes one:
 * getopt_long(3) would look for options in it.
 */
static bool take_negative(struct request *request, int argc, char **argv)
{
	const struct command *command = request->command;

	if (!command || !strstr(command->operands, "[N]") || request->count != 1 ||
	    optind >= argc)
		return false;
	if (argv[optind][0] != '-' || !isdigit((unsigned char)argv[optind][1]))
		return false;
	request->operands[request->count++] = argv[optind++];
	return true;
}

/*
 * Takes the words behind a --: operands, and then perhaps a command line. If all required
 * operands stood before the --, the words are only a command line. @dashed: there was a --.
 */
static enum status take_rest(struct request *request, int argc, char **argv, bool dashed)
{
	bool has_line = strstr(request->command->operands, COMMAND_LINE);

	/* An empty variable in place of the command must not change the meaning. */
	if (has_line && dashed && optind == argc)
		return fail_usage(request, "a command is missing behind the --");
	if (has_line && request->count < request->command->least) {
		while (optind < argc && strcmp(argv[optind], "--"))
			request->operands[request->count++] = argv[optind++];
		optind++;
	}
	if (has_line && optind < argc)
		request->command_line = argv + optind;
	while (!has_line && optind < argc)
		request->operands[request->count++] = argv[optind++];
	return STATUS_DONE;
}

/**
 * parse() - read options and operands
 * @request:	the request; gets its values and operands. Without a command, reading ends at the
 *		first operand, which optind then is the index of
 * @argc:	as of main()
 * @argv:	as of main(): read from the second word on, and reordered
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status parse(struct request *request, int argc, char **argv)
{
	struct parser parser = { 0 };
	int c, index, before;

	strcpy(parser.letters, request->command ? "-:" : "+:");
	add_options(&parser, common_options);
	if (request->command)
		add_options(&parser, request->command->options);
	opterr = 0;
	optind = 0;	/* start anew */
	for (;;) {
		if (take_negative(request, argc, argv))
			continue;
		before = optind ? optind : 1;
		c = getopt_long(argc, argv, parser.letters, parser.options, NULL);
		if (c == -1)
			break;
		if (c == '?' || c == ':')
			return fail_option(request, &parser, argv, c == ':');
		if (c == 1) {
			request->operands[request->count++] = optarg;
			continue;
		}
		index = c >= OPTION_BASE ? c - OPTION_BASE : index_of_letter(&parser, c);
		request->values[index] = optarg ? optarg :
			take_argument(parser.specs[index], argc, argv);
	}
	if (!request->command)
		return STATUS_DONE;
	return take_rest(request, argc, argv, optind > before);
}

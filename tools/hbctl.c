// SPDX-License-Identifier: GPL-2.0
/*
 * hbctl - use and manage the belts of hashbelt.
 *
 * The table of commands, and what is made of it: dispatch and help.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "output.h"

#ifndef VERSION
#define VERSION	"0.1.0"
#endif

/* What getopt_long(3) returns for an option: this and its index. */
#define OPTION_BASE	256

#define DURATION_HELP \
	"A duration D is 250ms, 30s, 15m, 2h, 7d, several as 1h30m, or a number of seconds."

#define KEY_HELP \
	"KEY is taken as it is; a key that begins with - must follow a --."

/* -b stands in the same place of every request's values: see main(). */
enum common_option {
	OPTION_DEVICE,
	OPTION_BELT,
	OPTION_JSON,
	OPTION_HELP,
};

const struct option_spec common_options[] = {
	[OPTION_DEVICE] = { "device", 'D', "DEVICE",
			    "the device (" HASHBELT_DEVICE ")" },
	[OPTION_BELT] = { "belt", 'b', "BELT",
			  "the belt (" HASHBELT_DEFAULT_BELT ")" },
	[OPTION_JSON] = { "json", 0, NULL, "print JSON, an object in each line" },
	[OPTION_HELP] = { "help", 'h', NULL, "print help and do nothing" },
	{ 0 },
};

#define ESCAPED \
	{ "escaped", 'e', NULL, "KEY is written as keys and dump write it: \\t \\n \\\\ \\xHH" }

static const struct option_spec no_options[] = { { 0 } };

static const struct option_spec key_options[] = { ESCAPED, { 0 } };

static const struct option_spec create_options[] = {
	{ "ttl", 0, "D", "the belt's time-to-live (5m)" },
	{ "buckets", 0, "N", "buckets, 2 to 65536; an interval is ttl / (N - 1) (3)" },
	{ "policy", 0, "standard|updating|timecache", "what get and put do (timecache)" },
	{ "refresh-on-get", 0, "yes|no", "whether get renews the time-to-live" },
	{ "on-put", 0, "replace|keep", "what put does about what is there" },
	{ "mode", 0, "MODE", "who may read and write, as of a file (0600)" },
	{ 0 },
};

static const struct option_spec put_options[] = {
	{ "ttl", 0, "D|never|keep", "time-to-live; keep: what the entry has left" },
	{ "if-absent", 0, NULL, "only if there is no such entry" },
	{ "if-present", 0, NULL, "only if there is one" },
	{ "if-version", 0, "V", "only if there is one of version V" },
	{ "flags", 0, "N", "32 bits of your own (0)" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec get_options[] = {
	{ "ttl", 0, "D|never", "give the entry this time-to-live as well" },
	{ "verbose", 'v', NULL, "print version, flags and time left on stderr" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec touch_options[] = {
	{ "ttl", 0, "D|never", "time-to-live (the belt's)" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec rm_options[] = {
	{ "if-version", 0, "V", "only if it has version V" },
	ESCAPED,
	{ 0 },
};

static const struct option_spec dump_options[] = {
	{ "values", 0, NULL, "values and times left as well" },
	{ 0 },
};

static enum status cmd_help(struct request *request);
static enum status cmd_completion(struct request *request);
static enum status cmd_version(struct request *request);

const struct command commands[] = {
	{ "put", "KEY VALUE|-", 2, 2, "write", put_options,
	  "put an entry",
	  "The value is VALUE, or all of stdin for -.\n"
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
	  "Exit status 1: a condition does not hold, or the belt keeps what is there.",
	  cmd_put },
	{ "get", "KEY", 1, 1, "read", get_options,
	  "print a value",
	  "Prints the bytes of the value and nothing else.\n"
	  "--ttl needs the right to write.\n"
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
	  "Exit status 1: there is no such entry.",
	  cmd_get },
	{ "touch", "KEY", 1, 1, "write", touch_options,
	  "give an entry a new time-to-live",
	  KEY_HELP "\n"
	  DURATION_HELP "\n"
	  "Exit status 1: there is no such entry.",
	  cmd_touch },
	{ "has", "KEY", 1, 1, "read", key_options,
	  "say by the exit status whether there is an entry",
	  "Never renews the time-to-live.\n"
	  KEY_HELP "\n"
	  "Exit status 0: there is such an entry; 1: there is none.",
	  cmd_has },
	{ "rm", "KEY", 1, 1, "write", rm_options,
	  "remove an entry",
	  KEY_HELP "\n"
	  "Exit status 1: there is no such entry, or it has another version.",
	  cmd_rm },
	{ "expire", "KEY", 1, 1, "write", key_options,
	  "let an entry expire now",
	  "It counts as expired, not as removed.\n"
	  KEY_HELP "\n"
	  "Exit status 1: there is no such entry.",
	  cmd_expire },
	{ "keys", "[PREFIX]", 0, 1, "read", key_options,
	  "list keys",
	  "Prints a key in each line, in no order, only those that begin with PREFIX.\n"
	  "Control characters and backslashes are escaped: \\t \\n \\\\ \\xHH.\n"
	  "--json adds version, flags, time left and the value's length.",
	  cmd_keys },
	{ "dump", "", 0, 0, "read", dump_options,
	  "print entries as load reads them",
	  "Prints KEY, or with --values KEY<TAB>VALUE<TAB>TTL[<TAB>FLAGS], in each line.\n"
	  "Control characters and backslashes are escaped: \\t \\n \\\\ \\xHH.\n"
	  "Does not renew any time-to-live.",
	  cmd_dump },
	{ "load", "[FILE]", 0, 1, "write", no_options,
	  "put entries from a file or stdin",
	  "Each line is KEY<TAB>VALUE[<TAB>TTL[<TAB>FLAGS]], escaped as by dump. TTL is a\n"
	  "duration or never. The first line that is wrong ends it; what was before that\n"
	  "line is put.\n"
	  DURATION_HELP "\n"
	  "Exit status 1: the belt kept some of what was there.",
	  cmd_load },
	{ "size", "", 0, 0, "read", no_options,
	  "print the number of entries",
	  "Entries that have expired count until the belt has moved on.",
	  cmd_size },
	{ "clear", "", 0, 0, "write", no_options,
	  "drop all entries of the belt",
	  "They do not count as expired.",
	  cmd_clear },
	{ "create", "BELT", 1, 1, "own", create_options,
	  "make a belt",
	  "standard: get does not renew the time-to-live, put keeps what is there.\n"
	  "updating: get renews the time-to-live, put replaces.\n"
	  "timecache: get does not renew the time-to-live, put replaces.\n"
	  DURATION_HELP "\n"
	  "Exit status 1: there is a belt of that name.",
	  cmd_create },
	{ "destroy", "BELT", 1, 1, "own", no_options,
	  "destroy a belt and all that is in it",
	  "Programs that use it are told that it was destroyed.",
	  cmd_destroy },
	{ "belts", "", 0, 0, "read", no_options,
	  "list the belts that you may use",
	  "Owners are shown as numbers, user:group.",
	  cmd_belts },
	{ "info", "[BELT]", 0, 1, "read", no_options,
	  "describe a belt",
	  "Says what the belt is set to, what it holds, and when its worker looks next.",
	  cmd_info },
	{ "stat", "", 0, 0, "read", no_options,
	  "print the belt's counters",
	  "They count from when the belt was made.",
	  cmd_stat },
	{ "halt", "", 0, 0, "own", no_options,
	  "stop belt time: nothing expires",
	  "rotate and advance still move it.",
	  cmd_halt },
	{ "resume", "", 0, 0, "own", no_options,
	  "let belt time go on from where it stands",
	  "Time that passed in between does not count.",
	  cmd_resume },
	{ "rotate", "", 0, 0, "own", no_options,
	  "move belt time on by one interval",
	  "When it returns, all that expired by this is gone.",
	  cmd_rotate },
	{ "advance", "D", 1, 1, "own", no_options,
	  "move belt time on by D",
	  DURATION_HELP "\n"
	  "When it returns, all that expired by this is gone.",
	  cmd_advance },
	{ "help", "[COMMAND]", 0, 1, NULL, no_options,
	  "print help",
	  "The same as hbctl COMMAND --help.",
	  cmd_help },
	{ "completion", "bash", 1, 1, NULL, no_options,
	  "print a script that completes commands in the shell",
	  "Try it with: . <(hbctl completion bash)",
	  cmd_completion },
	{ "version", "", 0, 0, NULL, no_options,
	  "print the version",
	  "Prints the version of hbctl and of the device's interface that it speaks.",
	  cmd_version },
	{ 0 },
};

/**
 * command_find() - find a command
 * @name:	its name
 *
 * Return: the command or NULL.
 */
const struct command *command_find(const char *name)
{
	const struct command *command;

	for (command = commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	return NULL;
}

static void print_options(const struct option_spec *spec)
{
	char text[64], letter[] = "-x, ";

	for (; spec->name; spec++) {
		letter[1] = spec->letter;
		snprintf(text, sizeof(text), "%s--%s%s%s", spec->letter ? letter : "    ",
			 spec->name, spec->argument ? " " : "",
			 spec->argument ? spec->argument : "");
		if (strlen(text) > 26)
			printf("  %s\n%30s", text, "");
		else
			printf("  %-26s  ", text);
		puts(spec->help);
	}
}

static void print_help(void)
{
	const struct command *command;
	char text[64];

	puts("usage: hbctl [OPTION]... COMMAND [OPTION]... [OPERAND]...\n"
	     "\n"
	     "Use and manage belts: caches in the kernel whose entries expire.\n"
	     "\n"
	     "Commands:");
	for (command = commands; command->name; command++) {
		snprintf(text, sizeof(text), "%s %s", command->name, command->operands);
		printf("  %-18s  %s\n", text, command->summary);
	}
	puts("\nOptions of all commands:");
	print_options(common_options);
	puts("\n"
	     "Exit status: 0 done; 1 the answer is no; 2 wrong usage; 3 no device, no belt or\n"
	     "no right; 4 any other error. 'hbctl help COMMAND' says more.");
}

static void print_command_help(const struct command *command)
{
	printf("usage: hbctl [OPTION]... %s%s%s%s\n\n%s: %s.\n\n%s\n", command->name,
	       command->options->name ? " [OPTION]..." : "",
	       *command->operands ? " " : "", command->operands, command->name,
	       command->summary, command->help);
	if (command->options->name)
		puts("\nOptions:");
	print_options(command->options);
	puts("\nOptions of all commands:");
	print_options(common_options);
}

static enum status cmd_help(struct request *request)
{
	const struct command *command;

	if (!request->count) {
		print_help();
		return STATUS_DONE;
	}
	command = command_find(request->operands[0]);
	if (!command)
		return fail_usage(request, "there is no command '%s'", request->operands[0]);
	print_command_help(command);
	return STATUS_DONE;
}

static enum status cmd_completion(struct request *request)
{
	if (strcmp(request->operands[0], "bash"))
		return fail_usage(request, "no completion for '%s', only for 'bash'",
				  request->operands[0]);
	return completion_bash(request);
}

static enum status cmd_version(struct request *request)
{
	struct json_object *object;

	if (!request->json) {
		printf("hbctl %s (interface %d)\n", VERSION, HASHBELT_ABI);
		return STATUS_DONE;
	}
	object = json_object_new_object();
	json_add_bytes(object, "version", VERSION, strlen(VERSION));
	json_add_number(object, "interface", HASHBELT_ABI);
	json_print(object);
	return STATUS_DONE;
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
			.has_arg = spec->argument ? required_argument : no_argument,
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

/* What is wrong with the option that getopt_long(3) stopped at. */
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
		return fail_usage(request, "there is no option '-%c'", optopt);
	return fail_usage(request, "there is no option '%s'", argv[optind - 1]);
}

/*
 * Reads options and operands of argv[1] on, up to the first operand if the
 * command is not known yet.
 */
static enum status parse(struct request *request, int argc, char **argv)
{
	struct parser parser = { 0 };
	int c, index;

	strcpy(parser.letters, request->command ? "-:" : "+:");
	add_options(&parser, common_options);
	if (request->command)
		add_options(&parser, request->command->options);
	opterr = 0;
	optind = 0;	/* start anew */
	while ((c = getopt_long(argc, argv, parser.letters, parser.options, NULL)) != -1) {
		if (c == '?' || c == ':')
			return fail_option(request, &parser, argv, c == ':');
		if (c == 1) {
			request->operands[request->count++] = optarg;
			continue;
		}
		index = c >= OPTION_BASE ? c - OPTION_BASE : index_of_letter(&parser, c);
		request->values[index] = optarg ? optarg : "";
	}
	if (request->command)
		while (optind < argc)
			request->operands[request->count++] = argv[optind++];
	return STATUS_DONE;
}

static enum status check_operands(const struct request *request)
{
	const struct command *command = request->command;

	if (request->count < command->least)
		return fail_usage(request, "an operand is missing: %s %s", command->name,
				  command->operands);
	if (request->count > command->most)
		return fail_usage(request, "'%s' is one operand too many",
				  request->operands[command->most]);
	return STATUS_DONE;
}

/* Does what the request asks for, when all options are known. */
static enum status dispatch(struct request *request)
{
	enum status status = STATUS_DONE;

	if (request->values[OPTION_HELP]) {
		print_command_help(request->command);
		return STATUS_DONE;
	}
	if (request->values[OPTION_DEVICE])
		request->device = request->values[OPTION_DEVICE];
	if (request->values[OPTION_BELT])
		status = request_belt(request, request->values[OPTION_BELT]);
	request->json = request->values[OPTION_JSON];
	if (!status)
		status = check_operands(request);
	if (!status)
		status = request->command->run(request);
	if (request->fd >= 0)
		hashbelt_close(request->fd);
	return status;
}

static enum status run(struct request *request, int argc, char **argv)
{
	enum status status = parse(request, argc, argv);
	int first = optind;

	if (status)
		return status;
	if (request->values[OPTION_HELP]) {
		print_help();
		return STATUS_DONE;
	}
	if (first == argc)
		return fail_usage(request, "a command is missing");
	request->command = command_find(argv[first]);
	if (!request->command)
		return fail_usage(request, "there is no command '%s'", argv[first]);
	status = parse(request, argc - first, argv + first);
	return status ? status : dispatch(request);
}

/* What could not be written must not be taken for done. */
static enum status close_stdout(enum status status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fclose(stdout))
		failed = true;
	if (!failed || status)
		return status;
	return fail(STATUS_ERROR, "cannot write the output: %s",
		    errno ? strerror(errno) : "an earlier write failed");
}

int main(int argc, char **argv)
{
	struct request request = {
		.device = HASHBELT_DEVICE,
		.belt = HASHBELT_DEFAULT_BELT,
		.fd = -1,
	};
	enum status status;

	request.operands = calloc(argc + 1, sizeof(*request.operands));
	if (!request.operands)
		return fail(STATUS_ERROR, "out of memory");
	status = run(&request, argc, argv);
	free(request.operands);
	return close_stdout(status);
}

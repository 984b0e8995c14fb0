// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "account.h"
#include "command.h"
#include "duration.h"
#include "encoding.h"
#include "json.h"

/* (uid_t)-1 stands for no user. */
#define USER_MAX	(~0U - 1)

const struct option_spec common_options[] = {
	[OPTION_DEVICE] = { "device", 'D', "DEVICE",
			    "the device (" HASHBELT_DEVICE ")" },
	[OPTION_BELT] = { "belt", 'b', "BELT",
			  "the belt (" HASHBELT_DEFAULT_BELT ")" },
	[OPTION_BELT_OWNER] = { "belt-owner", 0, "USER",
				"fail unless USER, name or number, owns the belt" },
	[OPTION_JSON] = { "json", 0, NULL, "print JSON, an object in each line" },
	[OPTION_HELP] = { "help", 'h', NULL, "print help and do nothing" },
	[OPTION_VERSION] = { "version", 'V', NULL, "print the version and do nothing" },
	{ 0 },
};

/* The line of a file to which errors belong. */
static struct {
	const char *file;
	unsigned long line;
} place;

/**
 * fail_at() - name a line of a file in errors from now on
 * @file:	the name of the file, which must stay where it is; NULL: name none
 * @line:	the number of the line
 */
void fail_at(const char *file, unsigned long line)
{
	place.file = file;
	place.line = line;
}

/* Errors are printed as JSON. */
static bool is_json;

/* The errno of the next error; 0 if it has none. */
static int cause;

/**
 * fail_as_json() - choose the form of errors
 * @json:	as JSON; else as text
 */
void fail_as_json(bool json)
{
	is_json = json;
}

/**
 * fail_in_child() - print errors of a child on standard error, not in the reply of a batch
 *
 * Context: in the child, which ends without flushing files.
 */
void fail_in_child(void)
{
	FILE *file = fileno(stderr) < 0 ? fdopen(STDERR_FILENO, "w") : NULL;

	if (!file)
		return;
	setvbuf(file, NULL, _IONBF, 0);
	stderr = file;
}

/**
 * fail_cause() - name the errno of the next error, for errors in JSON
 * @err:	the errno, negative or not
 */
void fail_cause(int err)
{
	cause = abs(err);
}

/* Prints an error as an object. Bytes that are not UTF-8 cannot be in a string. */
static void print_json(char *text)
{
	char *json = NULL, *p;
	struct json object;
	size_t size;
	FILE *file;

	if (!is_utf8(text, strlen(text)))
		for (p = text; *p; p++)
			if (*p & 0x80)
				*p = '?';
	/* One write for the line: stderr has no buffer. */
	file = open_memstream(&json, &size);
	object = json_begin(file ? file : stderr);
	json_add_word(&object, "error", text);
	json_add_unless(&object, "errno", cause, 0);
	json_end(object);
	if (file && !fclose(file))
		fputs(json, stderr);
	free(json);
}

/**
 * fail() - print an error
 * @status:	the exit status for it
 * @format:	as printf(3): the problem and its remedy, without a newline
 *
 * Return: @status.
 */
enum status fail(enum status status, const char *format, ...)
{
	char text[4096];
	va_list args;
	int len = 0;

	if (place.file)
		len = snprintf(text, sizeof(text) / 2, "%s:%lu: ", place.file, place.line);
	len = len < (int)sizeof(text) / 2 ? len : (int)sizeof(text) / 2 - 1;
	va_start(args, format);
	vsnprintf(text + len, sizeof(text) - len, format, args);
	va_end(args);
	/* Control characters in the user's words must not break the line. */
	mask_controls(text);
	fflush(stdout);
	if (is_json)
		print_json(text);
	else
		fprintf(stderr, "hbctl: %s\n", text);
	cause = 0;
	return status;
}

/**
 * fail_usage() - print an error of usage, and where to look it up
 * @request:	the request
 * @format:	as printf(3): the problem
 *
 * Return: STATUS_USAGE.
 */
enum status fail_usage(const struct request *request, const char *format, ...)
{
	const struct command *command = request->command;
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!command)
		return fail(STATUS_USAGE, "%s (see 'hbctl help')", text);
	return fail(STATUS_USAGE, "%s: %s (see 'hbctl help %s')", command->name, text,
		    command->name);
}

/* The exit status for an error of a call. */
static enum status status_of(enum hashbelt_call call, int err)
{
	if (call == HASHBELT_CALL_OPEN)
		return STATUS_REACH;
	switch (err) {
	case -EPERM:
	case -ENOENT:
	case -EIDRM:
	case -EACCES:
		return STATUS_REACH;
	case -EEXIST:
		return STATUS_NO;
	default:
		return STATUS_ERROR;
	}
}

/**
 * fail_call() - say why a call of the library failed
 * @request:	the request
 * @call:	the call
 * @err:	negative errno that it returned
 *
 * Return: the exit status for it.
 */
enum status fail_call(const struct request *request, enum hashbelt_call call, int err)
{
	const char *name = call == HASHBELT_CALL_OPEN ? request->device : request->belt;
	char text[4096];

	fail_cause(err);
	return fail(status_of(call, err), "%s",
		    hashbelt_strerror(request->handle, err, call, name, text, sizeof(text)));
}

/**
 * fail_belt() - say why a belt could not do what the command is for
 * @request:	the request
 * @err:	negative errno of the command's call
 *
 * Return: the exit status for it.
 */
enum status fail_belt(const struct request *request, int err)
{
	return fail_call(request, request->command->call, err);
}

/**
 * fail_entry() - say why an operation on a key was not done
 * @request:	the request
 * @err:	negative errno of the operation
 * @key:	the key
 *
 * Return: the exit status for it.
 */
enum status fail_entry(const struct request *request, int err, const struct key *key)
{
	char *text;

	if (err != -ENOENT)
		return fail_belt(request, err);
	text = key_text(key);
	fail_cause(err);
	fail(STATUS_NO, "there is no entry '%s' in belt '%s'", text, request->belt);
	free(text);
	return STATUS_NO;
}

/**
 * key_text() - a key as it can be printed in a line
 * @key:	the key
 *
 * Return: the text, to be freed with free(3). Ends the program if there is no
 * memory.
 */
char *key_text(const struct key *key)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	if (file) {
		escape_print(file, key->bytes, key->len);
		if (fclose(file))
			text = NULL;
	}
	if (!text)
		exit(fail(STATUS_ERROR, "out of memory"));
	return text;
}

/* Most names differ in their first letter. */
static bool is_option(const struct option_spec *spec, const char *name)
{
	return *spec->name == *name && !strcmp(spec->name, name);
}

/* Where the value of an option is kept; the command must have that option. */
static int option_index(const struct request *request, const char *name)
{
	const struct option_spec *spec;
	int index = 0;

	for (spec = common_options; spec->name; spec++, index++)
		if (is_option(spec, name))
			return index;
	for (spec = request->command->options; spec->name; spec++, index++)
		if (is_option(spec, name))
			return index;
	abort();	/* a name that is not in the table */
}

/**
 * request_option() - the value of an option
 * @request:	the request
 * @name:	the option's name, one that the command has
 *
 * Return: its argument; "" for one without; NULL if it was not given.
 */
const char *request_option(const struct request *request, const char *name)
{
	return request->values[option_index(request, name)];
}

/**
 * request_number() - an option that is a number
 * @request:	the request
 * @name:	the option's name
 * @least:	the least number allowed
 * @most:	the largest
 * @number:	returned; left alone if the option was not given
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says the bounds.
 */
enum status request_number(const struct request *request, const char *name,
			   __u64 least, __u64 most, __u64 *number)
{
	const char *text = request_option(request, name);
	__u64 n = 0;
	int err;

	if (!text)
		return STATUS_DONE;
	err = number_parse(text, &n);
	if (err == -EINVAL)
		return fail_usage(request, "--%s: '%s' is not a number", name, text);
	if (err || n < least || n > most)
		return fail_usage(request, "--%s: %s is not from %llu to %llu", name, text,
				  least, most);
	*number = n;
	return STATUS_DONE;
}

/**
 * request_duration() - an option that is a duration
 * @request:	the request
 * @name:	the option's name
 * @words:	words that it may be beside a duration: "", "never", "forever" or
 *		"never|keep"
 * @least:	the least that is allowed, 0 or 1 ms
 * @ms:		returned, milliseconds or HASHBELT_TTL_*; left alone if the option
 *		was not given
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says the bounds.
 */
enum status request_duration(const struct request *request, const char *name,
			     const char *words, __u64 least, __u64 *ms)
{
	const char *text = request_option(request, name);
	__u64 given = 0;
	int err;

	if (!text)
		return STATUS_DONE;
	if ((!strcmp(text, "never") || !strcmp(text, "forever")) && strstr(words, text)) {
		*ms = HASHBELT_TTL_NEVER;
		return STATUS_DONE;
	}
	if (!strcmp(text, "keep") && strstr(words, text)) {
		*ms = HASHBELT_TTL_KEEP;
		return STATUS_DONE;
	}
	err = duration_parse(text, &given);
	if (err == -EINVAL)
		return fail_usage(request,
				  "--%s: '%s' is not a duration as 250ms, 30s or 1h30m",
				  name, text);
	if (err || given < least)
		return fail_usage(request, "--%s: %s is not from %llums to %llums (50903d)",
				  name, text, least, HASHBELT_TTL_MAX_MS);
	*ms = given;
	return STATUS_DONE;
}

/**
 * request_ttl() - the option --ttl
 * @request:	the request
 * @words:	as for request_duration()
 * @ms:		returned, milliseconds or HASHBELT_TTL_*; left alone if the option
 *		was not given
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says the bounds.
 */
enum status request_ttl(const struct request *request, const char *words, __u64 *ms)
{
	return request_duration(request, "ttl", words, 1, ms);
}

/**
 * request_unescape() - undo the escapes of a text, if the option --escaped is given
 * @request:	the request, of a command that has that option
 * @text:	the text, changed in place
 * @len:	returned: its length
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status request_unescape(const struct request *request, char *text, size_t *len)
{
	ssize_t unescaped;

	*len = strlen(text);
	if (!request_option(request, "escaped"))
		return STATUS_DONE;
	unescaped = unescape(text, *len);
	if (unescaped < 0)
		return fail_usage(request, "in '%s' a backslash begins none of \\t \\n \\\\ \\xHH",
				  text);
	*len = unescaped;
	return STATUS_DONE;
}

/**
 * request_key() - an operand that is a key
 * @request:	the request, of a command that has the option --escaped
 * @operand:	which operand
 * @key:	returned
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status request_key(const struct request *request, int operand, struct key *key)
{
	char *text = request->operands[operand];
	enum status status;

	status = request_unescape(request, text, &key->len);
	if (status)
		return status;
	if (!key->len || key->len > HASHBELT_KEY_MAX)
		return fail_usage(request, "a key has 1 to %d bytes, not %zu",
				  HASHBELT_KEY_MAX, key->len);
	key->bytes = text;
	return STATUS_DONE;
}

/**
 * request_keys() - the operands, which are keys
 * @request:	the request, of a command that has the option --escaped
 * @keys:	returned: as many as there are operands, for request_free_keys() also after a
 *		failure
 *
 * Return: STATUS_DONE, or another status after a line that says what is wrong.
 */
enum status request_keys(struct request *request, struct key **keys)
{
	enum status status = STATUS_DONE;
	int i;

	*keys = request->count == 1 ? &request->key : calloc(request->count, sizeof(**keys));
	if (!*keys)
		return fail(STATUS_ERROR, "out of memory");
	for (i = 0; !status && i < request->count; i++)
		status = request_key(request, i, &(*keys)[i]);
	return status;
}

/**
 * request_free_keys() - free the keys of request_keys()
 * @request:	the request
 * @keys:	the keys
 */
void request_free_keys(const struct request *request, struct key *keys)
{
	if (keys != &request->key)
		free(keys);
}

/**
 * request_takes_stdin() - whether standard input has the commands of a batch
 * @batch:	the request of the batch
 *
 * Return: whether.
 */
bool request_takes_stdin(const struct request *batch)
{
	return !batch->count || !strcmp(batch->operands[0], "-");
}

/**
 * request_stdin() - check that a command may read standard input
 * @request:	the request
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says why not.
 */
enum status request_stdin(const struct request *request)
{
	if (!request->batch || !request_takes_stdin(request->batch))
		return STATUS_DONE;
	return fail_usage(request, "standard input has the commands of the batch: name a file");
}

/* The kernel's own rule, told before it is asked. */
static bool is_name(const char *name)
{
	const unsigned char *p;
	size_t len = strlen(name);

	for (p = (const unsigned char *)name; *p; p++)
		if (*p < ' ' || *p == 0x7f || *p == '/')
			return false;
	return len && len < HASHBELT_NAME_SIZE;
}

/**
 * request_belt() - make a belt the one that the request is about
 * @request:	the request
 * @name:	the belt's name
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status request_belt(struct request *request, const char *name)
{
	if (!is_name(name))
		return fail_usage(request,
				  "a belt's name has 1 to %d bytes, without '/' and control characters",
				  HASHBELT_NAME_SIZE - 1);
	request->belt = name;
	return STATUS_DONE;
}

/**
 * request_belt_owner() - read the option --belt-owner
 * @request:	the request; gets its @owned and @owner
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status request_belt_owner(struct request *request)
{
	const char *text = request->values[OPTION_BELT_OWNER];
	enum status status = STATUS_DONE;
	__u64 number = 0;

	if (!text)
		return STATUS_DONE;
	request->owned = true;
	if (*text && !text[strspn(text, "0123456789")]) {
		status = request_number(request, "belt-owner", 0, USER_MAX, &number);
		request->owner = number;
	} else if (account_user(text, &request->owner)) {
		status = fail_usage(request,
				    "--belt-owner: there is no user '%s': a number would do",
				    text);
	}
	return status;
}

/* Waits while the module is reloaded: so many times as long as hashbelt_open() does. */
#define OPEN_TRIES	6

static enum status open_device(struct request *request)
{
	int err = hashbelt_open(request->device, &request->handle), tries;

	if (err == -EUNATCH)
		fail(STATUS_DONE, "%s is closed by 'hbctl reload-module': waiting up to 50 s more",
		     request->device);
	for (tries = 1; err == -EUNATCH && tries < OPEN_TRIES; tries++)
		err = hashbelt_open(request->device, &request->handle);
	return err ? fail_call(request, HASHBELT_CALL_OPEN, err) : STATUS_DONE;
}

/**
 * request_without_owner() - refuse --belt-owner, for a command that opens no belt
 * @request:	the request
 *
 * Return: STATUS_DONE, or STATUS_USAGE after a line that says what is wrong.
 */
enum status request_without_owner(const struct request *request)
{
	if (request->owned)
		return fail_usage(request, "--belt-owner is for commands that use one belt");
	return STATUS_DONE;
}

/**
 * request_open() - open the device, for a command that opens no belt
 * @request:	the request; gets its @handle
 *
 * Such a command does not look at the owner of a belt, and refuses --belt-owner.
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status request_open(struct request *request)
{
	enum status status = request_without_owner(request);

	return status ? status : open_device(request);
}

/**
 * request_bind_again() - bind the request's handle to its belt
 * @request:	the request
 *
 * Return: what hashbelt_bind() returns; -EPERM if the owner is not that of --belt-owner.
 */
int request_bind_again(const struct request *request)
{
	if (request->owned)
		return hashbelt_bind_owned(request->handle, request->belt, request->owner);
	return hashbelt_bind(request->handle, request->belt);
}

/**
 * request_try_bind() - open the device, and try to bind it to the request's belt
 * @request:	the request; gets its @handle
 * @err:	returned: as request_bind_again(), for fail_bind()
 *
 * Return: STATUS_DONE if the device is open, or another status after a line that says why.
 */
enum status request_try_bind(struct request *request, int *err)
{
	enum status status = open_device(request);

	if (!status)
		*err = request_bind_again(request);
	return status;
}

/**
 * fail_bind() - say why a handle was not bound to the request's belt
 * @request:	the request
 * @err:	of request_bind_again()
 *
 * Return: the exit status for it.
 */
enum status fail_bind(const struct request *request, int err)
{
	if (err == -EPERM && request->owned)
		return fail(STATUS_REACH,
			    "belt '%s' is not owned by user '%s' (--belt-owner): 'hbctl belts' shows the owners",
			    request->belt, request->values[OPTION_BELT_OWNER]);
	return fail_call(request, HASHBELT_CALL_BIND, err);
}

/**
 * request_bind() - open the device and bind it to the request's belt
 * @request:	the request; gets its @handle
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status request_bind(struct request *request)
{
	int err;
	enum status status = request_try_bind(request, &err);

	if (status)
		return status;
	return err ? fail_bind(request, err) : STATUS_DONE;
}

/* Where the batch keeps a handle between lines; NULL if the line may not use that one. */
static struct hashbelt **kept_handle(const struct request *request)
{
	const struct request *batch = request->batch;

	if (!batch || request->values[OPTION_DEVICE] != batch->values[OPTION_DEVICE])
		return NULL;
	return batch->kept;
}

/**
 * request_bind_briefly() - bind to the request's belt, and leave nothing at the handle
 * @request:	the request; gets its @handle
 *
 * In a batch, the handle may be that of a line before: it is bound anew, as one that was opened.
 *
 * Return: what request_bind() returns.
 */
enum status request_bind_briefly(struct request *request)
{
	struct hashbelt **kept = kept_handle(request);
	int err;

	request->is_brief = true;
	if (!kept || !*kept)
		return request_bind(request);
	request->handle = *kept;
	*kept = NULL;
	err = request_bind_again(request);
	return err ? fail_bind(request, err) : STATUS_DONE;
}

/**
 * request_close() - close the request's handle, or leave it to the next line of the batch
 * @request:	the request
 */
void request_close(struct request *request)
{
	struct hashbelt **kept = request->is_brief ? kept_handle(request) : NULL;

	if (kept && !*kept)
		*kept = request->handle;
	else
		hashbelt_close(request->handle);
	request->handle = NULL;
}

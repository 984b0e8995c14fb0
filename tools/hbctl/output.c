// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "duration.h"
#include "encoding.h"
#include "output.h"

/**
 * json_add() - add a field of any kind
 * @object:	the object, which is to own @value
 * @name:	name of the field
 * @value:	its value; NULL (no memory) ends the program
 */
void json_add(struct json_object *object, const char *name, struct json_object *value)
{
	if (!value || json_object_object_add(object, name, value))
		exit(fail(STATUS_ERROR, "out of memory"));
}

/**
 * json_add_bytes() - add a string, in base64 if it is not UTF-8
 * @object:	the object
 * @name:	name of the field
 * @bytes:	its bytes; if they are not UTF-8, the name of the field ends in _base64
 * @len:	how many
 */
void json_add_bytes(struct json_object *object, const char *name, const void *bytes,
		    size_t len)
{
	char long_name[64];
	char *text;

	if (is_utf8(bytes, len)) {
		json_add(object, name, json_object_new_string_len(bytes, len));
		return;
	}
	text = base64_encode(bytes, len);
	if (!text)
		exit(fail(STATUS_ERROR, "out of memory"));
	snprintf(long_name, sizeof(long_name), "%s_base64", name);
	json_add(object, long_name, json_object_new_string(text));
	free(text);
}

/**
 * json_add_number() - add a number
 * @object:	the object
 * @name:	name of the field
 * @number:	the number
 */
void json_add_number(struct json_object *object, const char *name, __u64 number)
{
	json_add(object, name, json_object_new_uint64(number));
}

/**
 * json_add_bool() - add true or false
 * @object:	the object
 * @name:	name of the field
 * @value:	which
 */
void json_add_bool(struct json_object *object, const char *name, int value)
{
	json_add(object, name, json_object_new_boolean(!!value));
}

/**
 * json_add_unless() - add a number, or null for one that means there is none
 * @object:	the object
 * @name:	name of the field
 * @number:	the number
 * @none:	the one that becomes null
 */
void json_add_unless(struct json_object *object, const char *name, __u64 number,
		     __u64 none)
{
	if (number == none)
		json_object_object_add(object, name, NULL);
	else
		json_add_number(object, name, number);
}

/**
 * json_add_word() - add a string of ours
 * @object:	the object
 * @name:	name of the field
 * @word:	the string, in ASCII
 */
void json_add_word(struct json_object *object, const char *name, const char *word)
{
	json_add(object, name, json_object_new_string(word));
}

/**
 * json_add_numbers() - add an array of numbers
 * @object:	the object
 * @name:	name of the field
 * @numbers:	the numbers
 * @count:	how many
 */
void json_add_numbers(struct json_object *object, const char *name,
		      const __u64 *numbers, size_t count)
{
	struct json_object *array = json_object_new_array();
	size_t i;

	json_add(object, name, array);
	for (i = 0; i < count; i++)
		if (json_object_array_add(array, json_object_new_uint64(numbers[i])))
			exit(fail(STATUS_ERROR, "out of memory"));
}

/**
 * json_add_ttl() - add the time that an entry has left
 * @object:	the object
 * @ttl_ms:	milliseconds, or HASHBELT_TTL_NEVER, which becomes null
 */
void json_add_ttl(struct json_object *object, __u64 ttl_ms)
{
	json_add_unless(object, "ttl_ms", ttl_ms, HASHBELT_TTL_NEVER);
}

/**
 * json_begin() - begin an object
 *
 * Return: the object, for json_print() or json_write().
 */
struct json_object *json_begin(void)
{
	struct json_object *object = json_object_new_object();

	if (!object)
		exit(fail(STATUS_ERROR, "out of memory"));
	return object;
}

/**
 * json_entry() - begin an object about an entry
 * @key:	its key
 * @key_len:	the key's length
 *
 * Return: the object, for json_print().
 */
struct json_object *json_entry(const void *key, size_t key_len)
{
	struct json_object *object = json_begin();

	json_add_bytes(object, "key", key, key_len);
	return object;
}

/**
 * json_write() - write an object in a line of its own, and free it
 * @file:	where
 * @object:	the object
 */
void json_write(FILE *file, struct json_object *object)
{
	const char *text;

	text = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		exit(fail(STATUS_ERROR, "out of memory"));
	json_text_print(file, text);
	putc('\n', file);
	json_object_put(object);
}

/**
 * json_print() - write an object on standard output, and free it
 * @object:	the object
 */
void json_print(struct json_object *object)
{
	json_write(stdout, object);
}

/**
 * ttl_text() - the time that an entry has left
 * @text:	where, DURATION_SIZE bytes
 * @ttl_ms:	milliseconds, or HASHBELT_TTL_NEVER
 *
 * Return: @text, as --ttl takes it.
 */
const char *ttl_text(char *text, __u64 ttl_ms)
{
	if (ttl_ms == HASHBELT_TTL_NEVER)
		return strcpy(text, "never");
	return duration_format(text, ttl_ms);
}

/**
 * output_begin() - begin to print what the caller must learn
 * @old:	for output_end()
 *
 * A reader that has gone is an error from now on, and does not end the program.
 */
void output_begin(struct sigaction *old)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGPIPE, &ignore, old);
}

/**
 * output_end() - see whether standard output could be written
 * @old:	from output_begin()
 *
 * Return: 0 or a negative errno. The output may have been written in part.
 */
int output_end(const struct sigaction *old)
{
	bool failed = ferror(stdout);
	int err = EIO;

	if (fflush(stdout)) {
		failed = true;
		err = errno;
	}
	sigaction(SIGPIPE, old, NULL);
	return failed ? -err : 0;
}

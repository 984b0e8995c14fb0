// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include <hashbelt/client.h>
#include "encoding.h"
#include "json.h"

/**
 * json_begin() - begin an object
 * @file:	where it is written
 *
 * Return: the object, for json_end().
 */
struct json json_begin(FILE *file)
{
	putc('{', file);
	return (struct json){ .file = file, .separator = "" };
}

/**
 * json_end() - end an object, and its line
 * @object:	the object
 */
void json_end(struct json object)
{
	fputs("}\n", object.file);
}

static void separate(struct json *object)
{
	fputs(object->separator, object->file);
	object->separator = ",";
}

/* The name of a field: letters, digits, '_' and '-'. */
static void add_name(struct json *object, const char *name, const char *suffix)
{
	separate(object);
	fprintf(object->file, "\"%s%s\":", name, suffix);
}

/**
 * json_add_bytes() - add a string, in base64 if it is not UTF-8
 * @object:	the object
 * @name:	name of the field
 * @bytes:	its bytes; if they are not UTF-8, the name of the field ends in _base64
 * @len:	how many
 */
void json_add_bytes(struct json *object, const char *name, const void *bytes, size_t len)
{
	bool is_text = is_utf8(bytes, len);

	add_name(object, name, is_text ? "" : "_base64");
	if (is_text) {
		json_string_print(object->file, bytes, len);
		return;
	}
	putc('"', object->file);
	base64_print(object->file, bytes, len);
	putc('"', object->file);
}

/**
 * json_add_word() - add a string of ours
 * @object:	the object
 * @name:	name of the field
 * @word:	the string, in UTF-8
 */
void json_add_word(struct json *object, const char *name, const char *word)
{
	add_name(object, name, "");
	json_string_print(object->file, word, strlen(word));
}

/**
 * json_add_number() - add a number
 * @object:	the object
 * @name:	name of the field
 * @number:	the number
 */
void json_add_number(struct json *object, const char *name, __u64 number)
{
	add_name(object, name, "");
	fprintf(object->file, "%llu", number);
}

/**
 * json_add_signed() - add a number that may be negative
 * @object:	the object
 * @name:	name of the field
 * @number:	the number
 */
void json_add_signed(struct json *object, const char *name, __s64 number)
{
	add_name(object, name, "");
	fprintf(object->file, "%lld", number);
}

/**
 * json_add_literal() - add a value that is JSON already
 * @object:	the object
 * @name:	name of the field
 * @text:	the value: "null", "true", or a number
 */
void json_add_literal(struct json *object, const char *name, const char *text)
{
	add_name(object, name, "");
	fputs(text, object->file);
}

/**
 * json_add_bool() - add true or false
 * @object:	the object
 * @name:	name of the field
 * @value:	which
 */
void json_add_bool(struct json *object, const char *name, int value)
{
	json_add_literal(object, name, value ? "true" : "false");
}

/**
 * json_add_unless() - add a number, or null for one that means there is none
 * @object:	the object
 * @name:	name of the field
 * @number:	the number
 * @none:	the one that becomes null
 */
void json_add_unless(struct json *object, const char *name, __u64 number, __u64 none)
{
	if (number == none)
		json_add_literal(object, name, "null");
	else
		json_add_number(object, name, number);
}

/**
 * json_add_ttl() - add the time that an entry has left
 * @object:	the object
 * @ttl_ms:	milliseconds, or HASHBELT_TTL_NEVER, which becomes null
 */
void json_add_ttl(struct json *object, __u64 ttl_ms)
{
	json_add_unless(object, "ttl_ms", ttl_ms, HASHBELT_TTL_NEVER);
}

/**
 * json_entry() - begin an object about an entry
 * @key:	its key
 * @key_len:	the key's length
 *
 * Return: the object on standard output, for json_end().
 */
struct json json_entry(const void *key, size_t key_len)
{
	struct json object = json_begin(stdout);

	json_add_bytes(&object, "key", key, key_len);
	return object;
}

/**
 * json_begin_array() - add an array; json_element_word() adds its elements
 * @object:	the object
 * @name:	name of the field
 */
void json_begin_array(struct json *object, const char *name)
{
	add_name(object, name, "");
	putc('[', object->file);
	object->separator = "";
}

/**
 * json_element_word() - add a string of ours to the open array
 * @object:	the object
 * @word:	the string, in UTF-8
 */
void json_element_word(struct json *object, const char *word)
{
	separate(object);
	json_string_print(object->file, word, strlen(word));
}

/**
 * json_end_array() - end the open array
 * @object:	the object
 */
void json_end_array(struct json *object)
{
	putc(']', object->file);
	object->separator = ",";
}

/**
 * json_add_numbers() - add an array of numbers
 * @object:	the object
 * @name:	name of the field
 * @numbers:	the numbers
 * @count:	how many
 */
void json_add_numbers(struct json *object, const char *name, const __u64 *numbers, size_t count)
{
	size_t i;

	json_begin_array(object, name);
	for (i = 0; i < count; i++) {
		separate(object);
		fprintf(object->file, "%llu", numbers[i]);
	}
	json_end_array(object);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The arguments of a step, and its results. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner.h"

static bool member(struct json_object *object, const char *name, struct json_object **value)
{
	return json_object_object_get_ex(object, name, value);
}

static struct json_object *from_hex(const char *text)
{
	size_t len = strlen(text) / 2, i;
	struct json_object *bytes;
	unsigned int byte;
	char *at;

	at = calloc(1, len + 1);
	for (i = 0; i < len; i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) == 1)
			at[i] = byte;
	}
	bytes = json_object_new_string_len(at, len);
	free(at);
	return bytes;
}

static struct json_object *repeated(const char *text, size_t len)
{
	struct json_object *bytes;
	char *at = malloc(len + 1);

	memset(at, *text, len);
	bytes = json_object_new_string_len(at, len);
	free(at);
	return bytes;
}

static bool is_in(struct json_object *numbers, int64_t number)
{
	size_t i;

	for (i = 0; i < json_object_array_length(numbers); i++)
		if (json_object_get_int64(json_object_array_get_idx(numbers, i)) == number)
			return true;
	return false;
}

static int by_bytes(const void *left, const void *right)
{
	struct bytes a = bytes_of(*(struct json_object **)left);
	struct bytes b = bytes_of(*(struct json_object **)right);
	int order = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* PREFIX0, PREFIX1 and so on; with "only" null in the place of the others. */
static struct json_object *numbered(struct json_object *object, const char *prefix, int64_t count)
{
	struct json_object *array = json_object_new_array(), *only = NULL, *sorted;
	char text[128];
	int64_t i;

	member(object, "only", &only);
	for (i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%s%lld", prefix, (long long)i);
		json_object_array_add(array, only && !is_in(only, i) ? NULL :
				      json_object_new_string(text));
	}
	if (member(object, "sorted", &sorted))
		json_object_array_sort(array, by_bytes);
	return array;
}

/* An object that stands for bytes or strings: what it stands for; else NULL. */
static struct json_object *stands_for(struct json_object *object)
{
	struct json_object *what, *count;

	if (json_object_object_length(object) == 1 && member(object, "hex", &what))
		return from_hex(json_object_get_string(what));
	if (member(object, "fill", &what) && member(object, "bytes", &count))
		return repeated(json_object_get_string(what), json_object_get_int64(count));
	if (member(object, "range", &what) && member(object, "count", &count))
		return numbered(object, json_object_get_string(what),
				json_object_get_int64(count));
	return NULL;
}

/**
 * cases_expand() - replace the objects that stand for bytes
 * @value:	a part of a file, which is consumed
 *
 * Return: the same with bytes as strings.
 */
struct json_object *cases_expand(struct json_object *value)
{
	struct json_object *made;
	size_t i;

	if (json_object_is_type(value, json_type_array)) {
		for (i = 0; i < json_object_array_length(value); i++) {
			made = json_object_get(json_object_array_get_idx(value, i));
			json_object_array_put_idx(value, i, cases_expand(made));
		}
		return value;
	}
	if (!json_object_is_type(value, json_type_object))
		return value;
	made = stands_for(value);
	if (made) {
		json_object_put(value);
		return made;
	}
	json_object_object_foreach(value, name, part) {
		made = cases_expand(json_object_get(part));
		if (made == part)
			json_object_put(made);
		else
			json_object_object_add(value, name, made);
	}
	return value;
}

/**
 * resolve() - the value of a variable
 * @run:	the case
 * @value:	any value
 *
 * Return: what was saved if @value is "$NAME", else @value.
 */
struct json_object *resolve(const struct run *run, struct json_object *value)
{
	struct json_object *saved = NULL;
	const char *text;

	if (!json_object_is_type(value, json_type_string))
		return value;
	text = json_object_get_string(value);
	if (*text != '$')
		return value;
	member(run->variables, text + 1, &saved);
	return saved;
}

/**
 * argument() - an argument of a step
 * @step:	the step
 * @name:	its name
 *
 * Return: its value, NULL if the step has none.
 */
struct json_object *argument(const struct step *step, const char *name)
{
	struct json_object *value = NULL;

	member(step->members, name, &value);
	return resolve(step->run, value);
}

/**
 * bytes_of() - the bytes of a string
 * @value:	the string
 *
 * Return: its bytes, as long as the string is there.
 */
struct bytes bytes_of(struct json_object *value)
{
	if (!json_object_is_type(value, json_type_string))
		return (struct bytes){ "", 0 };
	return (struct bytes){
		json_object_get_string(value), json_object_get_string_len(value),
	};
}

/**
 * argument_bytes() - an argument that is bytes
 * @step:	the step
 * @name:	its name
 *
 * Return: its bytes.
 */
struct bytes argument_bytes(const struct step *step, const char *name)
{
	return bytes_of(argument(step, name));
}

/**
 * argument_number() - an argument that is a number
 * @step:	the step
 * @name:	its name
 *
 * Return: the number, 0 if the step has none.
 */
__u64 argument_number(const struct step *step, const char *name)
{
	struct json_object *value = argument(step, name);

	return json_object_get_int64(value) < 0 ? (__u64)json_object_get_int64(value) :
	       json_object_get_uint64(value);
}

/**
 * argument_true() - an argument that is true or false
 * @step:	the step
 * @name:	its name
 *
 * Return: true if the step has it, and it is true.
 */
bool argument_true(const struct step *step, const char *name)
{
	return json_object_get_boolean(argument(step, name));
}

/**
 * time_of() - a time as the library takes it
 * @value:	seconds, or a word; NULL stands for "belt"
 *
 * Return: milliseconds, or HASHBELT_TTL_*.
 */
__u64 time_of(struct json_object *value)
{
	const char *word;

	if (!json_object_is_type(value, json_type_string))
		return llround(json_object_get_double(value) * 1000);
	word = json_object_get_string(value);
	return !strcmp(word, "never") ? HASHBELT_TTL_NEVER :
	       !strcmp(word, "keep") ? HASHBELT_TTL_KEEP : HASHBELT_TTL_BELT;
}

/**
 * argument_ms() - an argument that is a time
 * @step:	the step
 * @name:	its name
 *
 * Return: milliseconds, or HASHBELT_TTL_*.
 */
__u64 argument_ms(const struct step *step, const char *name)
{
	return time_of(argument(step, name));
}

/**
 * add_number() - add a result that is a number
 * @found:	the results
 * @name:	its name
 * @number:	the number
 */
void add_number(struct json_object *found, const char *name, __u64 number)
{
	json_object_object_add(found, name, json_object_new_uint64(number));
}

/**
 * add_bytes() - add a result that is bytes
 * @found:	the results
 * @name:	its name
 * @at:		the bytes
 * @len:	their number
 */
void add_bytes(struct json_object *found, const char *name, const void *at, size_t len)
{
	json_object_object_add(found, name, json_object_new_string_len(at, len));
}

/**
 * add_word() - add a result that is a word
 * @found:	the results
 * @name:	its name
 * @word:	the word
 */
void add_word(struct json_object *found, const char *name, const char *word)
{
	json_object_object_add(found, name, json_object_new_string(word));
}

/**
 * add_bool() - add a result that is true or false
 * @found:	the results
 * @name:	its name
 * @value:	which
 */
void add_bool(struct json_object *found, const char *name, bool value)
{
	json_object_object_add(found, name, json_object_new_boolean(value));
}

/**
 * add_time() - add a result that is a time
 * @found:	the results
 * @name:	its name
 * @ms:		milliseconds, or HASHBELT_TTL_NEVER
 */
void add_time(struct json_object *found, const char *name, __u64 ms)
{
	if (ms == HASHBELT_TTL_NEVER)
		add_word(found, name, "never");
	else
		json_object_object_add(found, name, json_object_new_double(ms / 1000.0));
}

static const char *sorted_by;

static int by_member(const void *left, const void *right)
{
	struct json_object *a = NULL, *b = NULL;

	member(*(struct json_object **)left, sorted_by, &a);
	member(*(struct json_object **)right, sorted_by, &b);
	return by_bytes(&a, &b);
}

/**
 * sort_by() - sort an array by bytes
 * @array:	the array
 * @name:	the member of its elements that is compared; NULL: the elements are bytes
 */
void sort_by(struct json_object *array, const char *name)
{
	sorted_by = name;
	json_object_array_sort(array, name ? by_member : by_bytes);
}

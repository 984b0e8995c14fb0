// SPDX-License-Identifier: GPL-2.0-only
/* The results of a step against those that the case expects. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runner.h"

/* At most so many bytes of a value are shown. */
#define SHOWN		"%.200s"

static bool complain(char *wrong, size_t size, const char *what, struct json_object *wanted,
		     struct json_object *found)
{
	char text[256];

	snprintf(text, sizeof(text), SHOWN, json_object_to_json_string(wanted));
	snprintf(wrong, size, "expected %s%s, found " SHOWN, what, text,
		 json_object_to_json_string(found));
	return false;
}

static bool is_number(struct json_object *value)
{
	return json_object_is_type(value, json_type_int) ||
	       json_object_is_type(value, json_type_double);
}

static bool same_number(struct json_object *wanted, struct json_object *found)
{
	if (json_object_is_type(wanted, json_type_int) && json_object_is_type(found, json_type_int))
		return json_object_equal(wanted, found);
	return fabs(json_object_get_double(wanted) - json_object_get_double(found)) < 0.000001;
}

/* A number that has to be larger than another one. */
static bool compare_above(const struct run *run, struct json_object *least,
			  struct json_object *found, char *wrong, size_t size)
{
	struct json_object *limit = resolve(run, least);

	if (is_number(limit) && is_number(found) &&
	    json_object_get_uint64(found) > json_object_get_uint64(limit))
		return true;
	return complain(wrong, size, "more than ", limit, found);
}

/* Members that are not named may have any value. */
static bool compare_object(const struct run *run, struct json_object *wanted,
			   struct json_object *found, char *wrong, size_t size)
{
	struct json_object *value;

	if (json_object_object_length(wanted) == 1 &&
	    json_object_object_get_ex(wanted, "above", &value))
		return compare_above(run, value, found, wrong, size);
	if (!json_object_is_type(found, json_type_object))
		return complain(wrong, size, "", wanted, found);
	json_object_object_foreach(wanted, name, part) {
		if (!json_object_object_get_ex(found, name, &value))
			return complain(wrong, size, name, NULL, found);
		if (!compare(run, part, value, wrong, size))
			return false;
	}
	return true;
}

static bool compare_array(const struct run *run, struct json_object *wanted,
			  struct json_object *found, char *wrong, size_t size)
{
	size_t i;

	if (!json_object_is_type(found, json_type_array) ||
	    json_object_array_length(found) != json_object_array_length(wanted))
		return complain(wrong, size, "", wanted, found);
	for (i = 0; i < json_object_array_length(wanted); i++)
		if (!compare(run, json_object_array_get_idx(wanted, i),
			     json_object_array_get_idx(found, i), wrong, size))
			return false;
	return true;
}

/**
 * compare() - compare a result with the expected one
 * @run:	the case
 * @wanted:	the result that it expects
 * @found:	the result that the library returned
 * @wrong:	returned: the difference
 * @size:	its size, bytes
 *
 * Return: whether they agree.
 */
bool compare(const struct run *run, struct json_object *wanted, struct json_object *found,
	     char *wrong, size_t size)
{
	bool same;

	if (json_object_is_type(wanted, json_type_object))
		return compare_object(run, wanted, found, wrong, size);
	if (json_object_is_type(wanted, json_type_array))
		return compare_array(run, wanted, found, wrong, size);
	wanted = resolve(run, wanted);
	if (is_number(wanted))
		same = is_number(found) && same_number(wanted, found);
	else
		same = json_object_get_type(wanted) == json_object_get_type(found) &&
		       json_object_equal(wanted, found);
	return same || complain(wrong, size, "", wanted, found);
}

// SPDX-License-Identifier: GPL-2.0-only
/* An entry, for programs as JSON and for people. */
#include "duration.h"
#include "entry.h"

/**
 * entry_object() - an entry without its value, for programs
 * @key:	the key
 * @item:	as an operation that found the entry returned it
 *
 * Return: the object, for json_print().
 */
struct json_object *entry_object(const struct key *key, const struct hashbelt_item *item)
{
	struct json_object *object = json_entry(key->bytes, key->len);

	json_add_number(object, "version", item->version);
	json_add_number(object, "flags", item->flags);
	json_add_ttl(object, item->ttl_ms);
	return object;
}

/**
 * entry_json() - an entry and its value for programs
 * @key:	the key
 * @value:	the value
 * @item:	as a get or a put returned it
 *
 * Return: the object, for json_print().
 */
struct json_object *entry_json(const struct key *key, const struct value *value,
			       const struct hashbelt_item *item)
{
	struct json_object *object = entry_object(key, item);

	json_add_number(object, "value_len", value->len);
	json_add_bytes(object, "value", value->bytes, value->len);
	return object;
}

/**
 * entry_print() - print a value, and with --verbose its version, flags and time left
 * @request:	the request, of get
 * @value:	the value
 * @item:	as a get or a put returned it
 */
void entry_print(const struct request *request, const struct value *value,
		 const struct hashbelt_item *item)
{
	char text[DURATION_SIZE];

	fwrite(value->bytes, 1, value->len, stdout);
	if (request_option(request, "verbose"))
		fprintf(stderr, "version: %llu\nflags: %u\nttl: %s\n", item->version,
			item->flags, ttl_text(text, item->ttl_ms));
}

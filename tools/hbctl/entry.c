// SPDX-License-Identifier: GPL-2.0-only
/* An entry, for programs as JSON and for people. */
#include <stdio.h>
#include <unistd.h>

#include "duration.h"
#include "encoding.h"
#include "entry.h"
#include "output.h"

/**
 * entry_object() - an entry without its value, for programs
 * @key:	the key
 * @item:	as an operation that found the entry returned it
 *
 * Return: the object, for json_end().
 */
struct json entry_object(const struct key *key, const struct hashbelt_item *item)
{
	struct json object = json_entry(key->bytes, key->len);

	json_add_number(&object, "version", item->version);
	json_add_number(&object, "flags", item->flags);
	json_add_ttl(&object, item->ttl_ms);
	return object;
}

/**
 * entry_json() - an entry and its value for programs
 * @key:	the key
 * @value:	the value
 * @item:	as a get or a put returned it; NULL: the value is in no entry
 *
 * Return: the object, for json_end().
 */
struct json entry_json(const struct key *key, const struct value *value,
		       const struct hashbelt_item *item)
{
	struct json object;

	object = item ? entry_object(key, item) : json_entry(key->bytes, key->len);
	json_add_number(&object, "value_len", value->len);
	json_add_bytes(&object, "value", value->bytes, value->len);
	return object;
}

/**
 * entry_print() - print a value, and with --verbose its version, flags and time left; on a
 *		   terminal end the line
 * @request:	the request, of get
 * @value:	the value
 * @item:	as a get or a put returned it; NULL: the value is in no entry
 */
void entry_print(const struct request *request, const struct value *value,
		 const struct hashbelt_item *item)
{
	char text[DURATION_SIZE];

	output_is_short(request, value->len + 1);
	fwrite(value->bytes, 1, value->len, stdout);
	/* The shell's prompt would stand behind the value. */
	if (isatty(STDOUT_FILENO) && (!value->len || value->bytes[value->len - 1] != '\n'))
		putchar('\n');
	if (item && request_option(request, "verbose"))
		fprintf(stderr, "version: %llu\nflags: %u\nttl: %s\n", item->version,
			item->flags, ttl_text(text, item->ttl_ms));
}

/**
 * entry_print_line() - print an entry among others: KEY<TAB>VALUE, escaped; or as JSON
 * @request:	the request
 * @key:	the key
 * @value:	the value
 * @item:	as a get returned it
 */
void entry_print_line(const struct request *request, const struct key *key,
		      const struct value *value, const struct hashbelt_item *item)
{
	if (request->json) {
		json_end(entry_json(key, value, item));
		return;
	}
	escape_print(stdout, key->bytes, key->len);
	putchar('\t');
	escape_print(stdout, value->bytes, value->len);
	putchar('\n');
}

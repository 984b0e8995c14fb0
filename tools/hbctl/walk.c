// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "encoding.h"
#include "json.h"
#include "walk.h"

/**
 * record_has_prefix() - whether the key of an entry begins with a prefix
 * @record:	the entry
 * @prefix:	the prefix; of length 0 for any key
 *
 * Return: whether it does.
 */
bool record_has_prefix(const struct hashbelt_record *record, const struct key *prefix)
{
	return record->key_len >= prefix->len &&
	       !memcmp(hashbelt_record_key(record), prefix->bytes, prefix->len);
}

/**
 * walk() - visit the entries of the request's belt
 * @request:	the request, bound to the belt
 * @prefix:	of the keys whose entries are visited; of length 0 for all
 * @output:	where @visit writes; a failed write ends the walk without an error, which the
 *		caller reports
 * @visit:	called for each
 * @arg:	its last argument
 *
 * Return: STATUS_DONE, or another status after a line that says why.
 */
enum status walk(struct request *request, const struct key *prefix, FILE *output,
		 visit_function *visit, void *arg)
{
	const struct hashbelt_record *record;
	struct hashbelt_scanner *scanner;
	int more, err;

	err = hashbelt_scan_begin(request->handle, &scanner);
	if (err)
		return fail_belt(request, err);
	while ((more = hashbelt_scan_next(scanner, &record)) > 0) {
		if (!record_has_prefix(record, prefix))
			continue;
		err = visit(request, record, arg);
		if (err || ferror(output))
			break;
	}
	if (more < 0)
		err = more;
	hashbelt_scan_end(scanner);
	return err ? fail_belt(request, err) : STATUS_DONE;
}

/**
 * record_print() - print the key of an entry, escaped, in a line; as JSON with all but the value
 * @request:	the request
 * @record:	the entry
 */
void record_print(const struct request *request, const struct hashbelt_record *record)
{
	const void *key = hashbelt_record_key(record);
	struct json object;

	if (!request->json) {
		escape_print(stdout, key, record->key_len);
		putchar('\n');
		return;
	}
	object = json_entry(key, record->key_len);
	json_add_number(&object, "version", record->version);
	json_add_number(&object, "flags", record->flags);
	json_add_ttl(&object, record->ttl_ms);
	json_add_number(&object, "value_len", record->value_len);
	json_end(object);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* An entry, for programs as JSON and for people. */
#ifndef HBCTL_ENTRY_H
#define HBCTL_ENTRY_H

#include "command.h"
#include "json.h"

struct json entry_object(const struct key *key, const struct hashbelt_item *item);
struct json entry_json(const struct key *key, const struct value *value,
		       const struct hashbelt_item *item);
void entry_print(const struct request *request, const struct value *value,
		 const struct hashbelt_item *item);
void entry_print_line(const struct request *request, const struct key *key,
		      const struct value *value, const struct hashbelt_item *item);

#endif /* HBCTL_ENTRY_H */

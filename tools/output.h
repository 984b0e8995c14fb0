/* SPDX-License-Identifier: GPL-2.0 */
/* What hbctl prints: JSON for programs, lines and tables for people. */
#ifndef HBCTL_OUTPUT_H
#define HBCTL_OUTPUT_H

#include <json-c/json.h>
#include <stddef.h>

#include "client.h"

void json_add_bytes(struct json_object *object, const char *name, const void *bytes,
		    size_t len);
void json_add_number(struct json_object *object, const char *name, __u64 number);
void json_add_bool(struct json_object *object, const char *name, int value);
void json_add_ttl(struct json_object *object, __u64 ttl_ms);
struct json_object *json_entry(const void *key, size_t key_len);
void json_print(struct json_object *object);

const char *ttl_text(char *text, __u64 ttl_ms);
void info_print(const struct hashbelt_info *info);
void info_print_json(const struct hashbelt_info *info);
void info_print_table(const struct hashbelt_info *infos, size_t count);

#endif /* HBCTL_OUTPUT_H */

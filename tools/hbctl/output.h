/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON, an object in a line, and the time that an entry has left. */
#ifndef HBCTL_OUTPUT_H
#define HBCTL_OUTPUT_H

#include <json-c/json.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>

#include <hashbelt/client.h>

struct json_object *json_begin(void);
struct json_object *json_entry(const void *key, size_t key_len);
void json_add(struct json_object *object, const char *name, struct json_object *value);
void json_add_bytes(struct json_object *object, const char *name, const void *bytes,
		    size_t len);
void json_add_word(struct json_object *object, const char *name, const char *word);
void json_add_number(struct json_object *object, const char *name, __u64 number);
void json_add_unless(struct json_object *object, const char *name, __u64 number,
		     __u64 none);
void json_add_numbers(struct json_object *object, const char *name,
		      const __u64 *numbers, size_t count);
void json_add_bool(struct json_object *object, const char *name, int value);
void json_add_ttl(struct json_object *object, __u64 ttl_ms);
void json_write(FILE *file, struct json_object *object);
void json_print(struct json_object *object);

void output_begin(struct sigaction *old);
int output_end(const struct sigaction *old);
const char *ttl_text(char *text, __u64 ttl_ms);

#endif /* HBCTL_OUTPUT_H */

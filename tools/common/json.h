/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON: objects in a line each, whose fields are written as they are added. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <linux/types.h>

/**
 * struct json - an object that is being written
 * @file:	where
 * @separator:	stands before the next field, or before the next element of the open array
 */
struct json {
	FILE *file;
	const char *separator;
};

struct json json_begin(FILE *file);
struct json json_entry(const void *key, size_t key_len);
void json_end(struct json object);
void json_add_bytes(struct json *object, const char *name, const void *bytes, size_t len);
void json_add_word(struct json *object, const char *name, const char *word);
void json_add_number(struct json *object, const char *name, __u64 number);
void json_add_signed(struct json *object, const char *name, __s64 number);
void json_add_literal(struct json *object, const char *name, const char *text);
void json_add_unless(struct json *object, const char *name, __u64 number, __u64 none);
void json_add_numbers(struct json *object, const char *name, const __u64 *numbers, size_t count);
void json_add_bool(struct json *object, const char *name, int value);
void json_add_ttl(struct json *object, __u64 ttl_ms);
void json_begin_array(struct json *object, const char *name);
void json_element_word(struct json *object, const char *word);
void json_end_array(struct json *object);

#endif /* COMMON_JSON_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as text: escaped for lines with tabs, as base64, or as they are. */
#ifndef COMMON_ENCODING_H
#define COMMON_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

void escape_print(FILE *file, const void *bytes, size_t len);
void json_string_print(FILE *file, const void *bytes, size_t len);
void mask_controls(char *text);
ssize_t unescape(char *text, size_t len);
bool is_utf8(const void *bytes, size_t len);
void base64_print(FILE *file, const void *bytes, size_t len);

#endif /* COMMON_ENCODING_H */

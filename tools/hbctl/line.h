/* SPDX-License-Identifier: GPL-2.0-only */
/* A line of a dump: an entry as text. */
#ifndef HBCTL_LINE_H
#define HBCTL_LINE_H

#include <stdbool.h>
#include <stdio.h>

#include <hashbelt/client.h>
#include "value.h"

/*
 * The length of the longest line that hbctl reads, and that is in a file which it has written: each
 * byte of a key and of a value in four, as \xHH in a dump or '\'' in a batch, and the words
 * beside them: a command and its options, or tabs, a deadline and flags.
 */
#define LINE_MAX_BYTES	(4 * (HASHBELT_KEY_MAX + HASHBELT_VALUE_MAX) + 4096)

/* Begins a line of settings in a dump. A line of an entry has a tab, this one has none. */
#define SETTINGS_MARK	"#settings"

/* Begins the last line of a file of save. It has no tab, either. */
#define SAVED_MARK	"#saved "

/**
 * struct line_clock - the clock to which deadlines in lines relate
 * @floor:	the earliest time that it shows, milliseconds since 1970
 * @stands:	it shows @floor only
 */
struct line_clock {
	__u64 floor;
	bool stands;
};

__u64 wall_ms(void);
__u64 line_now(const struct line_clock *clock);
void line_print(FILE *file, const struct hashbelt_record *record, const struct value *value,
		const struct hashbelt_item *item, __u64 now);
const char *line_parse(char *line, size_t left, const struct line_clock *clock,
		       struct hashbelt_item *item);
bool line_is(const char *text, size_t len, const char *mark);

#endif /* HBCTL_LINE_H */

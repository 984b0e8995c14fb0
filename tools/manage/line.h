/* SPDX-License-Identifier: GPL-2.0-only */
/* A line of a dump: an entry as text. */
#ifndef MANAGE_LINE_H
#define MANAGE_LINE_H

#include <stdbool.h>
#include <stdio.h>

#include <hashbelt/client.h>
#include "command.h"

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

#endif /* MANAGE_LINE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Puts the entries that lines describe. */
#ifndef MANAGE_LOAD_H
#define MANAGE_LOAD_H

#include "command.h"
#include "line.h"
#include "progress.h"
#include "text_line.h"

/* Lines that are put in one call. */
#define LOAD_BATCH	256

/**
 * struct load - a load that goes on
 * @request:	the request
 * @file:	where lines come from
 * @name:	its name
 * @how:	of the puts: 0 or HASHBELT_IF_ABSENT
 * @clock:	the clock to which deadlines relate
 * @read:	bytes read
 * @number:	of the line read last
 * @count:	lines that wait to be put
 * @bytes:	their length
 * @loaded:	entries put
 * @kept:	entries not put, because the belt keeps present entries
 * @expired:	entries not put, because their deadline has passed
 * @refused:	entries not put, because there was no room
 * @first:	the number of the first line that was refused
 * @why:	why it was, as a sentence
 * @cause:	the same as an errno
 * @progress:	by the bytes that were read
 * @lines:	the lines that wait, unescaped in place, and the one that was read last
 * @numbers:	their numbers
 * @items:	their items
 */
struct load {
	struct request *request;
	FILE *file;
	const char *name;
	__u32 how;
	struct line_clock clock;
	__u64 read;
	unsigned long number;
	unsigned int count;
	size_t bytes;
	__u64 loaded;
	__u64 kept;
	__u64 expired;
	__u64 refused;
	unsigned long first;
	char why[HASHBELT_ERROR_SIZE];
	int cause;
	struct progress progress;
	struct text_line lines[LOAD_BATCH];
	unsigned long numbers[LOAD_BATCH];
	struct hashbelt_item items[LOAD_BATCH];
};

enum text_line_end load_read(struct load *load);
enum status load_lines(struct load *load, enum text_line_end end);
enum status load_refused(const struct load *load, enum status status);
void load_free(struct load *load);

#endif /* MANAGE_LOAD_H */

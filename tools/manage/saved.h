/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Belts in files: as dump --settings --absolute prints them, with a last line that says what the
 * file is and ends in the checksum of all bytes before it:
 *
 *	#saved 1 TIME ENTRIES OWNER running|halted BOOT BELT CHECKSUM
 *
 * A file is named after its belt, and appears in its directory as a whole or not at all.
 */
#ifndef MANAGE_SAVED_H
#define MANAGE_SAVED_H

#include "load.h"

/* The end of a file's name, behind that of the belt. */
#define SAVED_SUFFIX	".belt"

/**
 * struct saved_directory - a directory of saved belts
 * @path:	its path, for messages
 * @fd:		its descriptor
 * @keeps:	a file that was not loaded whole keeps its name, and is tried again
 */
struct saved_directory {
	const char *path;
	int fd;
	bool keeps;
};

/**
 * struct saved - a file that has a belt, and is whole
 * @file:	the file; NULL: there is none, or it was set aside
 * @path:	its path, for messages
 * @time_ms:	the clock at its end, or when the belt had been halted
 * @entries:	number of entries
 * @owner:	the belt's owner
 * @halted:	belt time stood still
 * @this_boot:	it was written since the machine was booted
 */
struct saved {
	FILE *file;
	char *path;
	__u64 time_ms;
	__u64 entries;
	uid_t owner;
	bool halted;
	bool this_boot;
};

/**
 * struct saved_counts - the entries of a file after saved_load()
 * @loaded:	put
 * @kept:	not put: the belt had newer ones
 * @expired:	not put: their deadline had passed
 * @refused:	not put: there was no room
 */
struct saved_counts {
	__u64 loaded;
	__u64 kept;
	__u64 expired;
	__u64 refused;
};

enum status saved_begin(struct saved_directory *directory, const char *path);
enum status saved_write(struct request *request, const struct saved_directory *directory,
			const struct hashbelt_info *info, __u64 *entries);
enum status saved_remove(const struct saved_directory *directory, const char *name);
enum status saved_open(const struct saved_directory *directory, const char *name,
		       struct saved *saved);
enum status saved_load(struct request *request, const struct saved_directory *directory,
		       struct saved *saved, struct saved_counts *counts);
void saved_close(struct saved *saved);

#endif /* MANAGE_SAVED_H */

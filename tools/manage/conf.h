/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that describe belts: hbctl-apply(5). */
#ifndef MANAGE_CONF_H
#define MANAGE_CONF_H

#include "settings.h"

/**
 * struct conf_belt - a belt, as a file describes it
 * @name:	its name
 * @file:	the file
 * @line:	the line with its name
 * @values:	its settings as they are written, in the order of settings_options; NULL for one
 *		that the file does not name
 * @settings:	the same
 * @saves:	its entries are saved. The kernel knows nothing of this
 * @save_is_given: the file says whether
 */
struct conf_belt {
	char name[HASHBELT_NAME_SIZE];
	char *file;
	unsigned long line;
	char *values[SETTINGS_COUNT];
	struct settings settings;
	bool saves;
	bool save_is_given;
};

/**
 * struct conf - the belts that some files describe; begins with zeros
 * @belts:	the belts, in the order of the files
 * @count:	their number
 * @room:	belts that there is memory for
 */
struct conf {
	struct conf_belt *belts;
	size_t count;
	size_t room;
};

enum status conf_read(struct request *request, const char *path, struct conf *conf);
enum status conf_read_all(struct request *request, int first, struct conf *conf);
void conf_free(struct conf *conf);

#endif /* MANAGE_CONF_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* The installation of the module for the running kernel, of the udev rule, and of the units. */
#ifndef MANAGE_INSTALL_H
#define MANAGE_INSTALL_H

#include <stdbool.h>
#include <stddef.h>

/* Another root directory, for tests. */
#define INSTALL_ROOT_VARIABLE	"HBCTL_DOCTOR_ROOT"

/* The file of the udev rule. */
#define INSTALL_RULE	"60-hashbelt.rules"

/* Space for the path of a file of rules. */
#define INSTALL_PATH_SIZE	256

/* Space for the name of a group. */
#define INSTALL_GROUP_SIZE	64

/**
 * struct install_rule - the group that a udev rule gives the device
 * @path:	the file
 * @group:	its name or number; empty: no line of the file sets one
 */
struct install_rule {
	char path[INSTALL_PATH_SIZE];
	char group[INSTALL_GROUP_SIZE];
};

bool install_has_module(void);
bool install_has_sources(void);
bool install_is_loaded_at_boot(void);
void install_why_no_module(char *text, size_t size);
bool install_find_rule(struct install_rule *rule);
unsigned int install_system_gid_max(void);
bool install_has_unit(const char *unit);
size_t install_list_units(const char *unit, char *text, size_t size);

#endif /* MANAGE_INSTALL_H */

// SPDX-License-Identifier: GPL-2.0-only
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "array_size.h"
#include "install.h"

/* The sources for DKMS: the part of their path before the version. */
#define SOURCES		"/usr/src/hashbelt-"

/* The largest number of a system group where /etc/login.defs does not set another. */
#define SYSTEM_GID_MAX	999

/* The first kernel that the module is for. */
#define KERNEL_MAJOR	5
#define KERNEL_MINOR	10

/* Makes a path below the root directory. */
__attribute__((format(printf, 2, 3)))
static void make_path(char path[INSTALL_PATH_SIZE], const char *format, ...)
{
	const char *root = getenv(INSTALL_ROOT_VARIABLE);
	va_list args;
	int len;

	len = snprintf(path, INSTALL_PATH_SIZE, "%s", root ? root : "");
	if (len >= INSTALL_PATH_SIZE)
		return;
	va_start(args, format);
	vsnprintf(path + len, INSTALL_PATH_SIZE - len, format, args);
	va_end(args);
}

static bool exists(const char *format, const char *name)
{
	char path[INSTALL_PATH_SIZE];

	make_path(path, format, name);
	return !access(path, F_OK);
}

/**
 * install_has_module() - whether modprobe finds the module for the running kernel
 *
 * Return: whether depmod has listed it.
 */
bool install_has_module(void)
{
	char path[INSTALL_PATH_SIZE], line[4096];
	struct utsname name;
	bool found = false;
	FILE *file;

	uname(&name);
	make_path(path, "/lib/modules/%s/modules.dep", name.release);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, ":")] = '\0';
		found = strstr(line, "/hashbelt.ko");
	}
	if (file)
		fclose(file);
	return found;
}

/* Finds the version of the sources for DKMS, the last one if there are several. */
static bool find_sources(char version[INSTALL_PATH_SIZE])
{
	char pattern[INSTALL_PATH_SIZE];
	glob_t found = { 0 };
	const char *name;

	*version = '\0';
	make_path(pattern, SOURCES "*/dkms.conf");
	if (!glob(pattern, 0, NULL, &found)) {
		/* The last one by its name. The path of another root may have been cut. */
		name = strstr(found.gl_pathv[found.gl_pathc - 1], SOURCES);
		if (name) {
			name += strlen(SOURCES);
			snprintf(version, INSTALL_PATH_SIZE, "%.*s", (int)strcspn(name, "/"), name);
		}
	}
	globfree(&found);
	return *version;
}

/**
 * install_has_sources() - whether the sources for DKMS are installed
 *
 * Return: true if they are where the package hashbelt-dkms or "make install-dkms" installs them.
 */
bool install_has_sources(void)
{
	char version[INSTALL_PATH_SIZE];

	return find_sources(version);
}

/**
 * install_is_loaded_at_boot() - whether systemd loads the module at boot
 *
 * Return: whether there is a file that says so.
 */
bool install_is_loaded_at_boot(void)
{
	return exists("%s", "/etc/modules-load.d/hashbelt.conf") ||
	       exists("%s", "/run/modules-load.d/hashbelt.conf") ||
	       exists("%s", "/usr/lib/modules-load.d/hashbelt.conf");
}

/**
 * install_why_no_module() - say why there is no module for the running kernel, and what to do
 * @text:	returned
 * @size:	its room
 *
 * The first reason in the order in which DKMS needs things: the others may be results of it.
 */
void install_why_no_module(char *text, size_t size)
{
	bool debian = exists("%s", "/usr/bin/apt-get");
	char version[INSTALL_PATH_SIZE], log[INSTALL_PATH_SIZE];
	unsigned int major = 0, minor = 0;
	struct utsname name;

	uname(&name);
	if (sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	    (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR))) {
		snprintf(text, size, "Linux %s is too old: it needs Linux %u.%u or later",
			 name.release, KERNEL_MAJOR, KERNEL_MINOR);
		return;
	}
	if (!find_sources(version)) {
		snprintf(text, size,
			 "there is none for Linux %s: install the package hashbelt-dkms, or run 'make install' in its sources",
			 name.release);
		return;
	}
	if (!exists("%s", "/usr/sbin/dkms") && !exists("%s", "/usr/bin/dkms")) {
		snprintf(text, size,
			 "DKMS, which builds it, is missing: '%s install dkms && modprobe hashbelt'",
			 debian ? "apt" : "dnf");
		return;
	}
	if (!exists("/lib/modules/%s/build/Makefile", name.release)) {
		snprintf(text, size,
			 "the headers of Linux %s are missing, so DKMS could not build it: '%s-%s && dkms autoinstall && modprobe hashbelt'",
			 name.release,
			 debian ? "apt install linux-headers" : "dnf install kernel-devel",
			 name.release);
		return;
	}
	make_path(log, "/var/lib/dkms/hashbelt/%s/build/make.log", version);
	if (!access(log, F_OK))
		snprintf(text, size,
			 "DKMS could not build it for Linux %s, and %s says why: 'dkms install hashbelt/%s' tries again",
			 name.release, log, version);
	else
		snprintf(text, size,
			 "DKMS has not built it for Linux %s: 'dkms install hashbelt/%s && modprobe hashbelt'",
			 name.release, version);
}

/* Looks for the group in a line of rules for the device. Return: whether it is such a line. */
static bool read_rule(const char *line, char group[INSTALL_GROUP_SIZE])
{
	const char *value;

	while (*line == ' ' || *line == '\t')
		line++;
	if (*line == '#' || !strstr(line, "KERNEL==\"hashbelt\""))
		return false;
	value = strstr(line, "GROUP");
	value = value ? strchr(value, '"') : NULL;
	if (value)
		snprintf(group, INSTALL_GROUP_SIZE, "%.*s", (int)strcspn(value + 1, "\""),
			 value + 1);
	return true;
}

/* Reads a file of rules. Return: whether it has a line for the device. */
static bool read_rules(struct install_rule *rule, const char *path)
{
	FILE *file = fopen(path, "re");
	struct install_rule read = { };
	bool found = false;
	char line[1024];

	while (file && fgets(line, sizeof(line), file))
		found |= read_rule(line, read.group);
	if (file)
		fclose(file);
	snprintf(read.path, sizeof(read.path), "%s", path);
	if (found)
		*rule = read;
	return found;
}

/**
 * install_find_rule() - find the udev rule that gives the device its group
 * @rule:	returned
 *
 * A file INSTALL_RULE of a directory is in the place of those of later directories. A file of
 * another name in /etc, where a machine's own rules are, adds to them, and udev reads it after them
 * if its name is later.
 *
 * Return: whether there is one.
 */
bool install_find_rule(struct install_rule *rule)
{
	static const char * const directories[] = { "/etc", "/run", "/usr/lib", "/lib" };
	char pattern[INSTALL_PATH_SIZE];
	struct install_rule other;
	glob_t locals = { 0 };
	const char *name;
	bool found = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(directories) && !found; i++) {
		make_path(pattern, "%s/udev/rules.d/" INSTALL_RULE, directories[i]);
		if (access(pattern, F_OK))
			continue;
		found = read_rules(rule, pattern);
		break;
	}
	make_path(pattern, "/etc/udev/rules.d/*.rules");
	glob(pattern, 0, NULL, &locals);
	for (i = 0; i < locals.gl_pathc; i++) {
		name = strrchr(locals.gl_pathv[i], '/') + 1;
		if (strcmp(name, INSTALL_RULE) > 0 && read_rules(&other, locals.gl_pathv[i]) &&
		    (*other.group || !found)) {
			*rule = other;
			found = true;
		}
	}
	globfree(&locals);
	return found;
}

/**
 * install_system_gid_max() - the largest number of a system group
 *
 * Return: the number that systemd takes.
 */
unsigned int install_system_gid_max(void)
{
	unsigned int most = SYSTEM_GID_MAX;
	char path[INSTALL_PATH_SIZE], line[256];
	FILE *file;

	make_path(path, "/etc/login.defs");
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, " SYS_GID_MAX %u", &most);
	if (file)
		fclose(file);
	return most;
}

/**
 * install_has_unit() - whether there is a unit of systemd that has instances
 * @unit:	its name before the "@"
 *
 * Return: true if it is where a package, "make install" or an administrator puts it.
 */
bool install_has_unit(const char *unit)
{
	return exists("/etc/systemd/system/%s@.service", unit) ||
	       exists("/usr/lib/systemd/system/%s@.service", unit);
}

/**
 * install_list_units() - list the instances of a unit that are enabled
 * @unit:	its name before the "@", with wildcards of glob(7)
 * @text:	returned, with ", " between them
 * @size:	its room
 *
 * Return: their number.
 */
size_t install_list_units(const char *unit, char *text, size_t size)
{
	char pattern[INSTALL_PATH_SIZE];
	size_t count = 0, len = 0, i;
	glob_t found = { 0 };
	const char *name;

	*text = '\0';
	make_path(pattern, "/etc/systemd/system/multi-user.target.wants/%s@*.service", unit);
	glob(pattern, 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++) {
		name = strrchr(found.gl_pathv[i], '/') + 1;
		if (len < size)
			len += snprintf(text + len, size - len, "%s%.*s", count ? ", " : "",
					(int)(strlen(name) - strlen(".service")), name);
		count++;
	}
	globfree(&found);
	return count;
}

// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "manage.h"
#include "place.h"

#define OBJECT	"hbctl-manage.so"

/* Where the object is, seen from the directory of the program: installed, and in the build. */
static const char * const places[] = { "../lib/hashbelt/" OBJECT, OBJECT };

static enum status find_object(char path[PATH_MAX])
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		err = place_beside(path, places[i]);
		if (err)
			return fail(STATUS_ERROR, "cannot read /proc/self/exe: %s", strerror(-err));
		if (!access(path, R_OK))
			return STATUS_DONE;
	}
	place_beside(path, places[0]);
	return STATUS_DONE;
}

/**
 * manage_load() - load the object, unless that was done
 *
 * Return: its interface, which stays; NULL after a line that says why there is none.
 */
const struct manage *manage_load(void)
{
	static const struct manage *loaded;
	const struct manage *manage;
	char path[PATH_MAX];
	void *object;

	if (loaded || find_object(path))
		return loaded;
	object = dlopen(path, RTLD_LAZY);
	manage = object ? dlsym(object, "hbctl_manage") : NULL;
	if (!manage)
		fail(STATUS_ERROR, "%s: install hbctl again", dlerror());
	else if (strcmp(manage->version, VERSION))
		fail(STATUS_ERROR,
		     "%s is of version %s, and hbctl of version %s: install hbctl again",
		     path, manage->version, VERSION);
	else
		loaded = manage;
	return loaded;
}

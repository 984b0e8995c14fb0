// SPDX-License-Identifier: GPL-2.0-only
/*
 * Locks in a store: hbctl becomes the program hbctl-store, which is hbctl with a client of
 * PostgreSQL in the place of this file. So hbctl itself links no such client.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lock.h"
#include "place.h"

#define STORE_PROGRAM	"hbctl-store"

/**
 * lock_store_open() - continue as the store program, with the same arguments
 * @request:	the request
 * @spec:	ignored: the store program makes its own from the arguments
 * @place:	left alone
 *
 * Context: before anything was opened or printed.
 *
 * Return: only if the store program cannot be run, STATUS_REACH.
 */
enum status lock_store_open(struct request *request, const struct store_spec *spec,
			    struct lock_place **place)
{
	char path[PATH_MAX];
	int err = place_beside(path, STORE_PROGRAM);

	(void)spec;
	(void)place;
	/* The other lines of the batch would be lost. */
	if (request->batch)
		return fail(STATUS_REACH,
			    "--store: run the batch with 'hbctl-store batch', or the command alone");
	if (err)
		return fail(STATUS_REACH, "--store: cannot read /proc/self/exe: %s",
			    strerror(-err));
	execv(path, request->arguments);
	if (errno == ENOENT)
		return fail(STATUS_REACH,
			    "--store: %s is missing: install " STORE_PROGRAM
			    ", or install libpq-dev and build hbctl again", path);
	return fail(STATUS_REACH, "--store: cannot run %s: %s", path, strerror(errno));
}

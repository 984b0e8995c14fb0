// SPDX-License-Identifier: GPL-2.0
/* Takes the place of lock_store.c where there is no libpq. */
#include "lock.h"

/**
 * lock_store_open() - say that there are no stores
 * @request:	the request
 * @spec:	the table
 * @place:	left alone
 *
 * Return: STATUS_REACH.
 */
enum status lock_store_open(struct request *request, const struct store_spec *spec,
			    struct lock_place **place)
{
	(void)request;
	(void)spec;
	(void)place;
	return fail(STATUS_REACH,
		    "--store: this hbctl was built without libpq: install libpq-dev and build it again");
}

/**
 * lock_store_create() - never called: there is no place
 * @place:	a place
 *
 * Return: STATUS_REACH.
 */
enum status lock_store_create(struct lock_place *place)
{
	(void)place;
	return STATUS_REACH;
}

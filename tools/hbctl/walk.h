/* SPDX-License-Identifier: GPL-2.0-only */
/* A walk over the entries of a belt. */
#ifndef HBCTL_WALK_H
#define HBCTL_WALK_H

#include <stdio.h>

#include "command.h"

/* Is called for an entry. Return: 0, or a negative errno that ends the walk. */
typedef int visit_function(struct request *request, const struct hashbelt_record *record,
			   void *arg);

enum status walk(struct request *request, const struct key *prefix, FILE *output,
		 visit_function *visit, void *arg);
bool record_has_prefix(const struct hashbelt_record *record, const struct key *prefix);
void record_print(const struct request *request, const struct hashbelt_record *record);

#endif /* HBCTL_WALK_H */

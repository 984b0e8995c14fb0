/* SPDX-License-Identifier: GPL-2.0-only */
/* One form for the texts of scripts that mean the same. Pure. */
#ifndef HBSERVE_FORM_H
#define HBSERVE_FORM_H

#include <stdbool.h>

#include "parsed.h"

/* Bytes of a form, with the zero at its end: a longer one is that of no known script. */
#define FORM_SIZE	320

bool form_of(const struct word *text, char *form);

#endif /* HBSERVE_FORM_H */

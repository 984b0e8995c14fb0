/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HASHBELT_ARRAY_SIZE_H
#define HASHBELT_ARRAY_SIZE_H

/* The number of the elements of an array, which must not be a pointer. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

#endif /* HASHBELT_ARRAY_SIZE_H */

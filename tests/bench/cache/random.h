/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _RANDOM_H
#define _RANDOM_H

#include <stdint.h>

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection. */
static inline uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* The next number of the sequence that begins with *@state. */
static inline uint64_t random_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ull;
	return mix(*state);
}

/* From 0 up to 1, which is not reached. */
static inline double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) / (1ull << 53);
}

#endif /* _RANDOM_H */

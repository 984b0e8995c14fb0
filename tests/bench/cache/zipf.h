/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers from 0 on whose probabilities are as 1, 1/2^alpha, 1/3^alpha and so on. */
#ifndef _ZIPF_H
#define _ZIPF_H

#include <stdint.h>

struct zipf {
	double *sums;
	uint32_t count;
};

struct zipf zipf_make(uint32_t count, double alpha);
uint32_t zipf_draw(const struct zipf *zipf, uint64_t *seed);
void zipf_free(struct zipf *zipf);

#endif /* _ZIPF_H */

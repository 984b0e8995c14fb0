// SPDX-License-Identifier: GPL-2.0-only
#include <math.h>
#include <stdlib.h>

#include "random.h"
#include "trace.h"
#include "zipf.h"

struct zipf zipf_make(uint32_t count, double alpha)
{
	struct zipf zipf = { zalloc(count, sizeof(double)), count };
	double sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		sum += pow(i + 1, -alpha);
		zipf.sums[i] = sum;
	}
	return zipf;
}

uint32_t zipf_draw(const struct zipf *zipf, uint64_t *seed)
{
	double at = random_unit(seed) * zipf->sums[zipf->count - 1];
	uint32_t low = 0, high = zipf->count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (zipf->sums[middle] > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void zipf_free(struct zipf *zipf)
{
	free(zipf->sums);
}

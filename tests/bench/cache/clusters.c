// SPDX-License-Identifier: GPL-2.0-only
#include <stddef.h>

#include "clusters.h"

#define MINUTES(n)	((uint32_t)((n) * 60))
#define HOURS(n)	((uint32_t)((n) * 3600))
#define DAYS(n)		((uint32_t)((n) * 86400))

/* Reads: get, gets, incr. Puts: set, cas. */
static const struct cluster clusters[] = {
	{ 6, 44, 252, 327.3, 0.0063, 1.882, .sets = 0.02, .span = DAYS(3),
	  .lives = { { 520, 0.03 }, { 510, 0.03 }, { 490, 0.03 }, { 590, 0.03 }, { 540, 0.03 },
		     { 550, 0.03 }, { 570, 0.02 }, { 500, 0.02 }, { 580, 0.02 }, { 596, 0.02 } } },
	{ 7, 17, 1936, 72.9, 0.0001, 1.0666, .sets = 0.18, .span = DAYS(7),
	  .lives = { { HOURS(1.8), 0.28 }, { HOURS(1.7), 0.24 }, { HOURS(1.9), 0.23 },
		     { HOURS(1.6), 0.13 }, { HOURS(2), 0.12 } } },
	{ 12, 44, 1030, 1.3, 0.8143, 0.3048, .sets = 0.80, .span = MINUTES(6),
	  .lives = { { 300, 0.98 }, { 299, 0.02 } } },
	{ 18, 18, 37, 660.5, 0.0071, 2.0994, .sets = 0.01, .adds = 0.01, .span = DAYS(7),
	  .lives = { { HOURS(12), 1.00 } } },
	{ 19, 42, 101, 4.7, 0.0746, 0.735, .sets = 0.25, .span = DAYS(5),
	  .lives = { { HOURS(7.5), 0.08 }, { HOURS(7.4), 0.07 }, { HOURS(6.6), 0.07 },
		     { HOURS(7.2), 0.07 }, { HOURS(6.7), 0.07 }, { HOURS(7), 0.07 },
		     { HOURS(7.1), 0.07 }, { HOURS(6.8), 0.07 }, { HOURS(6.9), 0.07 },
		     { HOURS(7.3), 0.06 } } },
	{ 22, 54, 4, 4.3, 0.4148, 0.7624, .sets = 0.10, .span = DAYS(7),
	  .lives = { { DAYS(1), 0.85 }, { HOURS(1), 0.11 }, { MINUTES(30), 0.03 } } },
	{ 25, 49, 28, 662.7, 0.0322, 0.9929, .sets = 0.02, .adds = 0.02, .span = DAYS(7),
	  .lives = { { DAYS(30), 0.99 } } },
	{ 52, 20, 273, 32.6, 0.1936, 1.2117, .sets = 0.02, .adds = 0.04, .span = DAYS(4),
	  .lives = { { DAYS(1), 0.65 }, { DAYS(14), 0.27 }, { HOURS(12), 0.07 } } },
};

const struct cluster *cluster_find(unsigned int number)
{
	for (size_t i = 0; i < sizeof(clusters) / sizeof(clusters[0]); i++)
		if (clusters[i].number == number)
			return &clusters[i];
	return NULL;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Published means of some of Twitter's production cache clusters in March 2020.
 *
 * From https://github.com/twitter/cache-trace, stat/2020Mar.md (CC BY 4.0). Described in Juncheng
 * Yang, Yao Yue, K. V. Rashmi, "A Large Scale Analysis of Hundreds of In-memory Cache Clusters at
 * Twitter" (OSDI 2020).
 */
#ifndef _CLUSTERS_H
#define _CLUSTERS_H

#include <stdint.h>

#define CLUSTER_LIVES	10

/**
 * struct cluster - means of a cluster
 * @number:	its number
 * @key_len:	mean bytes of a key
 * @value_len:	mean bytes of a value
 * @frequency:	mean number of requests of a key
 * @single:	share of the keys that are requested once
 * @alpha:	exponent of the Zipf distribution of the keys
 * @sets:	share of the requests that put
 * @adds:	share of the requests that put if there is nothing
 * @removes:	share of the requests that remove; the others read
 * @span:	seconds that the generated requests take: a week, which the means are of, or fewer
 *		where a cache with unlimited room would miss much more often than the cluster did
 * @lives:	the common times-to-live, seconds, up to the first 0, and the shares of the puts
 *		that have them
 */
struct cluster {
	unsigned int number;
	unsigned int key_len;
	unsigned int value_len;
	double frequency;
	double single;
	double alpha;
	double sets;
	double adds;
	double removes;
	double span;
	struct {
		uint32_t seconds;
		double share;
	} lives[CLUSTER_LIVES];
};

const struct cluster *cluster_find(unsigned int number);

#endif /* _CLUSTERS_H */

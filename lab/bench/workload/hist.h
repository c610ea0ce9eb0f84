/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A histogram of times with buckets of equal relative width: exact below 32,
 * then 32 buckets for each power of two, so that a quantile is at most 3 % too
 * large. The longest is kept as it is.
 */
#ifndef HIST_H
#define HIST_H

#include <stdint.h>

#define HIST_SUB_BITS	5
#define HIST_SUB	(1u << HIST_SUB_BITS)
#define HIST_BUCKETS	((64 - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t count;
	uint64_t longest;
	uint32_t bucket[HIST_BUCKETS];
};

static inline unsigned int hist_index(uint64_t v)
{
	unsigned int shift;

	if (v < HIST_SUB)
		return v;
	shift = 63 - __builtin_clzll(v) - HIST_SUB_BITS;
	return (shift + 1) * HIST_SUB + (v >> shift) - HIST_SUB;
}

/* Largest value that falls into a bucket. */
static inline uint64_t hist_limit(unsigned int index)
{
	unsigned int shift;

	if (index < HIST_SUB)
		return index;
	shift = index / HIST_SUB - 1;
	return ((uint64_t)(index % HIST_SUB + HIST_SUB + 1) << shift) - 1;
}

static inline void hist_add(struct hist *h, uint64_t v)
{
	h->count++;
	h->bucket[hist_index(v)]++;
	if (v > h->longest)
		h->longest = v;
}

static inline void hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int i;

	to->count += from->count;
	for (i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	if (from->longest > to->longest)
		to->longest = from->longest;
}

/* The value that @permyriad of 10000 do not exceed. */
static inline uint64_t hist_quantile(const struct hist *h, unsigned int permyriad)
{
	uint64_t rank = (h->count * permyriad + 9999) / 10000;
	uint64_t seen = 0;
	unsigned int i;

	for (i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank && seen)
			return hist_limit(i) < h->longest ? hist_limit(i) :
							    h->longest;
	}
	return 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a workload, and where its pages are. */
#ifndef MEM_H
#define MEM_H

#include <stdbool.h>
#include <stddef.h>
#include "sys.h"

#define PAGE		4096UL
#define HUGE_PAGE	(512 * PAGE)
#define MIB_PAGES	256UL

enum kind { ANON, THP, TMPFS };

/*
 * One or two parts; each begins with its hot pages, and belongs to the thread
 * of the same number.
 */
struct mem {
	char *start;
	size_t pages;
	size_t hot;
	int parts;
};

struct residency {
	size_t hot[2][MAX_NODES];
	size_t cold[MAX_NODES];
	size_t unknown;
};

/* Map @m->pages, and have them all on @node; dies if they are not. */
void mem_create(struct mem *m, enum kind kind, int node);

/* Where each page is; without @cold, each hot page. */
void mem_query(const struct mem *m, bool cold, struct residency *r);

/* Is at least @permille of each part's hot pages on nodes below @slow? */
bool mem_promoted(const struct mem *m, int slow, unsigned int permille);

/*
 * The same, from every 64th page; which ones changes from call to call. Cheap
 * enough to be asked often.
 */
bool mem_seems_promoted(const struct mem *m, int slow, unsigned int permille);

static inline char *mem_part(const struct mem *m, int part)
{
	return m->start + part * (m->pages / m->parts) * PAGE;
}

#endif

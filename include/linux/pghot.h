/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _LINUX_PGHOT_H
#define _LINUX_PGHOT_H

/*
 * Hot page tracking and promotion in tiered memory.
 *
 * Sources report accesses to the hotness store (pghot_*), which decides what
 * is hot and asks the promotion engine (kmigrated_*) to move it. The engine is
 * of use without the store: see kmigrated_promote_folio().
 * Documentation/mm/pghot.rst describes the design.
 */

#include <linux/jump_label.h>
#include <linux/sched/sysctl.h>
#include <linux/types.h>

struct folio;
struct vm_area_struct;

/* Who saw the access. */
enum pghot_source {
	PGHOT_HINTFAULT,	/* NUMA hint fault */
	PGHOT_HWHINT,		/* a hardware sampler */
	PGHOT_NR_SOURCES
};

/*
 * What became of a promotion request. The vm events PGHOT_PROMOTE_SUCCESS and
 * following stand in the same order.
 */
enum kmigrated_result {
	KMIGRATED_SUCCESS,	/* in the top tier, on the node asked for or
				 * on the next that was allowed
				 */
	KMIGRATED_INELIGIBLE,	/* a kind of page that is never promoted */
	KMIGRATED_POLICY,	/* no top-tier node is allowed for it */
	KMIGRATED_STALE,	/* freed, replaced or moved since, or flushed */
	KMIGRATED_TARGET,	/* every allowed top-tier node is full */
	KMIGRATED_ISOLATE,	/* not on the LRU at that moment */
	KMIGRATED_MIGRATE,	/* migrate_pages() gave it back */
	KMIGRATED_NR_RESULTS
};

/**
 * struct kmigrated_user - what a user of the engine may want to be asked
 * @wanted: Is the folio still worth its move? Asked when the request is taken
 *	from the queue; %false makes it stale. NULL: always.
 * @done: The request is settled. NULL: nobody needs to know.
 *
 * Both are called in process context from kmigrated<nid>, or with
 * KMIGRATED_STALE from the context that switches the engine off; they may
 * sleep, and they must not call the engine. @pfn and @nr_pages are those of the
 * folio at the time of the request. The structure must outlive its requests.
 */
struct kmigrated_user {
	bool (*wanted)(unsigned long pfn, unsigned int nr_pages);
	void (*done)(unsigned long pfn, unsigned int nr_pages,
		     enum kmigrated_result result);
};

/* Flags of a promotion request */
/* A hint fault asks: numa_pages_migrated counts the move */
#define KMIGRATED_HINT_FAULT		0x01
/* It may not move, and the requester knows why: kmigrated_promote_folio() */
#define KMIGRATED_DENY_POLICY		0x02
#define KMIGRATED_DENY_INELIGIBLE	0x04
/* To the node asked for, or nowhere */
#define KMIGRATED_ONLY_TARGET		0x08

#ifdef CONFIG_PGHOT
DECLARE_STATIC_KEY_FALSE(kmigrated_active_key);
DECLARE_STATIC_KEY_FALSE(pghot_hintfault_key);

int kmigrated_promote_folio(struct folio *folio, int nid, unsigned int flags,
			    const struct kmigrated_user *user);
int pghot_record_access(unsigned long pfn, int nid, int src, unsigned long now);
bool __pghot_takes_hint_fault(struct folio *folio, int target_nid);
void pghot_hint_fault(struct folio *folio, struct vm_area_struct *vma,
		      int target_nid, int *nid, int *flags);
int pghot_promotion_target(int nid);
void pghot_mode_change_begin(void);
void pghot_mode_change_end(void);

/**
 * promotion_active - does anybody promote pages into the top tier?
 *
 * Decides whether a top-tier node is kept free up to its promotion watermark.
 *
 * Context: Any.
 */
static inline bool promotion_active(void)
{
	return (sysctl_numa_balancing_mode & NUMA_BALANCING_MEMORY_TIERING) ||
	       static_branch_unlikely(&kmigrated_active_key);
}

/**
 * pghot_hintfault_active - are hint faults on lower-tier folios reported?
 *
 * Context: Any. False: a hint fault migrates at once, on its own.
 */
static inline bool pghot_hintfault_active(void)
{
	return static_branch_unlikely(&pghot_hintfault_key);
}

/**
 * pghot_takes_hint_fault - is this hint fault one to report?
 * @folio: The folio that was accessed.
 * @target_nid: Where mpol_misplaced() wants it; may be NUMA_NO_NODE.
 *
 * Context: Page fault, with the page table lock held.
 * Return: true for a folio of the lower tier that is to be promoted, or to stay.
 * The caller then gets a reference, makes the mapping present again, drops the
 * page table lock and calls pghot_hint_fault().
 */
static inline bool pghot_takes_hint_fault(struct folio *folio, int target_nid)
{
	return pghot_hintfault_active() &&
	       __pghot_takes_hint_fault(folio, target_nid);
}
#else /* !CONFIG_PGHOT */
static inline bool promotion_active(void)
{
	return sysctl_numa_balancing_mode & NUMA_BALANCING_MEMORY_TIERING;
}

static inline bool pghot_hintfault_active(void)
{
	return false;
}

static inline bool pghot_takes_hint_fault(struct folio *folio, int target_nid)
{
	return false;
}

static inline void pghot_hint_fault(struct folio *folio,
				    struct vm_area_struct *vma, int target_nid,
				    int *nid, int *flags)
{
}

static inline int pghot_promotion_target(int nid)
{
	return nid;
}

static inline void pghot_mode_change_begin(void)
{
}

static inline void pghot_mode_change_end(void)
{
}
#endif /* CONFIG_PGHOT */

#endif /* _LINUX_PGHOT_H */

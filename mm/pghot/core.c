// SPDX-License-Identifier: GPL-2.0
/*
 * pghot - which pages of slow memory are hot
 *
 * Sources report accesses, one page at a time. For each page of a lower-tier
 * node there is a record of what was reported lately (record.h); a page that
 * was accessed often enough is handed to the promotion engine (kmigrated.c).
 *
 * Where the records are
 *
 * A sorted table of the PFN spans of lower-tier nodes, each with an array of
 * pointers to the maps of its sections. A look-up is a walk over a few spans
 * and an index; it touches no struct page, and answers at the same time whether
 * the PFN is in a lower tier at all.
 *
 *	table -> span: node 2, 0x100000-0x140000 -> map, map, -, -, map, -, ...
 *		 span: node 3, 0x180000-0x1c0000 -> -, -, ...
 *
 * A map holds the records of a section, and a header for each 2 MiB block of
 * it. It is allocated when its section first records, so that memory goes only
 * to sections that somebody looks at. It stands on a top-tier node: on its own
 * node it would be slow, and keep that memory from being unplugged.
 *
 * Lifetime
 *
 * Everything is reached under RCU. Memory going offline, and the last source
 * being switched off, unpublish first, wait for a grace period, then free. A
 * report looks for the map first and for the struct page after that, in the
 * same RCU section: as long as the map is there, so is the memmap.
 *
 * Locking
 *
 * pghot_state_lock	which sources are on. Outermost: taken by writers of
 *			sysctls, never by hotplug notifiers.
 * pghot_spans_lock	the table and who may put maps into it. Innermost.
 */

#define pr_fmt(fmt) "pghot: " fmt

#include <linux/debugfs.h>
#include <linux/memory.h>
#include <linux/memory-tiers.h>
#include <linux/memory_hotplug.h>
#include <linux/mempolicy.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/cpuset.h>
#include <linux/sched/numa_balancing.h>
#include <linux/sched/sysctl.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/timekeeping.h>
#include <linux/vmstat.h>
#include <linux/workqueue.h>

#include <trace/events/pghot.h>

#include "../internal.h"
#include "internal.h"
#include "record.h"

#define PGHOT_SOURCE_HINTFAULT	BIT(PGHOT_HINTFAULT)
#define PGHOT_SOURCE_HWHINT	BIT(PGHOT_HWHINT)

DEFINE_STATIC_KEY_FALSE(pghot_hintfault_key);

/* Tunables; Documentation/admin-guide/mm/pghot.rst explains them. */
static int pghot_enabled_sources = PGHOT_SOURCE_HINTFAULT;
static int pghot_target_nid = NUMA_NO_NODE;
static int pghot_freq_threshold = 2;
static int pghot_freq_window_ms = 3000;
static int pghot_hwhint_cpu_permille = 10;

/**
 * struct pghot_map - records of a section
 * @gone: Links maps that are being freed.
 * @headers: One for each block, see record.h.
 * @words: The records.
 */
struct pghot_map {
	struct list_head gone;
	u64 headers[PGHOT_SECTION_BLOCKS];
	u64 *words;
};

/**
 * struct pghot_span - PFNs of a lower-tier node, without a hole
 * @start: First PFN.
 * @end: First PFN behind.
 * @nid: The node.
 * @maps: For each section from that of @start on, its map or NULL.
 */
struct pghot_span {
	unsigned long start;
	unsigned long end;
	int nid;
	struct pghot_map __rcu **maps;
};

/**
 * struct pghot_table - all spans, in the order of their PFNs
 * @nr: How many.
 * @spans: The spans.
 */
struct pghot_table {
	unsigned int nr;
	struct pghot_span spans[];
};

static DEFINE_MUTEX(pghot_state_lock);
/* Sources that are on, one bit each; written under pghot_state_lock. */
static unsigned int pghot_active_sources;
static DEFINE_MUTEX(pghot_spans_lock);
static struct pghot_table __rcu *pghot_table;
/* Under pghot_spans_lock */
static bool pghot_maps_allowed;
static unsigned long pghot_record_bytes;
static unsigned long pghot_map_failures;

/* ---- nodes and slots ---- */

/*
 * The default record has room for eight nodes only. A top-tier node gets a
 * number of these when it first accesses something, and keeps it as long as
 * there are records, that is until the last source is switched off.
 */
#define PGHOT_NR_SLOTS	8
static int pghot_slots[PGHOT_NR_SLOTS];
static DEFINE_SPINLOCK(pghot_slots_lock);

static void pghot_reset_slots(void)
{
	unsigned int i;

	guard(spinlock_irqsave)(&pghot_slots_lock);
	for (i = 0; i < PGHOT_NR_SLOTS; i++)
		pghot_slots[i] = NUMA_NO_NODE;
}

/* The slot of @nid, or that of the nearest node if there is none left. */
static unsigned int pghot_find_slot(int *slots, unsigned int nr, int nid)
{
	nodemask_t known = NODE_MASK_NONE;
	unsigned int i;
	int nearest;

	for (i = 0; i < nr; i++) {
		if (slots[i] == nid)
			return i;
		if (slots[i] == NUMA_NO_NODE) {
			WRITE_ONCE(slots[i], nid);
			return i;
		}
		node_set(slots[i], known);
	}

	nearest = kmigrated_nearest_node(nid, &known);
	for (i = 0; i < nr; i++)
		if (slots[i] == nearest)
			break;
	return i;
}

static unsigned int pghot_slot_of_node(int nid)
{
	unsigned int i;

	if (IS_ENABLED(CONFIG_PGHOT_PRECISE))
		return nid;
	for (i = 0; i < PGHOT_NR_SLOTS; i++)
		if (READ_ONCE(pghot_slots[i]) == nid)
			return i;

	scoped_guard(spinlock_irqsave, &pghot_slots_lock)
		i = pghot_find_slot(pghot_slots, PGHOT_NR_SLOTS, nid);
	return i;
}

static int pghot_node_of_slot(unsigned int slot)
{
	return IS_ENABLED(CONFIG_PGHOT_PRECISE) ? slot :
						  READ_ONCE(pghot_slots[slot]);
}

static int pghot_choose_target(int accessor, int configured,
			       const nodemask_t *targets)
{
	if (node_isset(accessor, *targets))
		return accessor;
	if (configured != NUMA_NO_NODE && node_isset(configured, *targets))
		return configured;
	return kmigrated_nearest_node(accessor, targets);
}

/**
 * pghot_promotion_target - where a page should go that a node accesses
 * @nid: The node that accesses it, or the one it is on if that is unknown.
 *
 * Context: Any.
 * Return: @nid itself if it is a top-tier node with memory; else
 * vm.pghot_target_nid if that is set and still is one; else the one nearest to
 * @nid. NUMA_NO_NODE if there is none.
 */
int pghot_promotion_target(int nid)
{
	nodemask_t targets;

	if (kmigrated_target_ok(nid))
		return nid;
	kmigrated_targets(&targets);
	return pghot_choose_target(nid, READ_ONCE(pghot_target_nid), &targets);
}

/* ---- spans and maps ---- */

static struct pghot_span *pghot_find_span(const struct pghot_table *table,
					  unsigned long pfn)
{
	unsigned int i;

	if (!table)
		return NULL;
	for (i = 0; i < table->nr; i++)
		if (pfn < table->spans[i].end)
			return pfn >= table->spans[i].start ?
			       (struct pghot_span *)&table->spans[i] : NULL;
	return NULL;
}

static unsigned long pghot_section_index(const struct pghot_span *span,
					 unsigned long pfn)
{
	return pfn_to_section_nr(pfn) - pfn_to_section_nr(span->start);
}

static unsigned long pghot_nr_sections(unsigned long start, unsigned long end)
{
	return pfn_to_section_nr(end - 1) - pfn_to_section_nr(start) + 1;
}

static void pghot_free_map(struct pghot_map *map)
{
	kvfree(map->words);
	kvfree(map);
}

static struct pghot_map *pghot_alloc_map(int nid)
{
	struct pghot_map *map = kmigrated_alloc(nid, sizeof(*map));

	if (!map)
		return NULL;
	map->words = kmigrated_alloc(nid, PGHOT_SECTION_BYTES);
	if (!map->words) {
		kvfree(map);
		return NULL;
	}
	return map;
}

static struct pghot_table *pghot_table_locked(void)
{
	return rcu_dereference_protected(pghot_table,
					 lockdep_is_held(&pghot_spans_lock));
}

/* Where @table keeps the map of the section that @pfn is in. */
static struct pghot_map __rcu **pghot_map_place(struct pghot_table *table,
						unsigned long pfn)
{
	struct pghot_span *span = pghot_find_span(table, pfn);

	return span ? &span->maps[pghot_section_index(span, pfn)] : NULL;
}

/*
 * Give the section of @pfn a map, if sources are on and @pfn is tracked.
 * Return: 0 if there is one now; -ENOENT if there is to be none; -ENOMEM.
 */
static int pghot_add_map(unsigned long pfn, int nid)
{
	struct pghot_map *map = pghot_alloc_map(nid);
	struct pghot_map __rcu **place;

	guard(mutex)(&pghot_spans_lock);
	if (!map) {
		pghot_map_failures++;
		return -ENOMEM;
	}
	place = pghot_map_place(pghot_table_locked(), pfn);
	if (!place || !pghot_maps_allowed || rcu_access_pointer(*place)) {
		pghot_free_map(map);
		return place && pghot_maps_allowed ? 0 : -ENOENT;
	}
	rcu_assign_pointer(*place, map);
	pghot_record_bytes += PGHOT_SECTION_BYTES;
	return 0;
}

/* Under RCU. */
static struct pghot_map *pghot_get_map(unsigned long pfn)
{
	struct pghot_span *span = pghot_find_span(rcu_dereference(pghot_table),
						  pfn);

	if (!span)
		return NULL;
	return rcu_dereference(span->maps[pghot_section_index(span, pfn)]);
}

static unsigned long pghot_section_pfn(const struct pghot_span *span,
				       unsigned long index)
{
	unsigned long section = pfn_to_section_nr(span->start) + index;

	return max(span->start, section_nr_to_pfn(section));
}

/**
 * struct pghot_cursor - how far a walk over a table is; starts with all 0
 * @span: Number of the span.
 * @section: Number of the next section in it.
 */
struct pghot_cursor {
	unsigned int span;
	unsigned long section;
};

/* Step to the next section of @table, and find its first PFN there. */
static bool pghot_next_section(struct pghot_table *table,
			       struct pghot_cursor *cursor, unsigned long *pfn)
{
	for (; cursor->span < table->nr; cursor->span++, cursor->section = 0) {
		struct pghot_span *span = &table->spans[cursor->span];

		if (cursor->section == pghot_nr_sections(span->start, span->end))
			continue;
		*pfn = pghot_section_pfn(span, cursor->section++);
		return true;
	}
	return false;
}

static struct pghot_map *pghot_map_locked(struct pghot_table *table,
					  unsigned long pfn)
{
	struct pghot_map __rcu **place = pghot_map_place(table, pfn);

	if (!place)
		return NULL;
	return rcu_dereference_protected(*place,
					 lockdep_is_held(&pghot_spans_lock));
}

/* Let @heir have the maps of @table that it has room for. */
static void pghot_inherit_maps(struct pghot_table *heir,
			       struct pghot_table *table)
{
	struct pghot_cursor cursor = {};
	struct pghot_map *map;
	unsigned long pfn;

	while (pghot_next_section(table, &cursor, &pfn)) {
		struct pghot_map __rcu **place = pghot_map_place(heir, pfn);

		map = pghot_map_locked(table, pfn);
		if (map && place)
			rcu_assign_pointer(*place, map);
	}
}

/* Free maps that were taken out of the table a grace period ago. */
static void pghot_free_gone(struct list_head *gone)
{
	struct pghot_map *map, *next;

	list_for_each_entry_safe(map, next, gone, gone)
		pghot_free_map(map);
}

/* Collect the maps of @table that @heir, which may be NULL, did not inherit. */
static void pghot_orphan_maps(struct pghot_table *table,
			      struct pghot_table *heir, struct list_head *gone)
{
	struct pghot_cursor cursor = {};
	struct pghot_map *map;
	unsigned long pfn;

	while (pghot_next_section(table, &cursor, &pfn)) {
		map = pghot_map_locked(table, pfn);
		if (!map || map == pghot_map_locked(heir, pfn))
			continue;
		list_add(&map->gone, gone);
		pghot_record_bytes -= PGHOT_SECTION_BYTES;
	}
}

static void pghot_free_table(struct pghot_table *table)
{
	unsigned int i;

	if (!table)
		return;
	for (i = 0; i < table->nr; i++)
		kvfree(table->spans[i].maps);
	kvfree(table);
}

static bool pghot_pfn_on_node(unsigned long pfn, int nid)
{
	struct page *page = pfn_to_online_page(pfn);

	return page && page_to_nid(page) == nid;
}

/*
 * Step to the next span of the node that @span is of. Sections may be shared by
 * nodes, or be online in part, hence the look at each subsection, the unit in
 * which memory comes and goes.
 */
static bool pghot_next_span_of_node(struct pghot_span *span)
{
	unsigned long end = pgdat_end_pfn(NODE_DATA(span->nid));
	unsigned long pfn = span->end;

	while (pfn < end && !pghot_pfn_on_node(pfn, span->nid))
		pfn = SUBSECTION_ALIGN_UP(pfn + 1);
	if (pfn >= end)
		return false;

	span->start = pfn;
	while (pfn < end && pghot_pfn_on_node(pfn, span->nid))
		pfn = SUBSECTION_ALIGN_UP(pfn + 1);
	span->end = min(pfn, end);
	cond_resched();
	return true;
}

/* Step to the next span of a lower-tier node; start with NUMA_NO_NODE. */
static bool pghot_next_span(struct pghot_span *span)
{
	while (span->nid == NUMA_NO_NODE || !pghot_next_span_of_node(span)) {
		do {
			span->nid = next_node(span->nid, node_states[N_MEMORY]);
			if (span->nid >= MAX_NUMNODES)
				return false;
		} while (node_is_toptier(span->nid));
		span->end = NODE_DATA(span->nid)->node_start_pfn;
	}
	return true;
}

static int pghot_span_cmp(const void *a, const void *b)
{
	const struct pghot_span *x = a, *y = b;

	return x->start < y->start ? -1 : 1;
}

static struct pghot_table *pghot_alloc_table(void)
{
	struct pghot_span span = { .nid = NUMA_NO_NODE };
	struct pghot_table *table;
	unsigned int nr = 0;

	while (pghot_next_span(&span))
		nr++;
	table = kvzalloc_flex(*table, spans, nr);
	if (!table)
		return NULL;

	span.nid = NUMA_NO_NODE;
	while (table->nr < nr && pghot_next_span(&span)) {
		span.maps = kvcalloc(pghot_nr_sections(span.start, span.end),
				     sizeof(*span.maps), GFP_KERNEL);
		if (!span.maps) {
			pghot_free_table(table);
			return NULL;
		}
		table->spans[table->nr++] = span;
	}
	sort(table->spans, table->nr, sizeof(span), pghot_span_cmp, NULL);
	return table;
}

/*
 * Make the table follow the memory that is online now. Memory hotplug is kept
 * out by the caller, or is the caller: two of these never run at a time.
 */
static void pghot_update_table(void)
{
	struct pghot_table *old, *new = pghot_alloc_table();
	LIST_HEAD(gone);

	scoped_guard(mutex, &pghot_spans_lock) {
		old = pghot_table_locked();
		if (!new) {
			/* Better nothing is tracked than memory that goes. */
			pghot_map_failures++;
			pr_warn_once("no memory to track lower-tier nodes\n");
		} else if (old) {
			pghot_inherit_maps(new, old);
		}
		if (old)
			pghot_orphan_maps(old, new, &gone);
		rcu_assign_pointer(pghot_table, new);
	}
	/* Who walks PFNs under RCU has done, even if there was no table. */
	synchronize_rcu();
	pghot_free_gone(&gone);
	pghot_free_table(old);
}

/* Forget all records, and keep no new ones until allowed again. */
static void pghot_drop_maps(void)
{
	struct pghot_cursor cursor = {};
	struct pghot_table *table;
	unsigned long pfn;
	LIST_HEAD(gone);

	scoped_guard(mutex, &pghot_spans_lock) {
		pghot_maps_allowed = false;
		table = pghot_table_locked();
		if (table)
			pghot_orphan_maps(table, NULL, &gone);
		while (table && pghot_next_section(table, &cursor, &pfn))
			RCU_INIT_POINTER(*pghot_map_place(table, pfn), NULL);
	}
	synchronize_rcu();
	pghot_free_gone(&gone);
}

static void pghot_allow_maps(void)
{
	guard(mutex)(&pghot_spans_lock);
	pghot_maps_allowed = true;
}

static int pghot_memory_callback(struct notifier_block *self,
				 unsigned long action, void *arg)
{
	/*
	 * The tier of a new node is known at MEM_ONLINE and not before. At
	 * MEM_OFFLINE the memmap is still there; once we return it may go.
	 */
	if (action == MEM_ONLINE || action == MEM_OFFLINE)
		pghot_update_table();
	return NOTIFY_OK;
}

/* ---- recording ---- */

/*
 * The length of a window in ms, and above it a number that changes with it. One
 * word, so that a report never sees the length of one and the number of the
 * other.
 */
static u64 pghot_clock = 3000;

#define PGHOT_CLOCK_LENGTH	GENMASK_ULL(31, 0)
#define PGHOT_CLOCK_GENERATION	GENMASK_ULL(54, 32)

static u64 pghot_window_at(unsigned long now)
{
	u64 clock = READ_ONCE(pghot_clock);

	return pghot_window(now, FIELD_GET(PGHOT_CLOCK_LENGTH, clock),
			    FIELD_GET(PGHOT_CLOCK_GENERATION, clock));
}

static unsigned long pghot_now(void)
{
	return div_u64(ktime_get_mono_fast_ns(), NSEC_PER_MSEC);
}

static void pghot_age_block(u64 *words, bool clear)
{
	unsigned int i;
	u64 old;

	for (i = 0; i < PGHOT_BLOCK_WORDS; i++) {
		old = READ_ONCE(words[i]);
		if (!old)
			continue;
		while (!try_cmpxchg(&words[i], &old,
				    clear ? pghot_clear_word(old) :
					    pghot_age_word(old)))
			;
	}
}

/*
 * Bring the block at @header to @window if that is a later one.
 * Return: how a report of @window fits the block now.
 */
static enum pghot_age pghot_enter_window(u64 *header, u64 *words, u64 window)
{
	enum pghot_age age;
	unsigned long flags;
	u64 seen;

	for (;;) {
		/* Pairs with the release below: the records are aged. */
		seen = smp_load_acquire(header);
		if (seen & PGHOT_AGING) {
			/* About 64 updates of a word away, with irqs off. */
			cpu_relax();
			continue;
		}
		age = pghot_compare(pghot_header_window(seen), window);
		if (age != PGHOT_NEXT && age != PGHOT_LATER)
			return age;

		/* A softirq must not wait for the context it interrupted. */
		local_irq_save(flags);
		if (try_cmpxchg(header, &seen, seen | PGHOT_AGING)) {
			pghot_age_block(words, age == PGHOT_LATER);
			/* Pairs with the acquire above. */
			smp_store_release(header, pghot_header(window));
			local_irq_restore(flags);
			return PGHOT_SAME;
		}
		local_irq_restore(flags);
	}
}

/**
 * struct pghot_report - what recording an access found out
 * @nid: Who accesses the page, as far as the record tells.
 * @accesses: Of the page in this window and the one before.
 * @claimed: The record was not queued before and is now; who claimed it must
 *	have the folio queued, or call pghot_release().
 */
struct pghot_report {
	int nid;
	unsigned int accesses;
	bool claimed;
};

/*
 * Record an access by @nid to the page at @pfn, and claim the record for the
 * queue if it has @threshold accesses then. Under RCU.
 * Return: 0, or -ESTALE if @window is too old.
 */
static int pghot_record(struct pghot_map *map, unsigned long pfn, int nid,
			u64 window, unsigned int threshold,
			struct pghot_report *report)
{
	unsigned long offset = pfn & ~PAGE_SECTION_MASK;
	unsigned long block = offset >> PGHOT_BLOCK_SHIFT;
	u64 *block_words = &map->words[block * PGHOT_BLOCK_WORDS];
	u64 *word = &map->words[pghot_word_index(offset)];
	unsigned int shift = pghot_word_shift(offset);
	unsigned int slot = pghot_slot_of_node(nid);
	struct pghot_record r;
	enum pghot_age age;
	u64 old;

	age = pghot_enter_window(&map->headers[block], block_words, window);
	if (age == PGHOT_TOO_LATE)
		return -ESTALE;

	old = READ_ONCE(*word);
	do {
		r = pghot_hit(pghot_unpack(pghot_word_get(old, shift)), slot,
			      age == PGHOT_LATE);
		report->nid = pghot_node_of_slot(r.nid);
		report->accesses = pghot_accesses(r);
		report->claimed = !r.queued && report->accesses >= threshold;
		r.queued |= report->claimed;
	} while (!try_cmpxchg(word, &old,
			      pghot_word_set(old, shift, pghot_pack(r))));
	return 0;
}

/* Take back the claim on a record, with the accesses or without. */
static void pghot_release(unsigned long pfn, bool keep_accesses)
{
	unsigned long offset = pfn & ~PAGE_SECTION_MASK;
	unsigned int shift = pghot_word_shift(offset);
	struct pghot_record r;
	struct pghot_map *map;
	u64 old, *word;

	guard(rcu)();
	map = pghot_get_map(pfn);
	if (!map)
		return;
	word = &map->words[pghot_word_index(offset)];
	old = READ_ONCE(*word);
	do {
		r = pghot_unpack(pghot_word_get(old, shift));
		r.queued = false;
		if (!keep_accesses) {
			r.previous = 0;
			r.current_ = 0;
		}
	} while (!try_cmpxchg(word, &old,
			      pghot_word_set(old, shift, pghot_pack(r))));
}

/* Is there an access in this window or the one before? */
static bool pghot_still_hot(unsigned long pfn, unsigned int nr_pages)
{
	unsigned long offset = pfn & ~PAGE_SECTION_MASK;
	struct pghot_record r;
	struct pghot_map *map;
	u64 header, word;

	guard(rcu)();
	map = pghot_get_map(pfn);
	if (!map)
		return false;
	header = READ_ONCE(map->headers[offset >> PGHOT_BLOCK_SHIFT]);
	word = READ_ONCE(map->words[pghot_word_index(offset)]);
	r = pghot_unpack(pghot_word_get(word, pghot_word_shift(offset)));
	switch (pghot_compare(pghot_header_window(header),
			      pghot_window_at(pghot_now()))) {
	case PGHOT_NEXT:
		return r.current_;
	case PGHOT_LATER:
		return false;
	default:
		return pghot_accesses(r);
	}
}

/*
 * The engine has done with a page. Moved, its record starts anew for the next
 * page that comes to that PFN. Refused, it must become hot again before it is
 * asked for again; but if only the target was full, that is no fault of the
 * page, and it stays as hot as it is.
 */
static void pghot_settled(unsigned long pfn, unsigned int nr_pages,
			  enum kmigrated_result result)
{
	pghot_release(pfn, result == KMIGRATED_TARGET);
}

/*
 * A hint fault was selected by base's latency threshold, and is not judged
 * again; a page that hardware saw must still be in use.
 */
static const struct kmigrated_user pghot_users[PGHOT_NR_SOURCES] = {
	[PGHOT_HINTFAULT] = {
		.done	= pghot_settled,
	},
	[PGHOT_HWHINT] = {
		.wanted	= pghot_still_hot,
		.done	= pghot_settled,
	},
};

/* Ask the engine for a folio whose record the caller has claimed. */
static int pghot_queue(struct folio *folio, int nid, int src,
		       unsigned int flags)
{
	int err = kmigrated_promote_folio(folio, nid, flags, &pghot_users[src]);

	if (err)
		pghot_release(folio_pfn(folio), true);
	return err;
}

/*
 * Record an access to @folio, on which the caller has a reference.
 * Return: 0; -ENOENT if there is no map for it, or -ESTALE.
 */
static int pghot_record_folio(struct folio *folio, int nid, int src,
			      unsigned long now, unsigned int threshold,
			      struct pghot_report *report)
{
	unsigned long pfn = folio_pfn(folio);
	struct pghot_map *map;
	int err;

	guard(rcu)();
	map = pghot_get_map(pfn);
	if (!map)
		return -ENOENT;
	err = pghot_record(map, pfn, nid, pghot_window_at(now), threshold,
			   report);
	if (err)
		return err;
	count_vm_event(PGHOT_RECORDED_ACCESSES);
	trace_pghot_record(pfn, nid, src, report->accesses);
	return 0;
}

/* ---- reports of raw PFNs ---- */

/* A PFN whose section wants a map, found where nothing could be allocated. */
static unsigned long pghot_wanted_pfn;

static void pghot_map_workfn(struct work_struct *work)
{
	unsigned long pfn = READ_ONCE(pghot_wanted_pfn);
	struct pghot_span *span;
	int nid = NUMA_NO_NODE;

	scoped_guard(rcu) {
		span = pghot_find_span(rcu_dereference(pghot_table), pfn);
		if (span)
			nid = span->nid;
	}
	if (nid != NUMA_NO_NODE)
		pghot_add_map(pfn, nid);
	/* Pairs with the cmpxchg() in pghot_want_map(). */
	smp_store_release(&pghot_wanted_pfn, 0);
}

static DECLARE_WORK(pghot_map_work, pghot_map_workfn);

static void pghot_want_map(unsigned long pfn)
{
	/* One at a time: the next report of another section asks again. */
	if (!cmpxchg(&pghot_wanted_pfn, 0, pfn))
		schedule_work(&pghot_map_work);
}

/**
 * pghot_record_access - report that a page was accessed
 * @pfn: The page. Of a large folio, any.
 * @nid: The node of the CPU that accessed it, or NUMA_NO_NODE if unknown.
 * @src: Who reports: enum pghot_source.
 * @now: When: milliseconds of ktime_get_mono_fast_ns().
 *
 * If that makes the page hot, it is handed to the promotion engine. A section
 * that has no map yet gets one for the next report; this one is counted in
 * pghot_record_failed.
 *
 * Context: Process or softirq context. Does not sleep. Not from NMI.
 * Return: 0, also if @pfn is not tracked, which changes nothing. -EINVAL if
 * @src or @nid is out of range.
 */
int pghot_record_access(unsigned long pfn, int nid, int src, unsigned long now)
{
	struct pghot_report report;
	struct folio *folio;
	struct page *page;
	int err;

	if (src < 0 || src >= PGHOT_NR_SOURCES)
		return -EINVAL;
	if (nid != NUMA_NO_NODE && (nid < 0 || nid >= nr_node_ids))
		return -EINVAL;

	if (!(READ_ONCE(pghot_active_sources) & BIT(src)))
		return 0;

	scoped_guard(rcu) {
		if (!pghot_find_span(rcu_dereference(pghot_table), pfn))
			return 0;
		/* The span is there, so its memmap is. */
		page = pfn_to_online_page(pfn);
		if (!page || node_is_toptier(page_to_nid(page)))
			return 0;
		/* One for each source, in the order of enum pghot_source. */
		count_vm_event(PGHOT_REPORTED_HINTFAULTS + src);
		folio = page_folio(page);
		if (!folio_try_get(folio))
			return 0;
	}
	if (page_folio(page) != folio)
		goto put;

	if (nid == NUMA_NO_NODE)
		nid = folio_nid(folio);
	nid = pghot_promotion_target(nid);
	if (nid == NUMA_NO_NODE)
		goto put;

	err = pghot_record_folio(folio, nid, src, now,
				 READ_ONCE(pghot_freq_threshold), &report);
	if (err == -ENOENT)
		pghot_want_map(folio_pfn(folio));
	if (err)
		count_vm_event(PGHOT_RECORD_FAILED);
	else if (report.claimed)
		pghot_queue(folio, pghot_promotion_target(report.nid), src, 0);
put:
	folio_put(folio);
	return 0;
}

/* ---- hint faults ---- */

/*
 * As base does in the fault, for want of a record or of room in the queue, and
 * dropping what is above the rate limit. Takes over the reference.
 */
static int pghot_migrate_now(struct folio *folio, struct vm_area_struct *vma,
			     int nid)
{
	if (!kmigrated_take_tokens(nid, folio_nr_pages(folio)) ||
	    migrate_misplaced_folio_prepare(folio, vma, nid)) {
		folio_put(folio);
		return NUMA_NO_NODE;
	}
	/* Isolated, it has another reference; this one would pin it. */
	folio_put(folio);
	return migrate_misplaced_folio(folio, nid) ? NUMA_NO_NODE : nid;
}

/*
 * Does a policy of the user name nodes? Then mpol_misplaced() has chosen one of
 * these, and no other will do. Default and local policy name none.
 */
static bool pghot_policy_names_nodes(struct folio *folio,
				     struct vm_area_struct *vma)
{
	unsigned long address = vma->vm_start;
	struct mempolicy *pol;
	pgoff_t ilx;
	bool names;

	if (!current->mempolicy && !vma->vm_policy &&
	    !(vma->vm_ops && vma->vm_ops->get_policy))
		return false;
	/* Only shared memory has several policies in a mapping. */
	if (!folio_test_anon(folio) && folio->index > vma->vm_pgoff)
		address += (folio->index - vma->vm_pgoff) << PAGE_SHIFT;
	pol = get_vma_policy(vma, address, folio_order(folio), &ilx);
	if (pol->mode == MPOL_PREFERRED)
		names = !(pol->flags & MPOL_F_MORON);
	else
		names = pol->mode != MPOL_LOCAL;
	mpol_cond_put(pol);
	return names;
}

/*
 * What only the faulting task can tell: its cpuset, which may be a v1 one that
 * the memcg of the folio does not lead to, its policy, and whether the mapping
 * is text.
 * Return: KMIGRATED_* for the request; @nid is another node if that is forbidden.
 */
static unsigned int pghot_task_says(struct folio *folio,
				    struct vm_area_struct *vma, int *nid)
{
	nodemask_t targets, allowed;

	/* Probably a shared library, see migrate_misplaced_folio_prepare(). */
	if (folio_is_file_lru(folio) && (vma->vm_flags & VM_EXEC) &&
	    folio_maybe_mapped_shared(folio))
		return KMIGRATED_DENY_INELIGIBLE;

	/* No cpuset, nearly always. */
	if (nodes_subset(node_states[N_MEMORY], cpuset_current_mems_allowed))
		return pghot_policy_names_nodes(folio, vma) ?
		       KMIGRATED_ONLY_TARGET : 0;

	kmigrated_targets(&targets);
	if (!nodes_and(allowed, targets, cpuset_current_mems_allowed))
		return KMIGRATED_DENY_POLICY;
	*nid = kmigrated_nearest_node(*nid, &allowed);
	if (!nodes_equal(allowed, targets) ||
	    pghot_policy_names_nodes(folio, vma))
		return KMIGRATED_ONLY_TARGET;
	return 0;
}

/**
 * __pghot_takes_hint_fault - slow path of pghot_takes_hint_fault()
 * @folio: The folio that was accessed.
 * @target_nid: Where mpol_misplaced() wants it; may be NUMA_NO_NODE.
 *
 * A fault that moves the folio to another lower-tier node, by a policy, is none
 * of ours.
 *
 * Context: Any.
 * Return: true for a folio of the lower tier that is to be promoted or to stay.
 */
bool __pghot_takes_hint_fault(struct folio *folio, int target_nid)
{
	return folio_use_access_time(folio) &&
	       (target_nid == NUMA_NO_NODE || node_is_toptier(target_nid));
}

/*
 * Record the access; get the section a map first if it has none.
 * Return: 0, -ENOENT if it is to have none, -ENOMEM, -ESTALE.
 */
static int pghot_record_hint_fault(struct folio *folio, unsigned int threshold,
				   struct pghot_report *report)
{
	int nid = pghot_promotion_target(numa_node_id());
	unsigned long now = pghot_now();
	int err;

	count_vm_event(PGHOT_REPORTED_HINTFAULTS);
	if (nid == NUMA_NO_NODE)
		return -ENOENT;
	err = pghot_record_folio(folio, nid, PGHOT_HINTFAULT, now, threshold,
				 report);
	if (err == -ENOENT) {
		err = pghot_add_map(folio_pfn(folio), folio_nid(folio));
		if (!err)
			err = pghot_record_folio(folio, nid, PGHOT_HINTFAULT,
						 now, threshold, report);
	}
	if (err == -ENOMEM || err == -ESTALE)
		count_vm_event(PGHOT_RECORD_FAILED);
	return err;
}

/*
 * Have a folio promoted that base selected. Takes over the reference.
 * @err: What became of its record.
 * Return: Where it is now or soon, NUMA_NO_NODE if this fault did not change
 * that.
 */
static int pghot_promote_hint_fault(struct folio *folio,
				    struct vm_area_struct *vma, int target_nid,
				    int err, bool claimed)
{
	unsigned int says = pghot_task_says(folio, vma, &target_nid);
	bool deny = says & ~KMIGRATED_ONLY_TARGET;

	if (!err && !claimed) {
		err = -EEXIST;
	} else if (!err) {
		err = pghot_queue(folio, target_nid, PGHOT_HINTFAULT,
				  says | KMIGRATED_HINT_FAULT);
	}
	if (!deny && err && err != -EEXIST && err != -EPERM)
		return pghot_migrate_now(folio, vma, target_nid);

	folio_put(folio);
	return err || deny ? NUMA_NO_NODE : target_nid;
}

/**
 * pghot_hint_fault - report a hint fault on a lower-tier folio
 * @folio: The folio. Takes over the caller's reference.
 * @vma: Where it is mapped.
 * @target_nid: Where mpol_misplaced() wants it, or NUMA_NO_NODE if it may stay.
 * @nid: For task_numa_fault(): set to the new node if the folio is promoted.
 * @flags: For task_numa_fault(): TNF_MIGRATED or TNF_MIGRATE_FAIL is added if
 *	the folio is wanted elsewhere.
 *
 * The access is recorded. If the folio is wanted elsewhere, it is queued for
 * the promotion engine, or migrated at once if it cannot be recorded or queued.
 *
 * Context: The page fault, with the VMA locked but no page table lock. May
 * sleep.
 */
void pghot_hint_fault(struct folio *folio, struct vm_area_struct *vma,
		      int target_nid, int *nid, int *flags)
{
	/* A selected fault is hot as it is, any other is only counted. */
	unsigned int threshold = target_nid == NUMA_NO_NODE ? UINT_MAX : 0;
	struct pghot_report report = {};
	int err;

	err = pghot_record_hint_fault(folio, threshold, &report);
	if (target_nid != NUMA_NO_NODE)
		target_nid = pghot_promotion_target(target_nid);
	if (target_nid == NUMA_NO_NODE) {
		if (report.claimed)
			pghot_release(folio_pfn(folio), true);
		folio_put(folio);
		return;
	}
	target_nid = pghot_promote_hint_fault(folio, vma, target_nid, err,
					      report.claimed);
	if (target_nid == NUMA_NO_NODE) {
		*flags |= TNF_MIGRATE_FAIL;
	} else {
		*flags |= TNF_MIGRATED;
		*nid = target_nid;
	}
}

/* ---- switching ---- */

static void pghot_switch_on(void)
{
	/* There was no memory for the table when it was last needed. */
	if (!rcu_access_pointer(pghot_table)) {
		get_online_mems();
		pghot_update_table();
		put_online_mems();
	}
	pghot_reset_slots();
	kmigrated_start();
	pghot_allow_maps();
}

static void pghot_switch_off(void)
{
	kmigrated_stop();
	pghot_drop_maps();
}

/*
 * Make what runs follow what is asked for. Always from the values as they are
 * now, so that the last of several writers settles it.
 */
static void pghot_update_state(void)
{
	int mode = READ_ONCE(sysctl_numa_balancing_mode);
	unsigned int before = pghot_active_sources;
	unsigned int sources = pghot_enabled_sources;

	lockdep_assert_held(&pghot_state_lock);

	if (!(mode & NUMA_BALANCING_MEMORY_TIERING))
		sources &= ~PGHOT_SOURCE_HINTFAULT;

	if (sources && !before)
		pghot_switch_on();
	WRITE_ONCE(pghot_active_sources, sources);
	if (sources & PGHOT_SOURCE_HINTFAULT)
		static_branch_enable(&pghot_hintfault_key);
	else
		static_branch_disable(&pghot_hintfault_key);
	if (!sources && before)
		pghot_switch_off();
}

/**
 * pghot_mode_change_begin - kernel.numa_balancing is about to be written
 *
 * Its value and the static key of NUMA balancing are written one after the
 * other. So that both are of the same writer, there is one at a time.
 *
 * Context: Process context, may sleep. To be followed by pghot_mode_change_end().
 */
void pghot_mode_change_begin(void)
{
	mutex_lock(&pghot_state_lock);
}

/**
 * pghot_mode_change_end - kernel.numa_balancing was written
 *
 * Context: Process context, may sleep.
 */
void pghot_mode_change_end(void)
{
	pghot_update_state();
	mutex_unlock(&pghot_state_lock);
}

/* ---- tunables and status ---- */

static int pghot_set_enabled_sources(int value)
{
	/* No driver of a hardware source has registered. */
	if (value & PGHOT_SOURCE_HWHINT)
		return -ENODEV;

	guard(mutex)(&pghot_state_lock);
	WRITE_ONCE(pghot_enabled_sources, value);
	pghot_update_state();
	return 0;
}

static int pghot_set_target_nid(int value)
{
	if (value != NUMA_NO_NODE && !kmigrated_target_ok(value))
		return -EINVAL;
	WRITE_ONCE(pghot_target_nid, value);
	return 0;
}

static int pghot_set_freq_window_ms(int value)
{
	u64 generation = FIELD_GET(PGHOT_CLOCK_GENERATION, pghot_clock) + 1;

	if (value == pghot_freq_window_ms)
		return 0;
	WRITE_ONCE(pghot_freq_window_ms, value);
	WRITE_ONCE(pghot_clock,
		   FIELD_PREP(PGHOT_CLOCK_GENERATION,
			      generation & FIELD_MAX(PGHOT_CLOCK_GENERATION)) |
		   FIELD_PREP(PGHOT_CLOCK_LENGTH, value));
	return 0;
}

static const struct pghot_tunable pghot_tunables[] = {
	{
		.sysctl	   = "pghot_enabled_sources",
		.value	   = &pghot_enabled_sources,
		.min	   = 0,
		.max	   = PGHOT_SOURCE_HINTFAULT | PGHOT_SOURCE_HWHINT,
		.set	   = pghot_set_enabled_sources,
	},
	{
		.sysctl	   = "pghot_target_nid",
		.value	   = &pghot_target_nid,
		.min	   = 0,
		.max	   = MAX_NUMNODES - 1,
		.minus_one = true,
		.set	   = pghot_set_target_nid,
	},
	{
		.sysctl	   = "pghot_freq_threshold",
		.value	   = &pghot_freq_threshold,
		.min	   = 1,
		.max	   = PGHOT_MAX_THRESHOLD,
	},
	{
		.sysctl	   = "pghot_promote_freq_window_ms",
		.value	   = &pghot_freq_window_ms,
		.min	   = 100,
		.max	   = 60000,
		.set	   = pghot_set_freq_window_ms,
	},
	{
		.sysctl	   = "pghot_hwhint_cpu_permille",
		.value	   = &pghot_hwhint_cpu_permille,
		.min	   = 1,
		.max	   = 250,
	},
};

static void pghot_show_spans(struct seq_file *m, int nid)
{
	const struct pghot_table *table;
	unsigned int i;

	guard(rcu)();
	table = rcu_dereference(pghot_table);
	for (i = 0; table && i < table->nr; i++) {
		if (table->spans[i].nid == nid)
			seq_printf(m, " 0x%lx-0x%lx", table->spans[i].start,
				   table->spans[i].end - 1);
	}
}

static int pghot_status_show(struct seq_file *m, void *unused)
{
	int nid;

	scoped_guard(mutex, &pghot_spans_lock) {
		seq_printf(m, "record_bytes %lu\n", pghot_record_bytes);
		seq_printf(m, "map_failures %lu\n", pghot_map_failures);
	}
	seq_printf(m, "queued_now %lu\n", kmigrated_queued_pages());
	for_each_node_state(nid, N_MEMORY) {
		if (node_is_toptier(nid))
			continue;
		seq_printf(m, "node %d: spans", nid);
		pghot_show_spans(m, nid);
		kmigrated_show_node(m, nid);
		seq_putc(m, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(pghot_status);

static int __init pghot_init(void)
{
	BUILD_BUG_ON(!IS_ENABLED(CONFIG_PGHOT_PRECISE) &&
		     PGHOT_MAX_NID + 1 != PGHOT_NR_SLOTS);
	BUILD_BUG_ON(IS_ENABLED(CONFIG_PGHOT_PRECISE) &&
		     PGHOT_MAX_NID + 1 < MAX_NUMNODES);

	hotplug_memory_notifier(pghot_memory_callback, DEFAULT_CALLBACK_PRI);
	get_online_mems();
	pghot_update_table();
	put_online_mems();

	pghot_register_tunables(pghot_tunables, ARRAY_SIZE(pghot_tunables));
	debugfs_create_file("status", 0444, pghot_debugfs_root(), NULL,
			    &pghot_status_fops);
	scoped_guard(mutex, &pghot_state_lock)
		pghot_update_state();
	return 0;
}

/* After kmigrated_init(), by the order of linking. */
late_initcall(pghot_init);

#include "tests/core-kunit.h"

// SPDX-License-Identifier: GPL-2.0
/*
 * kmigrated - promote folios to the top tier, later and elsewhere
 *
 * A hint fault that migrates a folio makes the application pay for the copy,
 * one folio at a time. Here the request is only noted down; a kernel thread of
 * the node that the folio is on takes requests together, and moves them in
 * calls of migrate_pages() that share one TLB flush.
 *
 *	kmigrated_promote_folio(folio, target)
 *	    |
 *	    v
 *	queue[source node][target node]	   bounded; full -> the caller is told
 *	    |
 *	    v  kmigrated<source>:	   at most kmigrated_sleep_ms later
 *	 rate limit of the target	   no tokens -> wait, nothing is dropped
 *	    |
 *	    v
 *	 judge each folio		   freed, moved, replaced, pinned, ...
 *	    |
 *	    v
 *	 chunk of equal folios ----------> migrate_pages()
 *
 * Three things shape the code.
 *
 * A request holds a PFN and no reference. Whatever happens to the folio between
 * the request and its turn is found out at its turn, and only there: the folio
 * may be freed, split, collapsed, moved or handed to somebody else. A reference
 * would pin it against all of these for as long as the queue is long.
 *
 * migrate_pages() keeps all folios of a call unmapped and locked until it has
 * copied the last. A thread that touches the first of them waits for the whole
 * call. So a call gets only as many pages as can be moved in a time that nobody
 * notices (KMIGRATED_CHUNK_NS), by the measured speed of the calls before it.
 *
 * migrate_pages() gives up on a whole call when it cannot get one new folio.
 * Hence a call holds folios of one order, so that a lack of huge pages stops
 * huge pages only.
 *
 * Every page of every request ends in exactly one vm event:
 *
 *	pghot_promote_queued = pghot_promote_success + pghot_refused_ineligible +
 *		policy + stale + target + isolate + migrate + (still queued)
 *
 * Locking
 *
 * kmigrated_lock	which nodes have a thread and which queues exist. Nests
 *			inside cpu_hotplug_lock and mem_hotplug_lock, since node
 *			notifiers run under both.
 * node->batch_lock	held while requests of this node are being worked on.
 *			Nests inside kmigrated_lock.
 * queue->lock		the ring; from any context but NMI.
 *
 * The requester finds the queue under RCU. Switching off clears the static key
 * and the queue pointers, waits for a grace period, then flushes and frees.
 */

#define pr_fmt(fmt) "pghot: " fmt

#include <linux/compaction.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/freezer.h>
#include <linux/hash.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/memory-tiers.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/node.h>
#include <linux/sched.h>
#include <linux/sched/numa_balancing.h>
#include <linux/sched/stat.h>
#include <linux/sched/sysctl.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_choices.h>
#include <linux/swap.h>
#include <linux/vmstat.h>

#include "../internal.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/pghot.h>

/*
 * Requests a queue can hold. 512 MiB of base pages on their way to one node
 * from one node: more than base would have moved in the fault before anybody
 * could stop it, and 3 MiB of memory, or 4 where that comes in one piece.
 */
#define KMIGRATED_QUEUE_SIZE	(128UL * 1024)

/* Slots of the filter that finds a folio which is queued already. */
#define KMIGRATED_FILTER_BITS	12

/*
 * Time that a call of migrate_pages() should take: what a thread that touches
 * one of its folios may have to wait.
 */
#define KMIGRATED_CHUNK_NS	(150 * NSEC_PER_USEC)
/*
 * But at least so many base pages, lest a machine that is slow for other reasons
 * flushes its TLBs for each page; and at most so many.
 */
#define KMIGRATED_CHUNK_MIN	16
#define KMIGRATED_CHUNK_MAX	64
/*
 * No page takes so long to move. If it seems to, the time goes into waiting: for a
 * CPU that is late to flush its TLB, or a host that runs something else. Smaller
 * chunks would not be faster, and there would be more of them to wait for.
 */
#define KMIGRATED_WAIT_NS	(40 * NSEC_PER_USEC)
/* Assumed until measured. */
#define KMIGRATED_PAGE_NS	(10 * NSEC_PER_USEC)

/*
 * How long the thread works, and then leaves the CPU to others that want it: a
 * time slice of its own would be longer than anybody should wait for this.
 */
#define KMIGRATED_TURN_US	100UL
/* It leaves the CPU for as long as it worked, and for no longer than this. */
#define KMIGRATED_TURN_MAX_US	10000UL

/*
 * A folio is not taken at once: the access that made it known may still be
 * under way, and those next to it follow.
 */
#define KMIGRATED_SETTLE_US	500

/* How often the thread looks in kmigrated_sleep_ms whether more is coming. */
#define KMIGRATED_LOOKS		8

/* Chunks that may be under construction at the same time. */
#define KMIGRATED_NR_CHUNKS	4

/* Above this, a rate limit is none; keeps the arithmetic within 64 bits. */
#define KMIGRATED_MAX_MBPS	1048576

#define KMIGRATED_MAX_BATCH	1024

DEFINE_STATIC_KEY_FALSE(kmigrated_active_key);

/* Of a request that tokens were paid for; next to KMIGRATED_HINT_FAULT, ... */
#define KMIGRATED_PAID		0x80

static int kmigrated_sleep_ms = 100;
static int kmigrated_batch_nr = 512;

/**
 * struct kmigrated_request - "this folio, to that node"
 * @pfn: Its first page.
 * @user: Whom to ask and tell; may be NULL.
 * @flags: KMIGRATED_*.
 * @order: Its order when the request was made.
 */
struct kmigrated_request {
	unsigned long pfn;
	const struct kmigrated_user *user;
	u8 flags;
	u8 order;
};

/**
 * struct kmigrated_queue - requests from one node to one other
 * @node: Where they come from.
 * @gone: Links the queues that are being freed.
 * @lock: Protects all below.
 * @pages: Pages of the requests in @ring.
 * @throttled: There were no tokens when the thread looked last.
 * @head: Number of requests ever put in; its low bits index @ring.
 * @tail: Number of requests ever taken out.
 * @filter: For a hash of a PFN, the position of the request that used it last.
 * @ring: The requests.
 */
struct kmigrated_queue {
	struct kmigrated_node *node;
	struct list_head gone;
	/* The ring */
	spinlock_t lock;
	unsigned long pages;
	bool throttled;
	unsigned int head;
	unsigned int tail;
	unsigned int filter[1 << KMIGRATED_FILTER_BITS];
	struct kmigrated_request ring[KMIGRATED_QUEUE_SIZE];
};

/**
 * struct kmigrated_chunk - folios for one call of migrate_pages()
 * @folios: Isolated, all of one order and one memcg.
 * @memcg: Their memcg, with a reference; NULL without one.
 * @nid: Where they go.
 * @order: Their order.
 * @nr: Requests in @requests.
 * @nr_pages: Pages in @folios.
 * @hint_fault: Hint faults asked for them.
 * @requests: One for each folio, in the order of @folios.
 */
struct kmigrated_chunk {
	struct list_head folios;
	struct mem_cgroup *memcg;
	int nid;
	unsigned int order;
	unsigned int nr;
	unsigned int nr_pages;
	bool hint_fault;
	struct kmigrated_request requests[KMIGRATED_CHUNK_MAX];
};

/**
 * struct kmigrated_work - what a node needs while the engine is active
 * @chunks: Chunks under construction.
 * @batch: Requests taken from a queue.
 * @planned: Pages for each target in chunks that have not moved yet.
 */
struct kmigrated_work {
	struct kmigrated_chunk chunks[KMIGRATED_NR_CHUNKS];
	struct kmigrated_request batch[KMIGRATED_MAX_BATCH];
	unsigned int planned[MAX_NUMNODES];
};

/**
 * struct kmigrated_node - one lower-tier node with memory
 * @nid: The node.
 * @thread: kmigrated<nid>.
 * @wait: Where it sleeps.
 * @queued: Pages in all of its queues, and in the batch being worked on.
 * @page_ns: Measured time to move a page of a folio, for each order.
 * @turn: Since when the thread has kept the CPU from others, in ns; 0: it has
 *	not.
 * @batch_lock: See the head of this file.
 * @work: Not NULL while active; under @batch_lock.
 * @queues: For each target node; NULL for those that are no target, and while
 *	inactive.
 */
struct kmigrated_node {
	int nid;
	struct task_struct *thread;
	wait_queue_head_t wait;
	atomic_long_t queued;
	unsigned int page_ns[NR_PAGE_ORDERS];
	u64 turn;
	/* While requests are being worked on */
	struct mutex batch_lock;
	struct kmigrated_work *work;
	struct kmigrated_queue __rcu *queues[];
};

static DEFINE_MUTEX(kmigrated_lock);
static bool kmigrated_active;
static struct kmigrated_node __rcu *kmigrated_nodes[MAX_NUMNODES];

/* ---- rate limit ---- */

/**
 * struct kmigrated_bucket - tokens of a target node, one token a page
 * @lock: Protects the others; the nodes below share their target's bucket.
 * @tokens: May be negative: the bucket lends for one folio.
 * @last: Until when tokens have been handed out, in ns.
 */
struct kmigrated_bucket {
	/* The two below */
	spinlock_t lock;
	s64 tokens;
	u64 last;
};

static struct kmigrated_bucket kmigrated_buckets[MAX_NUMNODES];

/* Pages a second that a limit in MB/s allows. */
static u64 kmigrated_rate(unsigned int mbps)
{
	return (u64)min(mbps, KMIGRATED_MAX_MBPS) << (20 - PAGE_SHIFT);
}

/*
 * Add the tokens of the time since the last call. The bucket holds those of one
 * second, as base allows that much at once too. Time too short for a token is
 * kept for the next call.
 */
static void kmigrated_bucket_fill(struct kmigrated_bucket *b, u64 rate, u64 now)
{
	u64 fresh;

	if (now - b->last >= NSEC_PER_SEC || now < b->last) {
		fresh = rate;
		b->last = now;
	} else {
		fresh = div_u64((now - b->last) * rate, NSEC_PER_SEC);
		b->last += div64_u64(fresh * NSEC_PER_SEC, rate);
	}
	b->tokens = min_t(s64, b->tokens + fresh, rate);
}

/*
 * Take @nr tokens if there is one, and go into debt for the others.
 * Return: 0, or the time in ns until there will be a token.
 */
static u64 kmigrated_bucket_take(struct kmigrated_bucket *b, u64 rate, u64 now,
				 unsigned int nr)
{
	kmigrated_bucket_fill(b, rate, now);
	if (b->tokens > 0) {
		b->tokens -= nr;
		return 0;
	}
	return div64_u64((1 - b->tokens) * NSEC_PER_SEC + rate - 1, rate);
}

static u64 kmigrated_rate_now(void)
{
	return kmigrated_rate(READ_ONCE(sysctl_numa_balancing_promote_rate_limit));
}

/* Hint faults bypass the limit while the target has plenty, as in base. */
static bool kmigrated_needs_tokens(unsigned int flags, bool plenty)
{
	return !(plenty && (flags & KMIGRATED_HINT_FAULT));
}

/**
 * kmigrated_take_tokens - may a hint fault promote by itself?
 * @nid: Target node.
 * @nr_pages: Pages of the folio.
 *
 * For faults that cannot queue their folio: they count on the rate limit, too.
 *
 * Context: Process context.
 * Return: false if the limit is reached.
 */
bool kmigrated_take_tokens(int nid, unsigned int nr_pages)
{
	struct kmigrated_bucket *bucket = &kmigrated_buckets[nid];
	u64 rate = kmigrated_rate_now();

	if (!rate)
		return false;
	if (!kmigrated_needs_tokens(KMIGRATED_HINT_FAULT,
				    numa_promotion_free_space_enough(nid)))
		return true;
	guard(spinlock_irq)(&bucket->lock);
	return !kmigrated_bucket_take(bucket, rate, ktime_get_ns(), nr_pages);
}

/* Give back what was paid for pages that were refused before they moved. */
static void kmigrated_refund(const struct kmigrated_request *rq, int nid,
			     unsigned int nr_pages)
{
	struct kmigrated_bucket *bucket = &kmigrated_buckets[nid];

	if (!(rq->flags & KMIGRATED_PAID))
		return;
	guard(spinlock_irq)(&bucket->lock);
	bucket->tokens += nr_pages;
}

/* ---- choice of the target ---- */

/* The candidate nearest to @from; the lowest number among equals. */
static int __kmigrated_nearest_node(int from, const nodemask_t *candidates,
				    int (*distance)(int from, int to))
{
	int nid, best = NUMA_NO_NODE;

	for_each_node_mask(nid, *candidates) {
		if (best == NUMA_NO_NODE ||
		    distance(from, nid) < distance(from, best))
			best = nid;
	}
	return best;
}

static int kmigrated_distance(int from, int to)
{
	return node_distance(from, to);
}

/**
 * kmigrated_nearest_node - find the nearest of some nodes
 * @from: Nearest to this one.
 * @candidates: The nodes to choose from.
 *
 * Context: Any.
 * Return: The node, or NUMA_NO_NODE if @candidates is empty.
 */
int kmigrated_nearest_node(int from, const nodemask_t *candidates)
{
	return __kmigrated_nearest_node(from, candidates, kmigrated_distance);
}

/**
 * kmigrated_target_ok - may pages be promoted to this node?
 * @nid: Any number.
 *
 * Context: Any.
 * Return: true for a top-tier node with memory.
 */
bool kmigrated_target_ok(int nid)
{
	return nid >= 0 && nid < nr_node_ids && node_state(nid, N_MEMORY) &&
	       node_is_toptier(nid);
}

/**
 * kmigrated_targets - find the nodes that pages may be promoted to
 * @targets: Set to the top-tier nodes with memory.
 *
 * Context: Any.
 */
void kmigrated_targets(nodemask_t *targets)
{
	int nid;

	nodes_clear(*targets);
	for_each_node_state(nid, N_MEMORY) {
		if (node_is_toptier(nid))
			node_set(nid, *targets);
	}
}

/* ---- settling a request ---- */

static unsigned int kmigrated_request_pages(const struct kmigrated_request *rq)
{
	return 1U << rq->order;
}

/* Count @nr_pages of @rq as @result. */
static void kmigrated_count(const struct kmigrated_request *rq,
			    enum kmigrated_result result, unsigned int nr_pages)
{
	if (!nr_pages)
		return;
	count_vm_events(PGHOT_PROMOTE_SUCCESS + result, nr_pages);
	if (result != KMIGRATED_SUCCESS)
		trace_pghot_refuse(rq->pfn, nr_pages, result);
}

static void kmigrated_done(const struct kmigrated_request *rq,
			   enum kmigrated_result result)
{
	if (rq->user && rq->user->done)
		rq->user->done(rq->pfn, kmigrated_request_pages(rq), result);
}

static void kmigrated_refuse(const struct kmigrated_request *rq,
			     enum kmigrated_result result)
{
	kmigrated_count(rq, result, kmigrated_request_pages(rq));
	kmigrated_done(rq, result);
}

/* ---- moving a chunk ---- */

/* Pages a chunk may hold: as many as move in KMIGRATED_CHUNK_NS. */
static unsigned int kmigrated_chunk_limit(unsigned int page_ns)
{
	if (page_ns > KMIGRATED_WAIT_NS)
		return KMIGRATED_CHUNK_MAX;
	return clamp(KMIGRATED_CHUNK_NS / max(page_ns, 1U),
		     KMIGRATED_CHUNK_MIN, KMIGRATED_CHUNK_MAX);
}

/* A quarter of the way to what was just measured. */
static unsigned int kmigrated_page_ns(unsigned int page_ns, u64 elapsed,
				      unsigned int nr_pages)
{
	u64 measured = div_u64(elapsed, nr_pages);

	return (3 * (u64)page_ns + min(measured, KMIGRATED_CHUNK_NS)) / 4;
}

/*
 * Settle the requests of a chunk after migrate_pages(). Failed folios are on
 * chunk->folios, and only these; one that was split may be there in part.
 */
static void kmigrated_settle_chunk(struct kmigrated_chunk *chunk)
{
	unsigned int i;

	for (i = 0; i < chunk->nr; i++) {
		struct kmigrated_request *rq = &chunk->requests[i];
		unsigned int nr_pages = 1U << chunk->order;
		unsigned int failed = 0;
		struct folio *folio;

		list_for_each_entry(folio, &chunk->folios, lru) {
			if (folio_pfn(folio) - rq->pfn < nr_pages)
				failed += folio_nr_pages(folio);
		}
		kmigrated_count(rq, KMIGRATED_SUCCESS, nr_pages - failed);
		kmigrated_count(rq, KMIGRATED_MIGRATE, failed);
		kmigrated_done(rq, failed ? KMIGRATED_MIGRATE :
					    KMIGRATED_SUCCESS);
	}
}

/* Between chunks, when nobody waits for a folio. */
static void kmigrated_give_way(struct kmigrated_node *node)
{
	unsigned long us;
	u64 now;

	if (single_task_running()) {
		node->turn = 0;
		return;
	}
	now = ktime_get_ns();
	if (!node->turn)
		node->turn = now;
	us = min(div_u64(now - node->turn, NSEC_PER_USEC),
		 KMIGRATED_TURN_MAX_US);
	if (us < KMIGRATED_TURN_US)
		return;
	/* For as long as the others did without it. */
	usleep_range(us, us + us / 4);
	node->turn = ktime_get_ns();
}

static void kmigrated_move_chunk(struct kmigrated_node *node,
				 struct kmigrated_chunk *chunk)
{
	unsigned int *page_ns = &node->page_ns[chunk->order];
	unsigned int moved;
	u64 held;

	if (!chunk->nr)
		return;

	moved = migrate_misplaced_folios(&chunk->folios, chunk->memcg,
					 chunk->nid, chunk->hint_fault, &held);
	trace_kmigrated_batch(node->nid, chunk->nid, chunk->nr_pages, moved,
			      div_u64(held, NSEC_PER_USEC));
	/* What failed early, for want of memory say, took no time. */
	if (moved == chunk->nr_pages)
		*page_ns = kmigrated_page_ns(*page_ns, held, moved);
	node->work->planned[chunk->nid] -= chunk->nr_pages;

	kmigrated_settle_chunk(chunk);
	if (!list_empty(&chunk->folios)) {
		putback_movable_pages(&chunk->folios);
		/* Onto the LRU, or they cannot be isolated the next time. */
		lru_add_drain();
	}
	mem_cgroup_put(chunk->memcg);
	chunk->nr = 0;
	chunk->nr_pages = 0;
	kmigrated_give_way(node);
	cond_resched();
}

/* The chunk that @folio belongs into, with room for it. */
static struct kmigrated_chunk *kmigrated_get_chunk(struct kmigrated_node *node,
						   struct folio *folio, int nid,
						   bool hint_fault)
{
	unsigned int order = folio_order(folio);
	unsigned int limit = kmigrated_chunk_limit(node->page_ns[order]);
	unsigned int nr_pages = folio_nr_pages(folio);
	struct mem_cgroup *memcg = get_mem_cgroup_from_folio(folio);
	struct kmigrated_chunk *chunk, *open = NULL;
	unsigned int i;

	for (i = 0; i < KMIGRATED_NR_CHUNKS; i++) {
		chunk = &node->work->chunks[i];
		if (!chunk->nr) {
			open = chunk;
			continue;
		}
		if (chunk->nid != nid || chunk->memcg != memcg ||
		    chunk->order != order ||
		    chunk->hint_fault != hint_fault)
			continue;
		if (chunk->nr_pages + nr_pages <= limit) {
			mem_cgroup_put(memcg);
			return chunk;
		}
		kmigrated_move_chunk(node, chunk);
		open = chunk;
		break;
	}
	if (!open) {
		open = &node->work->chunks[0];
		kmigrated_move_chunk(node, open);
	}
	open->memcg = memcg;
	open->nid = nid;
	open->order = order;
	open->hint_fault = hint_fault;
	return open;
}

/* ---- judging a request ---- */

/*
 * Get hold of the folio a request is about, if it still is what was meant. It
 * may have been split since: then the rest of the pages is not ours any more.
 * Return: The folio with a reference, or NULL: stale.
 */
static struct folio *kmigrated_get_folio(struct kmigrated_node *node,
					 const struct kmigrated_request *rq)
{
	struct folio *folio;
	struct page *page;

	/* Memory that goes offline waits for this before its memmap goes. */
	guard(rcu)();
	page = pfn_to_online_page(rq->pfn);
	if (!page)
		return NULL;
	folio = page_folio(page);
	if (!folio_try_get(folio))
		return NULL;
	if (folio_pfn(folio) != rq->pfn || folio_order(folio) > rq->order ||
	    folio_nid(folio) != node->nid || node_is_toptier(node->nid)) {
		folio_put(folio);
		return NULL;
	}
	return folio;
}

/*
 * Kinds of folios that are never promoted. Dirty file folios because not every
 * file system can move them in MIGRATE_ASYNC mode, as for hint faults in base.
 */
static bool kmigrated_eligible(struct folio *folio)
{
	/* A type: hugetlb, slab, page table, ... */
	if (page_has_type(&folio->page) || folio_is_zone_device(folio) ||
	    folio_test_ksm(folio))
		return false;
	if (!folio_test_anon(folio) && !folio_mapping(folio))
		return false;
	if (folio_maybe_dma_pinned(folio))
		return false;
	if (folio_is_file_lru(folio) && folio_test_dirty(folio))
		return false;
	return !folio_test_mlocked(folio) || compact_unevictable_allowed();
}

/*
 * Find the node for @folio: @want if it may and can take it, else the next
 * allowed top-tier node by distance from @want, unless @only that is allowed.
 */
static enum kmigrated_result
kmigrated_choose_target(struct kmigrated_node *node, struct folio *folio,
			int want, bool only, int *target)
{
	unsigned int order = folio_order(folio);
	struct mem_cgroup *memcg;
	unsigned int planned;
	nodemask_t allowed;
	int nid;

	kmigrated_targets(&allowed);
	memcg = get_mem_cgroup_from_folio(folio);
	mem_cgroup_node_filter_allowed(memcg, &allowed);
	mem_cgroup_put(memcg);
	if (only && !node_isset(want, allowed))
		return KMIGRATED_POLICY;
	if (only)
		allowed = nodemask_of_node(want);
	if (nodes_empty(allowed))
		return KMIGRATED_POLICY;

	while ((nid = kmigrated_nearest_node(want, &allowed)) != NUMA_NO_NODE) {
		planned = node->work->planned[nid] + folio_nr_pages(folio);
		if (migrate_misplaced_target_ready(nid, planned, order)) {
			*target = nid;
			return KMIGRATED_SUCCESS;
		}
		node_clear(nid, allowed);
	}
	return KMIGRATED_TARGET;
}

/* Everything but the tokens; @folio is the caller's. */
static enum kmigrated_result kmigrated_judge(struct kmigrated_node *node,
					     const struct kmigrated_request *rq,
					     struct folio *folio, int want,
					     int *target)
{
	if (rq->flags & KMIGRATED_DENY_POLICY)
		return KMIGRATED_POLICY;
	if (rq->flags & KMIGRATED_DENY_INELIGIBLE || !kmigrated_eligible(folio))
		return KMIGRATED_INELIGIBLE;
	if (rq->user && rq->user->wanted &&
	    !rq->user->wanted(rq->pfn, kmigrated_request_pages(rq)))
		return KMIGRATED_STALE;
	return kmigrated_choose_target(node, folio, want,
				       rq->flags & KMIGRATED_ONLY_TARGET,
				       target);
}

/* Put the folio of a request into a chunk, or refuse it. */
static void kmigrated_handle(struct kmigrated_node *node,
			     struct kmigrated_request *rq, int want)
{
	struct folio *folio = kmigrated_get_folio(node, rq);
	enum kmigrated_result result = KMIGRATED_STALE;
	struct kmigrated_chunk *chunk;
	unsigned int nr_pages, lost;
	int target;

	if (folio)
		result = kmigrated_judge(node, rq, folio, want, &target);
	if (result == KMIGRATED_SUCCESS && !migrate_misplaced_isolate(folio))
		result = KMIGRATED_ISOLATE;
	if (result != KMIGRATED_SUCCESS) {
		kmigrated_refund(rq, want, kmigrated_request_pages(rq));
		kmigrated_refuse(rq, result);
		goto put;
	}

	nr_pages = folio_nr_pages(folio);
	/* What a split took away since the request was made. */
	lost = kmigrated_request_pages(rq) - nr_pages;
	kmigrated_count(rq, KMIGRATED_STALE, lost);
	kmigrated_refund(rq, want, lost);

	chunk = kmigrated_get_chunk(node, folio, target,
				    rq->flags & KMIGRATED_HINT_FAULT);
	chunk->requests[chunk->nr++] = *rq;
	chunk->nr_pages += nr_pages;
	node->work->planned[target] += nr_pages;
	list_add_tail(&folio->lru, &chunk->folios);
put:
	/* An isolated folio has a reference of its own. */
	if (folio)
		folio_put(folio);
}

/* ---- batches ---- */

/*
 * May a request of @nr_pages join a batch that holds @taken? A batch is counted
 * in pages and never larger than @max, but for a single folio that is.
 */
static bool kmigrated_batch_fits(unsigned int taken, unsigned int nr_pages,
				 unsigned int max)
{
	return !taken || taken + nr_pages <= max;
}

/* What decides how much may be taken from a queue at the moment. */
struct kmigrated_limits {
	u64 rate;
	u64 now;
	unsigned int max;
	bool plenty;
};

/*
 * Take the next request of a queue, if the batch has room and the bucket tokens
 * for it.
 * @taken: Pages in the batch; those of the request are added.
 * @delay: Set to the time in ns until there are tokens again, if they ran out.
 */
static bool kmigrated_take_one(struct kmigrated_queue *queue, int nid,
			       const struct kmigrated_limits *limits,
			       struct kmigrated_request *rq,
			       unsigned int *taken, u64 *delay)
{
	struct kmigrated_bucket *bucket = &kmigrated_buckets[nid];
	unsigned int nr_pages;

	guard(spinlock_irq)(&queue->lock);
	WRITE_ONCE(queue->throttled, false);
	if (queue->tail == queue->head)
		return false;
	*rq = queue->ring[queue->tail % KMIGRATED_QUEUE_SIZE];
	nr_pages = kmigrated_request_pages(rq);
	if (!kmigrated_batch_fits(*taken, nr_pages, limits->max))
		return false;

	/* At limit 0 all is taken, to be flushed. */
	if (limits->rate && kmigrated_needs_tokens(rq->flags, limits->plenty)) {
		guard(spinlock)(&bucket->lock);
		*delay = kmigrated_bucket_take(bucket, limits->rate,
					       limits->now, nr_pages);
		if (*delay) {
			WRITE_ONCE(queue->throttled, true);
			return false;
		}
		rq->flags |= KMIGRATED_PAID;
	}
	*taken += nr_pages;
	WRITE_ONCE(queue->pages, queue->pages - nr_pages);
	queue->tail++;
	return true;
}

/*
 * Take requests from a queue, up to a batch and as far as there are tokens.
 * Return: The number of requests in @batch; @delay as above.
 */
static unsigned int kmigrated_take(struct kmigrated_queue *queue, int nid,
				   struct kmigrated_request *batch, u64 *delay)
{
	struct kmigrated_limits limits = {
		.rate	= kmigrated_rate_now(),
		.now	= ktime_get_ns(),
		.max	= READ_ONCE(kmigrated_batch_nr),
		.plenty	= numa_promotion_free_space_enough(nid),
	};
	unsigned int nr = 0, taken = 0;

	while (nr < KMIGRATED_MAX_BATCH &&
	       kmigrated_take_one(queue, nid, &limits, &batch[nr], &taken, delay))
		nr++;
	return nr;
}

/*
 * Whoever touches a folio of a chunk waits until the chunk has moved. So do not
 * lose the CPU meanwhile to somebody who does not need the folio, for a time
 * slice that is longer than all of the chunk. Between chunks,
 * kmigrated_give_way() lets others run. Not if an administrator has given the
 * thread another policy.
 */
static bool kmigrated_hold_cpu(void)
{
	if (current->policy != SCHED_NORMAL)
		return false;
	sched_set_fifo_low(current);
	return true;
}

/* Unless an administrator has changed the policy meanwhile. */
static void kmigrated_release_cpu(bool held)
{
	if (held && current->policy == SCHED_FIFO && current->rt_priority == 1)
		sched_set_normal(current, task_nice(current));
}

/*
 * Work on one batch of requests to @nid.
 * Return: whether there may be more; @delay as in kmigrated_take().
 */
static bool kmigrated_batch(struct kmigrated_node *node, int nid, u64 *delay)
{
	struct kmigrated_request *batch;
	struct kmigrated_queue *queue;
	unsigned int i, nr;
	long pages = 0;
	bool held;

	if (!rcu_access_pointer(node->queues[nid]))
		return false;

	guard(mutex)(&node->batch_lock);
	queue = rcu_dereference_protected(node->queues[nid],
					  lockdep_is_held(&node->batch_lock));
	if (!queue)
		return false;

	batch = node->work->batch;
	nr = kmigrated_take(queue, nid, batch, delay);
	if (*delay)
		count_vm_event(PGHOT_DEFERRED_RATELIMIT);
	if (!nr)
		return false;

	held = kmigrated_hold_cpu();
	for (i = 0; i < nr; i++) {
		kmigrated_give_way(node);
		pages += kmigrated_request_pages(&batch[i]);
		if (!READ_ONCE(sysctl_numa_balancing_promote_rate_limit))
			kmigrated_refuse(&batch[i], KMIGRATED_STALE);
		else
			kmigrated_handle(node, &batch[i], nid);
		cond_resched();
	}
	for (i = 0; i < KMIGRATED_NR_CHUNKS; i++)
		kmigrated_move_chunk(node, &node->work->chunks[i]);
	kmigrated_release_cpu(held);
	atomic_long_sub(pages, &node->queued);
	return !*delay;
}

/*
 * Work on the queues of a node in turn, until they are empty or out of tokens.
 * Return: the time in ns until the next has tokens, or 0: nothing is left.
 */
static u64 kmigrated_run(struct kmigrated_node *node)
{
	u64 delay, wait;
	bool more;
	int nid;

	do {
		more = false;
		wait = 0;
		for_each_node_state(nid, N_MEMORY) {
			delay = 0;
			more |= kmigrated_batch(node, nid, &delay);
			if (delay && (!wait || delay < wait))
				wait = delay;
		}
		/* A full queue may take longer than the freezer waits. */
		try_to_freeze();
	} while (more && !kthread_should_stop());
	return wait;
}

/* ---- the thread ---- */

/* Has a queue with tokens at least @pages? */
static bool kmigrated_has(struct kmigrated_node *node, unsigned long pages)
{
	struct kmigrated_queue *queue;
	int nid;

	guard(rcu)();
	for_each_node_state(nid, N_MEMORY) {
		queue = rcu_dereference(node->queues[nid]);
		if (queue && !READ_ONCE(queue->throttled) &&
		    READ_ONCE(queue->pages) >= pages)
			return true;
	}
	return false;
}

static bool kmigrated_batch_full(struct kmigrated_node *node)
{
	return kmigrated_has(node, READ_ONCE(kmigrated_batch_nr));
}

/*
 * Woken by a fault, the thread is on the CPU of the application, or on the one
 * it had the last time, and the scheduler leaves it there until its next
 * balance, some time slices later. Do not let the application pay for the move
 * with its CPU time instead of its fault: if there is an idle CPU, go there.
 */
static void kmigrated_find_idle_cpu(void)
{
	cpumask_var_t allowed;
	unsigned int cpu;

	if (single_task_running() || !alloc_cpumask_var(&allowed, GFP_KERNEL))
		return;
	cpumask_copy(allowed, current->cpus_ptr);
	for_each_cpu_and(cpu, allowed, cpu_online_mask) {
		if (!idle_cpu(cpu))
			continue;
		/*
		 * From there the scheduler may take it where it likes, and an
		 * administrator may have bound it meanwhile.
		 */
		if (!set_cpus_allowed_ptr(current, cpumask_of(cpu)) &&
		    cpumask_equal(current->cpus_ptr, cpumask_of(cpu)))
			set_cpus_allowed_ptr(current, allowed);
		break;
	}
	free_cpumask_var(allowed);
}

/*
 * Let requests come together to a batch, for kmigrated_sleep_ms at most. Who
 * asks for one folio asks for the next soon, or not at all: if there was none in
 * a part of that time, there is nothing to wait for.
 */
static void kmigrated_gather(struct kmigrated_node *node)
{
	unsigned int sleep_ms = READ_ONCE(kmigrated_sleep_ms);
	unsigned long end = jiffies + msecs_to_jiffies(sleep_ms);
	long before, queued = atomic_long_read(&node->queued);

	usleep_range(KMIGRATED_SETTLE_US, 2 * KMIGRATED_SETTLE_US);
	do {
		before = queued;
		if (wait_event_freezable_timeout(node->wait,
						 kmigrated_batch_full(node) ||
						 kthread_should_stop(),
						 msecs_to_jiffies(sleep_ms / KMIGRATED_LOOKS)))
			return;
		queued = atomic_long_read(&node->queued);
	} while (queued != before && time_before(jiffies, end));
}

static int kmigrated(void *arg)
{
	struct kmigrated_node *node = arg;
	u64 delay;

	set_freezable();
	while (!kthread_should_stop()) {
		/* Asleep until somebody asks for something. */
		wait_event_freezable(node->wait,
				     kmigrated_has(node, 1) ||
				     kthread_should_stop());
		kmigrated_gather(node);
		kmigrated_find_idle_cpu();
		node->turn = ktime_get_ns();
		/*
		 * Out of tokens for one target: wait for them, or for a batch
		 * for another, but look up now and then as the limit may change.
		 */
		while ((delay = kmigrated_run(node)) && !kthread_should_stop()) {
			delay = min_t(u64, delay, READ_ONCE(kmigrated_sleep_ms) *
						  NSEC_PER_MSEC);
			wait_event_freezable_timeout(node->wait,
						     kmigrated_batch_full(node) ||
						     kthread_should_stop(),
						     nsecs_to_jiffies(delay) + 1);
		}
	}
	return 0;
}

/* ---- requests ---- */

/* Is the folio at @pfn queued already, as far as the filter remembers? */
static bool kmigrated_is_queued(struct kmigrated_queue *queue, unsigned long pfn)
{
	unsigned int pos = queue->filter[hash_long(pfn, KMIGRATED_FILTER_BITS)];

	/* Only positions from tail to head are requests. */
	return pos - queue->tail < queue->head - queue->tail &&
	       queue->ring[pos % KMIGRATED_QUEUE_SIZE].pfn == pfn;
}

/* On success, @before is set to the pages that were in the queue. */
static int kmigrated_enqueue(struct kmigrated_queue *queue,
			     const struct kmigrated_request *rq,
			     unsigned long *before)
{
	guard(spinlock_irqsave)(&queue->lock);
	if (kmigrated_is_queued(queue, rq->pfn))
		return -EEXIST;
	if (queue->head - queue->tail >= KMIGRATED_QUEUE_SIZE)
		return -ENOSPC;
	queue->filter[hash_long(rq->pfn, KMIGRATED_FILTER_BITS)] = queue->head;
	queue->ring[queue->head++ % KMIGRATED_QUEUE_SIZE] = *rq;
	*before = queue->pages;
	WRITE_ONCE(queue->pages, queue->pages + kmigrated_request_pages(rq));
	return 0;
}

/**
 * kmigrated_promote_folio - ask for a folio to be moved to the top tier
 * @folio: On a lower-tier node. The caller keeps it from being freed or split
 *	during the call; no reference is kept.
 * @nid: Top-tier node that it should go to. If that is full or forbidden when
 *	the folio's turn comes, the next allowed one by distance is taken.
 * @flags: KMIGRATED_HINT_FAULT: numa_pages_migrated counts the move, and base's
 *	free space shortcut applies to the rate limit. KMIGRATED_ONLY_TARGET:
 *	to @nid or nowhere. KMIGRATED_DENY_POLICY,
 *	KMIGRATED_DENY_INELIGIBLE: the caller knows from its context that the
 *	folio may not move. It is refused for that reason in its turn, so that
 *	all refusals are counted in one place.
 * @user: Whom to ask and tell about it, or NULL.
 *
 * Whether the folio may move is decided when its turn comes, within about
 * kmigrated_sleep_ms, or later if the rate limit of @nid is reached.
 *
 * Context: Process and softirq context. Does not sleep.
 * Return: 0 if the request was taken. -EEXIST if there is one for this folio.
 * -ENOSPC if the queue is full; counted in pghot_refused_queue_full. -EPERM if
 * vm.pghot_promote_rate_limit_MBps is 0. -ENODEV if the engine is off, or the
 * nodes are not a lower-tier and a top-tier node.
 */
int kmigrated_promote_folio(struct folio *folio, int nid, unsigned int flags,
			    const struct kmigrated_user *user)
{
	struct kmigrated_request rq = {
		.pfn = folio_pfn(folio),
		.user = user,
		.flags = flags,
		.order = folio_order(folio),
	};
	unsigned int nr_pages = kmigrated_request_pages(&rq);
	struct kmigrated_queue *queue;
	struct kmigrated_node *node;
	unsigned long before, batch;
	int err;

	if (!static_branch_likely(&kmigrated_active_key))
		return -ENODEV;
	if (!READ_ONCE(sysctl_numa_balancing_promote_rate_limit))
		return -EPERM;

	guard(rcu)();
	node = rcu_dereference(kmigrated_nodes[folio_nid(folio)]);
	if (!node || nid < 0 || nid >= nr_node_ids)
		return -ENODEV;
	queue = rcu_dereference(node->queues[nid]);
	if (!queue)
		return -ENODEV;

	/* Before the thread can take the request and subtract. */
	atomic_long_add(nr_pages, &node->queued);
	err = kmigrated_enqueue(queue, &rq, &before);
	if (err) {
		atomic_long_sub(nr_pages, &node->queued);
		if (err == -ENOSPC)
			count_vm_events(PGHOT_REFUSED_QUEUE_FULL, nr_pages);
		return err;
	}
	count_vm_events(PGHOT_PROMOTE_QUEUED, nr_pages);
	trace_pghot_queue(rq.pfn, nr_pages, folio_nid(folio), nid);

	/* The thread waits for the first, then for a batch. */
	batch = READ_ONCE(kmigrated_batch_nr);
	if (!before || (before < batch && before + nr_pages >= batch))
		wake_up(&node->wait);
	return 0;
}

/* ---- on, off, nodes coming and going ---- */

static struct kmigrated_node *kmigrated_node(int nid)
{
	return rcu_dereference_protected(kmigrated_nodes[nid],
					 lockdep_is_held(&kmigrated_lock));
}

static struct kmigrated_queue *kmigrated_queue(struct kmigrated_node *node,
					       int nid)
{
	return rcu_dereference_protected(node->queues[nid],
					 lockdep_is_held(&kmigrated_lock));
}

/**
 * kmigrated_alloc - get zeroed memory near the CPUs that use it
 * @nid: The lower-tier node that it is for.
 * @size: In bytes.
 *
 * Never on slow memory: that would make each use of it slow, and pin it there.
 * Without it all goes on as in base, so it is not worth hard reclaim.
 *
 * Context: Process context, may sleep.
 * Return: Memory on the nearest top-tier node that has some, for kvfree(), or
 * NULL.
 */
void *kmigrated_alloc(int nid, size_t size)
{
	gfp_t gfp = GFP_KERNEL | __GFP_THISNODE | __GFP_NORETRY | __GFP_NOWARN;
	nodemask_t targets;
	void *memory;
	int target;

	kmigrated_targets(&targets);
	while ((target = kmigrated_nearest_node(nid, &targets)) != NUMA_NO_NODE) {
		memory = kvzalloc_node(size, gfp, target);
		if (memory)
			return memory;
		node_clear(target, targets);
	}
	return NULL;
}

static void kmigrated_alloc_work(struct kmigrated_node *node)
{
	struct kmigrated_work *work;
	unsigned int i;

	if (node->work)
		return;
	work = kmigrated_alloc(node->nid, sizeof(*work));
	if (!work)
		return;
	for (i = 0; i < KMIGRATED_NR_CHUNKS; i++)
		INIT_LIST_HEAD(&work->chunks[i].folios);
	guard(mutex)(&node->batch_lock);
	node->work = work;
}

static void kmigrated_alloc_queue(struct kmigrated_node *node, int nid)
{
	struct kmigrated_queue *queue;

	if (kmigrated_queue(node, nid))
		return;
	queue = kmigrated_alloc(node->nid, sizeof(*queue));
	if (!queue)
		return;
	queue->node = node;
	spin_lock_init(&queue->lock);
	rcu_assign_pointer(node->queues[nid], queue);
}

/*
 * What @node needs while active, as far as there is memory for it. A requester
 * that finds no queue is told so, and does without the engine.
 */
static void kmigrated_equip_node(struct kmigrated_node *node)
{
	int nid;

	kmigrated_alloc_work(node);
	if (!node->work)
		return;
	for_each_node_state(nid, N_MEMORY) {
		if (node_is_toptier(nid))
			kmigrated_alloc_queue(node, nid);
	}
}

/* Take a queue out of sight; kmigrated_free_queues() does the rest. */
static void kmigrated_detach_queue(struct kmigrated_node *node, int nid,
				   struct list_head *gone)
{
	struct kmigrated_queue *queue = kmigrated_queue(node, nid);

	if (!queue)
		return;
	/* The thread looks the queue up under this. */
	guard(mutex)(&node->batch_lock);
	RCU_INIT_POINTER(node->queues[nid], NULL);
	list_add(&queue->gone, gone);
}

/* Refuse what is in the detached queues, and free them. */
static void kmigrated_free_queues(struct list_head *gone)
{
	struct kmigrated_queue *queue, *next;
	struct kmigrated_request *rq;

	if (list_empty(gone))
		return;
	/* Requesters that still saw a queue have put their request in it. */
	synchronize_rcu();
	list_for_each_entry_safe(queue, next, gone, gone) {
		for (; queue->tail != queue->head; queue->tail++) {
			rq = &queue->ring[queue->tail % KMIGRATED_QUEUE_SIZE];
			atomic_long_sub(kmigrated_request_pages(rq),
					&queue->node->queued);
			kmigrated_refuse(rq, KMIGRATED_STALE);
			cond_resched();
		}
		kvfree(queue);
	}
}

static void kmigrated_strip_node(struct kmigrated_node *node)
{
	LIST_HEAD(gone);
	int nid;

	for_each_node(nid)
		kmigrated_detach_queue(node, nid, &gone);
	kmigrated_free_queues(&gone);

	guard(mutex)(&node->batch_lock);
	kvfree(node->work);
	node->work = NULL;
}

/* The node @nid is no target any more. */
static void kmigrated_remove_target(int nid)
{
	LIST_HEAD(gone);
	int source;

	for_each_node(source) {
		if (kmigrated_node(source))
			kmigrated_detach_queue(kmigrated_node(source), nid,
					       &gone);
	}
	kmigrated_free_queues(&gone);
}

static void kmigrated_add_node(int nid)
{
	struct kmigrated_node *node;

	node = kzalloc_flex(*node, queues, nr_node_ids);
	if (!node)
		goto nomem;
	node->nid = nid;
	memset32(node->page_ns, KMIGRATED_PAGE_NS, NR_PAGE_ORDERS);
	init_waitqueue_head(&node->wait);
	mutex_init(&node->batch_lock);

	/* Of no node: else it could only run on the CPUs of that node. */
	node->thread = kthread_create(kmigrated, node, "kmigrated%d", nid);
	if (IS_ERR(node->thread)) {
		kfree(node);
		goto nomem;
	}
	rcu_assign_pointer(kmigrated_nodes[nid], node);
	wake_up_process(node->thread);
	return;
nomem:
	pr_warn("no kmigrated%d for lack of memory: pages of node %d are promoted by the page fault\n",
		nid, nid);
}

static void kmigrated_remove_node(int nid)
{
	struct kmigrated_node *node = kmigrated_node(nid);

	RCU_INIT_POINTER(kmigrated_nodes[nid], NULL);
	kthread_stop(node->thread);
	kmigrated_strip_node(node);
	synchronize_rcu();
	kfree(node);
}

/* Make threads and queues follow the nodes as they are now. */
static void kmigrated_update(void)
{
	struct kmigrated_node *node;
	int nid;

	lockdep_assert_held(&kmigrated_lock);

	for_each_node(nid) {
		bool lower = node_state(nid, N_MEMORY) && !node_is_toptier(nid);

		if (lower && !kmigrated_node(nid))
			kmigrated_add_node(nid);
		else if (!lower && kmigrated_node(nid))
			kmigrated_remove_node(nid);
		if (!kmigrated_target_ok(nid))
			kmigrated_remove_target(nid);
	}
	for_each_node(nid) {
		node = kmigrated_node(nid);
		if (!node)
			continue;
		if (kmigrated_active)
			kmigrated_equip_node(node);
		else
			kmigrated_strip_node(node);
	}
}

static void kmigrated_set_active(bool active)
{
	/* The static key wants the first; node notifiers run under it. */
	guard(cpus_read_lock)();
	guard(mutex)(&kmigrated_lock);

	if (kmigrated_active == active)
		return;
	kmigrated_active = active;
	if (!active)
		static_branch_disable_cpuslocked(&kmigrated_active_key);
	kmigrated_update();
	if (active)
		static_branch_enable_cpuslocked(&kmigrated_active_key);
}

/**
 * kmigrated_start - switch the engine on
 *
 * Context: Process context, may sleep. No lock of memory hotplug.
 */
void kmigrated_start(void)
{
	kmigrated_set_active(true);
}

/**
 * kmigrated_stop - switch the engine off
 *
 * Refuses what is queued as stale. On return no request is left, and no memory
 * of the queues.
 *
 * Context: Process context, may sleep. No lock of memory hotplug.
 */
void kmigrated_stop(void)
{
	kmigrated_set_active(false);
}

/* Below memory-tiers: it must know the tier of a new node before us. */
#define KMIGRATED_HOTPLUG_PRI	(MEMTIER_HOTPLUG_PRI - 1)

static int __meminit kmigrated_node_callback(struct notifier_block *self,
					     unsigned long action, void *arg)
{
	if (action == NODE_ADDED_FIRST_MEMORY ||
	    action == NODE_REMOVED_LAST_MEMORY) {
		guard(mutex)(&kmigrated_lock);
		kmigrated_update();
	}
	return NOTIFY_OK;
}

/**
 * kmigrated_show_node - print the state of a node for <debugfs>/pghot/status
 * @m: Where to.
 * @nid: The node.
 *
 * Context: Process context, may sleep.
 */
void kmigrated_show_node(struct seq_file *m, int nid)
{
	struct kmigrated_node *node;

	guard(mutex)(&kmigrated_lock);
	node = kmigrated_node(nid);
	if (!node) {
		seq_puts(m, " queue 0 thread none");
		return;
	}
	seq_printf(m, " queue %ld thread %s", atomic_long_read(&node->queued),
		   node->thread->comm);
}

/**
 * kmigrated_queued_pages - count the pages that wait to be promoted
 *
 * Context: Process context, may sleep.
 * Return: Pages in all queues, and in the batch that is being moved.
 */
unsigned long kmigrated_queued_pages(void)
{
	unsigned long pages = 0;
	int nid;

	guard(mutex)(&kmigrated_lock);
	for_each_node(nid) {
		if (kmigrated_node(nid))
			pages += atomic_long_read(&kmigrated_node(nid)->queued);
	}
	return pages;
}

static const struct pghot_tunable kmigrated_tunables[] = {
	{
		.debugfs = "kmigrated_sleep_ms",
		.value	 = &kmigrated_sleep_ms,
		.min	 = 50,
		.max	 = 1000,
	},
	{
		.debugfs = "kmigrated_batch_nr",
		.value	 = &kmigrated_batch_nr,
		.min	 = 64,
		.max	 = KMIGRATED_MAX_BATCH,
	},
	{
		.sysctl	 = "pghot_promote_rate_limit_MBps",
		.value	 = (int *)&sysctl_numa_balancing_promote_rate_limit,
		.min	 = 0,
		.max	 = KMIGRATED_MAX_MBPS,
	},
};

static void __init kmigrated_report(void)
{
	nodemask_t lower = NODE_MASK_NONE, targets;
	int nid;

	kmigrated_targets(&targets);
	for_each_node_state(nid, N_MEMORY) {
		if (kmigrated_node(nid))
			node_set(nid, lower);
	}
	if (nodes_empty(lower))
		pr_info("nothing to promote: no node with memory is below the top tier (nodes %*pbl)\n",
			nodemask_pr_args(&targets));
	else
		pr_info("tracking lower-tier nodes %*pbl, promoting to nodes %*pbl, demotion is %s\n",
			nodemask_pr_args(&lower), nodemask_pr_args(&targets),
			str_on_off(numa_demotion_enabled));
}

static int __init kmigrated_init(void)
{
	int nid;

	for_each_node(nid)
		spin_lock_init(&kmigrated_buckets[nid].lock);

	hotplug_node_notifier(kmigrated_node_callback, KMIGRATED_HOTPLUG_PRI);
	scoped_guard(mutex, &kmigrated_lock) {
		kmigrated_update();
		kmigrated_report();
	}
	pghot_register_tunables(kmigrated_tunables,
				ARRAY_SIZE(kmigrated_tunables));
	return 0;
}

/* Once memory-tiers has sorted the nodes: after it, by the order of linking. */
late_initcall(kmigrated_init);

#include "tests/kmigrated-kunit.h"

// SPDX-License-Identifier: GPL-2.0
/*
 * Hot pages of a lower-tier node get to the top tier, cold ones do not, and
 * the copying is done by kmigrated and not in the page fault.
 *
 * For each kind of memory which NUMA balancing looks at: fill it on the
 * lower-tier node, let a thread on a top-tier CPU touch a quarter of it at
 * random, and wait until 99 % of that quarter has been promoted.  Then at
 * most 1 % of the rest may have moved, every promotion must be one of
 * kmigrated's, folios must have kept their size and pages their content:
 * writes made while the pages moved are counted in the pages themselves.
 */
#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

FIXTURE(promote)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker;
};

FIXTURE_VARIANT(promote)
{
	enum pghot_kind kind;
	size_t len;
	size_t hot;
	size_t folio;		/* size to be kept, 0: not looked at */
	bool write;
};

FIXTURE_VARIANT_ADD(promote, anon)
{
	.kind = PGHOT_ANON,
	.len = 512 * MB,
	.hot = 128 * MB,
	.write = true,
};

FIXTURE_VARIANT_ADD(promote, thp)
{
	.kind = PGHOT_THP,
	.len = 256 * MB,
	.hot = 64 * MB,
	.folio = 2 * MB,
	.write = true,
};

FIXTURE_VARIANT_ADD(promote, mthp_64k)
{
	.kind = PGHOT_MTHP,
	.len = 256 * MB,
	.hot = 64 * MB,
	.folio = MB / 16,
	.write = true,
};

FIXTURE_VARIANT_ADD(promote, shmem)
{
	.kind = PGHOT_SHMEM,
	.len = 256 * MB,
	.hot = 64 * MB,
	.write = true,
};

FIXTURE_VARIANT_ADD(promote, file)
{
	.kind = PGHOT_FILE,
	.len = 64 * MB,
	.hot = 16 * MB,
	/* dirty file pages are not moved */
	.write = false,
};

FIXTURE_SETUP(promote)
{
	ASSERT_OK(pghot_setup(&self->topo, 1, 1));
}

FIXTURE_TEARDOWN(promote)
{
	pghot_worker_stop(&self->worker);
	pghot_region_destroy(&self->region);
	pghot_restore();
}

TEST_F_TIMEOUT(promote, hot_and_only_hot, 900)
{
	int lower = pghot_lower_node(&self->topo, 0);
	int top = pghot_top_node(&self->topo, 0);
	struct pghot_region *r = &self->region;
	struct pghot_worker *w = &self->worker;
	struct pghot_counters before, delta;
	long hot, cold;
	int took;

	ASSERT_OK(pghot_region_create(r, variant->kind, variant->len, lower));
	ASSERT_OK(pghot_read_counters(&before));

	w->cpu = self->topo.cpu[top];
	w->addr = r->addr;
	w->len = variant->hot;
	w->write = variant->write;
	ASSERT_OK(pghot_worker_start(w));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, r->addr, variant->hot,
				      99, 20000, &took));
	/* Time for cold pages to go astray as well: one more scan. */
	pghot_sleep_ms(1500);
	pghot_worker_stop(w);

	ASSERT_OK(pghot_set(NUMA_BALANCING, "0"));
	ASSERT_OK(pghot_settled(5000));
	pghot_counters_since(&delta, &before);
	pghot_print_counters(&delta);

	hot = pghot_pages_on_top(&self->topo, r->addr, variant->hot);
	cold = pghot_pages_on_top(&self->topo, r->addr + variant->hot,
				  variant->len - variant->hot);
	TH_LOG("hot %ld of %lu, cold %ld of %lu promoted, 99 %% in %d ms",
	       hot, variant->hot / psize(), cold,
	       (variant->len - variant->hot) / psize(), took);
	EXPECT_GE(hot * 100, (long)(variant->hot / psize()) * 99);
	EXPECT_LE(cold * 100, (long)((variant->len - variant->hot) / psize()));

	/* Every promotion was made by kmigrated and came through its queue. */
	EXPECT_GE(delta.c[PROMOTE_SUCCESS], hot + cold);
	EXPECT_EQ(delta.c[PROMOTE_SUCCESS], delta.c[PGPROMOTE_SUCCESS]);
	EXPECT_GE(delta.c[PROMOTE_QUEUED], delta.c[PROMOTE_SUCCESS]);
	EXPECT_GE(delta.c[REPORTED_HINTFAULTS], delta.c[RECORDED_ACCESSES]);
	EXPECT_GT(delta.c[RECORDED_ACCESSES], 0);
	EXPECT_EQ(delta.c[REFUSED_QUEUE_FULL], 0);

	if (variant->folio)
		EXPECT_TRUE(check_huge_anon(r->addr, r->len,
					    r->len / variant->folio,
					    variant->folio));
	ASSERT_OK(pghot_region_verify(r, 0, r->len,
				      w->write ? w->touches : 0));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

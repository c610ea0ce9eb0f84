// SPDX-License-Identifier: GPL-2.0
/*
 * A hot page goes to the node which accesses it, not just to some fast node.
 *
 * Two threads on the CPUs of two top-tier nodes touch one half each of a
 * region on the lower-tier node: at the end 98 % of each half is on the node
 * of its own thread.  A promotion engine which forgets the accessor and sends
 * everything to one node passes every other test and fails this one.
 */
#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION	(256 * MB)
#define HALF	(REGION / 2)

FIXTURE(placement)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker[2];
};

FIXTURE_VARIANT(placement)
{
	enum pghot_kind kind;
};

FIXTURE_VARIANT_ADD(placement, anon)
{
	.kind = PGHOT_ANON,
};

FIXTURE_VARIANT_ADD(placement, thp)
{
	.kind = PGHOT_THP,
};

FIXTURE_SETUP(placement)
{
	ASSERT_OK(pghot_setup(&self->topo, 2, 1));
}

FIXTURE_TEARDOWN(placement)
{
	pghot_worker_stop(&self->worker[0]);
	pghot_worker_stop(&self->worker[1]);
	pghot_region_destroy(&self->region);
	pghot_restore();
}

TEST_F_TIMEOUT(placement, halves_go_home, 900)
{
	int lower = pghot_lower_node(&self->topo, 0);
	struct pghot_region *r = &self->region;
	struct pghot_counters before, delta;
	int node[2], took, i;

	ASSERT_OK(pghot_region_create(r, variant->kind, REGION, lower));
	ASSERT_OK(pghot_read_counters(&before));
	for (i = 0; i < 2; i++) {
		struct pghot_worker *w = &self->worker[i];

		node[i] = pghot_top_node(&self->topo, i);
		w->cpu = self->topo.cpu[node[i]];
		w->addr = r->addr + i * HALF;
		w->len = HALF;
		w->write = true;
		ASSERT_OK(pghot_worker_start(w));
	}
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(pghot_wait_promoted(&self->topo, node[i],
					      r->addr + i * HALF, HALF, 98,
					      40000, &took));
		TH_LOG("node %d has 98 %% of its half %d ms later", node[i],
		       took);
	}
	for (i = 0; i < 2; i++)
		pghot_worker_stop(&self->worker[i]);
	ASSERT_OK(pghot_set(NUMA_BALANCING, "0"));
	ASSERT_OK(pghot_settled(5000));
	pghot_counters_since(&delta, &before);
	pghot_print_counters(&delta);

	/* Still there, and brought there by kmigrated. */
	for (i = 0; i < 2; i++)
		EXPECT_GE(pghot_pages_on(node[i], r->addr + i * HALF, HALF) *
			  100, (long)(HALF / psize()) * 98);
	EXPECT_EQ(delta.c[PROMOTE_SUCCESS], delta.c[PGPROMOTE_SUCCESS]);
	for (i = 0; i < 2; i++)
		ASSERT_OK(pghot_region_verify(r, i * HALF, HALF,
					      self->worker[i].touches));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

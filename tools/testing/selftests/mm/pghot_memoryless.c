// SPDX-License-Identifier: GPL-2.0
/*
 * Memory which is hot on a CPU whose node has no memory.
 *
 * Elsewhere such a promotion has crashed the kernel (waking kswapd of a node
 * without zones).  Here it goes to the nearest top-tier node which does have
 * memory, for hint faults too, unlike in mainline, which refuses it.
 */
#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION	(64 * MB)

FIXTURE(memoryless)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker;
	int bare;		/* node with a CPU and no memory */
};

FIXTURE_SETUP(memoryless)
{
	int nid;

	ASSERT_OK(pghot_setup(&self->topo, 1, 1));
	self->bare = -1;
	for (nid = 0; nid < self->topo.nr; nid++)
		if (self->topo.online[nid] && !self->topo.memory[nid] &&
		    self->topo.cpu[nid] >= 0)
			self->bare = nid;
	ASSERT_GE(self->bare, 0)
		TH_LOG("precondition: no node with a CPU and no memory");
}

FIXTURE_TEARDOWN(memoryless)
{
	pghot_worker_stop(&self->worker);
	pghot_region_destroy(&self->region);
	pghot_restore();
}

/* Nearest by the kernel's own distances. */
static int nearest_top(const struct pghot_topology *topo, int from)
{
	int best = -1, best_dist = 1 << 30, nid, dist, used, at = 0;
	char path[128], buf[4096];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/distance",
		 from);
	if (pghot_read(path, buf, sizeof(buf)))
		return -1;
	for (nid = 0; nid < topo->nr; nid++) {
		if (!topo->online[nid])
			continue;
		if (sscanf(buf + at, "%d%n", &dist, &used) != 1)
			return -1;
		at += used;
		if (topo->top[nid] && topo->memory[nid] && dist < best_dist) {
			best_dist = dist;
			best = nid;
		}
	}
	return best;
}

TEST_F_TIMEOUT(memoryless, promoted_to_nearest, 900)
{
	int nearest = nearest_top(&self->topo, self->bare);
	int lower = pghot_lower_node(&self->topo, 0);
	struct pghot_region *r = &self->region;
	struct pghot_worker *w = &self->worker;
	struct pghot_counters before, delta;
	int took;

	ASSERT_GE(nearest, 0);
	ASSERT_OK(pghot_region_create(r, PGHOT_ANON, REGION, lower));
	ASSERT_OK(pghot_read_counters(&before));
	w->cpu = self->topo.cpu[self->bare];
	w->addr = r->addr;
	w->len = REGION;
	w->write = true;
	ASSERT_OK(pghot_worker_start(w));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_promoted(&self->topo, nearest, r->addr, REGION,
				      99, 20000, &took));
	TH_LOG("CPU on node %d: 99 %% on node %d in %d ms", self->bare,
	       nearest, took);
	pghot_worker_stop(w);
	ASSERT_OK(pghot_set(NUMA_BALANCING, "0"));
	ASSERT_OK(pghot_settled(5000));
	pghot_counters_since(&delta, &before);
	pghot_print_counters(&delta);
	EXPECT_EQ(delta.c[PROMOTE_SUCCESS], delta.c[PGPROMOTE_SUCCESS]);
	ASSERT_OK(pghot_region_verify(r, 0, r->len, w->touches));
	ASSERT_OK(pghot_assert_conservation());
}

/* Such a node has nothing to promote to. */
TEST_F(memoryless, refused_as_target)
{
	char nid[16], buf[16];

	snprintf(nid, sizeof(nid), "%d", self->bare);
	EXPECT_EQ(pghot_write(PGHOT_TARGET_NID, nid), -EINVAL);
	EXPECT_EQ(pghot_write(PGHOT_DEBUGFS("target_nid"), nid), -EINVAL);
	ASSERT_OK(pghot_read(PGHOT_TARGET_NID, buf, sizeof(buf)));
	EXPECT_STREQ(buf, "-1");
}

TEST_HARNESS_MAIN

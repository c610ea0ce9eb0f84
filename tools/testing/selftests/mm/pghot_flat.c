// SPDX-License-Identifier: GPL-2.0
/*
 * A machine whose nodes are all in one memory tier.
 *
 * "Nothing is promoted and nothing says why" must not happen: the kernel log
 * says in one line that there is no lower-tier node.  There is no kmigrated
 * thread, nothing is promoted, recorded or allocated whatever NUMA balancing
 * does, and the knobs work as everywhere.
 */
#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION	(64 * MB)

FIXTURE(flat)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker;
	struct pghot_status status;
};

FIXTURE_SETUP(flat)
{
	int nr = 0, nid;

	ASSERT_OK(pghot_setup(&self->topo, 1, 0));
	for (nid = 0; nid < self->topo.nr; nid++)
		nr += self->topo.memory[nid];
	ASSERT_EQ(pghot_lower_node(&self->topo, 0), -1)
		TH_LOG("precondition: there is a lower tier");
	ASSERT_GE(nr, 2)
		TH_LOG("precondition: fewer than two nodes with memory");
}

FIXTURE_TEARDOWN(flat)
{
	pghot_worker_stop(&self->worker);
	pghot_region_destroy(&self->region);
	pghot_restore();
}

TEST_F(flat, log_says_why)
{
	char log[4096];

	ASSERT_EQ(pghot_dmesg("] pghot: ", log, sizeof(log)), 1)
		TH_LOG("lines with 'pghot: ' are: %s", log);
	TH_LOG("%s", log);
	EXPECT_NE(strstr(log, "no node with memory is below the top tier"),
		  NULL);
}

TEST_F(flat, no_thread_no_node)
{
	int nid;

	for (nid = 0; nid < self->topo.nr; nid++)
		EXPECT_EQ(pghot_kmigrated(nid), -1)
			TH_LOG("kmigrated%d exists", nid);
	ASSERT_OK(pghot_read_status(&self->status));
	EXPECT_EQ(self->status.nr_nodes, 0);
}

/* Under mode 3, as under mode 1, pages do move: by NUMA balancing alone. */
TEST_F_TIMEOUT(flat, nothing_promoted, 900)
{
	int local = pghot_top_node(&self->topo, 0), remote = -1, nid;
	struct pghot_region *r = &self->region;
	struct pghot_worker *w = &self->worker;
	struct pghot_counters before, delta;
	int i;

	for (nid = 0; nid < self->topo.nr; nid++)
		if (self->topo.memory[nid] && nid != local)
			remote = nid;
	ASSERT_OK(pghot_region_create(r, PGHOT_ANON, REGION, remote));
	ASSERT_OK(pghot_read_counters(&before));
	w->cpu = self->topo.cpu[local];
	w->addr = r->addr;
	w->len = REGION;
	w->write = true;
	ASSERT_OK(pghot_worker_start(w));

	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	pghot_sleep_ms(4000);
	pghot_counters_since(&delta, &before);
	EXPECT_EQ(delta.c[NUMA_PAGES_MIGRATED], 0);
	ASSERT_OK(pghot_set(NUMA_BALANCING, "3"));
	ASSERT_OK(pghot_wait_counter(NUMA_PAGES_MIGRATED, 1024, &before,
				     20000));
	ASSERT_OK(pghot_read_status(&self->status));
	EXPECT_EQ(self->status.record_bytes, 0);
	pghot_worker_stop(w);

	ASSERT_OK(pghot_set(NUMA_BALANCING, "0"));
	pghot_counters_since(&delta, &before);
	pghot_print_counters(&delta);
	for (i = 0; i < NR_PGHOT_COUNTERS; i++)
		EXPECT_EQ(delta.c[i], 0)
			TH_LOG("%s moved", pghot_counter_names[i]);
	EXPECT_EQ(delta.c[PGPROMOTE_SUCCESS], 0);
	ASSERT_OK(pghot_region_verify(r, 0, r->len, w->touches));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_F(flat, knobs_work)
{
	static const char * const tries[][2] = {
		{ PGHOT_SOURCES, "0" },
		{ PGHOT_SOURCES, "1" },
		{ PGHOT_RATE_LIMIT, "0" },
		{ PGHOT_RATE_LIMIT, "100" },
		{ PGHOT_SLEEP_MS, "50" },
		{ PGHOT_BATCH_NR, "64" },
		{ PGHOT_TARGET_NID, "0" },
		{ PGHOT_TARGET_NID, "-1" },
	};
	char buf[32];
	int i;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		ASSERT_OK(pghot_set(tries[i][0], tries[i][1]));
		ASSERT_OK(pghot_read(tries[i][0], buf, sizeof(buf)));
		EXPECT_STREQ(buf, tries[i][1]);
	}
	EXPECT_EQ(pghot_write(PGHOT_SOURCES, "4"), -EINVAL);
	EXPECT_EQ(pghot_write(PGHOT_TARGET_NID, "63"), -EINVAL);
}

TEST_HARNESS_MAIN

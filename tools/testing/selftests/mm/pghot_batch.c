// SPDX-License-Identifier: GPL-2.0
/*
 * kmigrated moves many pages in a call while the accessors are busy.
 *
 * The size of a call follows the measured time of the calls before.  A part
 * of that time is the same for any size: TLB flushes which wait for a CPU,
 * preemption.  If that is charged to the pages, a smaller call looks slower
 * for each page, gets smaller still, and ends at one page, where moving
 * costs the most.  So with a backlog, on CPUs which are all busy, look at how
 * large the calls are, in the tracepoint kmigrated_batch.
 */
#include <sys/mount.h>

#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION		(64 * MB)
#define PAGES		((long)(REGION / psize()))
#define TRACING		"/sys/kernel/tracing"
#define EVENT		TRACING "/events/pghot/kmigrated_batch/enable"
#define NR_WORKERS	2
#define WANTED		8

FIXTURE(batch)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker[NR_WORKERS];
	struct pghot_counters before;
};

FIXTURE_SETUP(batch)
{
	ASSERT_OK(pghot_setup(&self->topo, 2, 1));
	if (access(TRACING "/trace", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	ASSERT_EQ(access(EVENT, W_OK), 0)
		TH_LOG("precondition: no " EVENT);
}

FIXTURE_TEARDOWN(batch)
{
	int i;

	pghot_write(EVENT, "0");
	for (i = 0; i < NR_WORKERS; i++)
		pghot_worker_stop(&self->worker[i]);
	pghot_region_destroy(&self->region);
	pghot_restore();
}

/* Sum up the pages and the number of calls in the trace buffer. */
static const char *read_trace(long *pages, long *calls)
{
	char line[512], *at;
	FILE *f;
	long nr;

	*pages = 0;
	*calls = 0;
	f = fopen(TRACING "/trace", "r");
	if (!f)
		return pghot_error("trace cannot be read");
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, " kmigrated_batch: ");
		at = at ? strstr(at, " pages=") : NULL;
		if (!at || sscanf(at, " pages=%ld", &nr) != 1)
			continue;
		*pages += nr;
		++*calls;
	}
	fclose(f);
	return NULL;
}

TEST_F_TIMEOUT(batch, backlog_moves_in_batches, 900)
{
	int lower = pghot_lower_node(&self->topo, 0);
	long pages, calls;
	int i;

	ASSERT_LT(pghot_node_free_pages(pghot_top_node(&self->topo, 0)),
		  (long)(1024 * MB / psize()))
		TH_LOG("precondition: 1 GiB free, no limit binds");
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, "1"));
	ASSERT_OK(pghot_region_create(&self->region, PGHOT_ANON, REGION,
				      lower));
	ASSERT_OK(pghot_read_counters(&self->before));
	for (i = 0; i < NR_WORKERS; i++) {
		struct pghot_worker *w = &self->worker[i];

		w->cpu = self->topo.cpu[pghot_top_node(&self->topo, i)];
		w->addr = self->region.addr + i * (REGION / NR_WORKERS);
		w->len = REGION / NR_WORKERS;
		w->write = true;
		ASSERT_OK(pghot_worker_start(w));
	}
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_QUEUED, PAGES * 9 / 10,
				     &self->before, 30000));
	ASSERT_EQ(pghot_write(TRACING "/trace", " "), 0);
	ASSERT_EQ(pghot_write(EVENT, "1"), 0);
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr,
				      REGION, 99, 30000, NULL));
	ASSERT_EQ(pghot_write(EVENT, "0"), 0);
	ASSERT_OK(read_trace(&pages, &calls));
	TH_LOG("%ld pages in %ld calls", pages, calls);
	EXPECT_GT(pages, PAGES / 4);
	EXPECT_GE(pages, calls * WANTED);

	for (i = 0; i < NR_WORKERS; i++)
		pghot_worker_stop(&self->worker[i]);
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches +
				      self->worker[1].touches));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

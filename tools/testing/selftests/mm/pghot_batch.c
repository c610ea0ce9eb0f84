// SPDX-License-Identifier: GPL-2.0
/*
 * kmigrated with a backlog, on CPUs which are all busy: it moves many pages in
 * a call, and leaves the accessors half of the CPU they share.
 *
 * The size of a call follows the measured time of the calls before.  A part
 * of that time is the same for any size: TLB flushes which wait for a CPU,
 * preemption.  If that is charged to the pages, a smaller call looks slower
 * for each page, gets smaller still, and ends at one page, where moving
 * costs the most.  So look at how large the calls are, in the tracepoint
 * kmigrated_batch.
 *
 * While it moves pages kmigrated is not preempted by the accessors, who would
 * wait for these pages themselves; so it has to sleep for as long, of its own.
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
#define SHARE_PERCENT	65	/* half, and what the start and end add */

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

/* Nothing moves but a few pages, until 9 of 10 are waiting. */
static const char *build_backlog(FIXTURE_DATA(batch) * self)
{
	int lower = pghot_lower_node(&self->topo, 0);
	const char *err;
	int i;

	if (pghot_node_free_pages(pghot_top_node(&self->topo, 0)) >=
	    (long)(1024 * MB / psize()))
		return "precondition: 1 GiB free, no limit binds";
	err = pghot_set(PGHOT_RATE_LIMIT, "1");
	if (!err)
		err = pghot_region_create(&self->region, PGHOT_ANON, REGION,
					  lower);
	if (!err)
		err = pghot_read_counters(&self->before);
	for (i = 0; !err && i < NR_WORKERS; i++) {
		struct pghot_worker *w = &self->worker[i];

		w->cpu = self->topo.cpu[pghot_top_node(&self->topo, i)];
		w->addr = self->region.addr + i * (REGION / NR_WORKERS);
		w->len = REGION / NR_WORKERS;
		w->write = true;
		err = pghot_worker_start(w);
	}
	if (!err)
		err = pghot_set(NUMA_BALANCING, "2");
	if (!err)
		err = pghot_wait_counter(PROMOTE_QUEUED, PAGES * 9 / 10,
					 &self->before, 30000);
	return err;
}

static const char *stop_and_verify(FIXTURE_DATA(batch) * self)
{
	int i;

	for (i = 0; i < NR_WORKERS; i++)
		pghot_worker_stop(&self->worker[i]);
	return pghot_region_verify(&self->region, 0, REGION,
				   self->worker[0].touches +
				   self->worker[1].touches);
}

TEST_F_TIMEOUT(batch, backlog_moves_in_batches, 900)
{
	long pages, calls;

	ASSERT_OK(build_backlog(self));
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
	ASSERT_OK(stop_and_verify(self));
	ASSERT_OK(pghot_assert_conservation());
}

/* How long thread @pid has been on a CPU, and what time it is, in ns. */
static const char *cpu_time(int pid, long *ran, long *now)
{
	struct timespec ts;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	*ran = pghot_read_long(path);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	*now = ts.tv_sec * 1000000000L + ts.tv_nsec;
	return *ran < 0 ? pghot_error("precondition: no %s", path) : NULL;
}

TEST_F_TIMEOUT(batch, backlog_leaves_half_a_cpu, 900)
{
	long ran, now, ran_before, began;
	int pid;

	ASSERT_OK(build_backlog(self));
	pid = pghot_kmigrated(pghot_lower_node(&self->topo, 0));
	ASSERT_OK(pghot_read_counters(&self->before));
	ASSERT_OK(cpu_time(pid, &ran_before, &began));
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT));
	/* While there is something left to do. */
	ASSERT_OK(pghot_wait_counter(PROMOTE_SUCCESS, PAGES / 2,
				     &self->before, 30000));
	ASSERT_OK(cpu_time(pid, &ran, &now));
	ran -= ran_before;
	now -= began;
	TH_LOG("%ld of %ld us on a CPU", ran / 1000, now / 1000);
	EXPECT_LE(ran * 100, now * SHARE_PERCENT);
	ASSERT_OK(stop_and_verify(self));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

// SPDX-License-Identifier: GPL-2.0
/*
 * kmigrated sleeps until it is asked: over 60 seconds (or $PGHOT_IDLE_S) its
 * context switches, voluntary and not, stay the same number.
 *
 * Once with NUMA balancing off, and once with it on after a burst of
 * promotions: a timer or a flag which the burst left behind would show.
 */
#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION		(32 * MB)
#define IDLE_S		60

FIXTURE(idle)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker;
};

FIXTURE_SETUP(idle)
{
	ASSERT_OK(pghot_setup(&self->topo, 1, 1));
}

FIXTURE_TEARDOWN(idle)
{
	pghot_worker_stop(&self->worker);
	pghot_region_destroy(&self->region);
	pghot_restore();
}

/* Sum of both kinds of context switches, or -1. */
static long switches(int pid)
{
	long val, sum = 0;
	char path[64], line[256];
	int seen = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &val) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &val) == 1) {
			sum += val;
			seen++;
		}
	}
	fclose(f);
	return seen == 2 ? sum : -1;
}

static int idle_seconds(void)
{
	const char *env = getenv("PGHOT_IDLE_S");

	return env && atoi(env) > 0 ? atoi(env) : IDLE_S;
}

/* NULL if the thread of @nid did not run for the whole time. */
static const char *stays_asleep(int nid)
{
	int pid = pghot_kmigrated(nid), seconds = idle_seconds();
	long before, after;

	if (pid < 0)
		return pghot_error("there is no kmigrated%d", nid);
	before = switches(pid);
	if (before < 0)
		return pghot_error("kmigrated%d: no context switches in its status",
				   nid);
	pghot_sleep_ms(seconds * 1000);
	after = switches(pid);
	if (pghot_kmigrated(nid) != pid)
		return pghot_error("kmigrated%d is another thread now", nid);
	if (after != before)
		return pghot_error("kmigrated%d: %ld context switches in %d s",
				   nid, after - before, seconds);
	return NULL;
}

TEST_F_TIMEOUT(idle, numa_balancing_off, 900)
{
	ASSERT_OK(stays_asleep(pghot_lower_node(&self->topo, 0)));
}

TEST_F_TIMEOUT(idle, on_but_idle, 900)
{
	int lower = pghot_lower_node(&self->topo, 0);
	int top = pghot_top_node(&self->topo, 0);
	struct pghot_region *r = &self->region;
	struct pghot_worker *w = &self->worker;
	int pid = pghot_kmigrated(lower);
	long before, after;

	/* The burst must wake the thread, or the silence says nothing. */
	before = switches(pid);
	ASSERT_OK(pghot_region_create(r, PGHOT_ANON, REGION, lower));
	w->cpu = self->topo.cpu[top];
	w->addr = r->addr;
	w->len = REGION;
	w->write = true;
	ASSERT_OK(pghot_worker_start(w));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, r->addr, REGION, 99,
				      20000, NULL));
	pghot_worker_stop(w);
	ASSERT_OK(pghot_region_verify(r, 0, r->len, w->touches));
	pghot_region_destroy(r);
	ASSERT_OK(pghot_settled(10000));
	/* the longest sleep a knob allows, for what may still be pending */
	pghot_sleep_ms(2000);
	after = switches(pid);
	EXPECT_GT(after, before);

	ASSERT_OK(stays_asleep(lower));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

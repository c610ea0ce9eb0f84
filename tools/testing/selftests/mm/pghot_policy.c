// SPDX-License-Identifier: GPL-2.0
/*
 * What may not move does not move, and what may goes to an allowed node.
 *
 * Hint faults know the task and the mapping: cpusets, memory policies, mlock
 * with vm.compact_unevictable_allowed=0, dirty file pages and program text
 * which several processes run.  Each case has a control which does move, in
 * the same run, so that nobody takes a promotion which does not work at all
 * for one which obeys.
 */
#include <linux/mempolicy.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION		(8 * MB)
#define PAGES		((long)(REGION / psize()))
#define NR_REGIONS	8
#define CGROUP		"/sys/fs/cgroup"
#define CPUSET		CGROUP "/pghot-test"
#define UNEVICTABLE	"/proc/sys/vm/compact_unevictable_allowed"

FIXTURE(policy)
{
	struct pghot_topology topo;
	struct pghot_region region[NR_REGIONS];
	struct pghot_worker worker[NR_REGIONS];
	struct pghot_counters before;
	struct pghot_counters delta;
	int top[2];
	int lower[2];
};

FIXTURE_SETUP(policy)
{
	int i;

	ASSERT_OK(pghot_setup(&self->topo, 2, 2));
	for (i = 0; i < 2; i++) {
		self->top[i] = pghot_top_node(&self->topo, i);
		self->lower[i] = pghot_lower_node(&self->topo, i);
	}
	ASSERT_OK(pghot_read_counters(&self->before));
}

FIXTURE_TEARDOWN(policy)
{
	int i;

	for (i = 0; i < NR_REGIONS; i++) {
		pghot_worker_stop(&self->worker[i]);
		pghot_region_destroy(&self->region[i]);
	}
	pghot_write(CGROUP "/cgroup.procs", "0");
	rmdir(CPUSET);
	pghot_restore();
}

static const char *heat(FIXTURE_DATA(policy) * self, int i, int nid, bool write)
{
	struct pghot_worker *w = &self->worker[i];

	w->cpu = self->topo.cpu[nid];
	w->addr = self->region[i].addr;
	w->len = REGION;
	w->write = write;
	return pghot_worker_start(w);
}

static const char *finish(FIXTURE_DATA(policy) * self)
{
	const char *err = NULL;
	int i;

	for (i = 0; i < NR_REGIONS; i++) {
		struct pghot_worker *w = &self->worker[i];

		pghot_worker_stop(w);
		if (!err && self->region[i].map)
			err = pghot_region_verify(&self->region[i], 0, REGION,
						  w->write ? w->touches : 0);
	}
	pghot_counters_since(&self->delta, &self->before);
	pghot_print_counters(&self->delta);
	return err ? err : pghot_assert_conservation();
}

/* Join a new cgroup v2 which may use the memory of @mems only. */
static const char *enter_cpuset(const char *mems)
{
	int ret;

	if (access(CGROUP "/cgroup.controllers", F_OK))
		return pghot_error("precondition: no cgroup v2 on " CGROUP);
	ret = pghot_write(CGROUP "/cgroup.subtree_control", "+cpuset +memory");
	if (ret)
		return pghot_error("precondition: +cpuset +memory: %s",
				   strerror(-ret));
	if (mkdir(CPUSET, 0755) && errno != EEXIST)
		return pghot_error("precondition: " CPUSET ": %s",
				   strerror(errno));
	ret = pghot_write(CPUSET "/cpuset.mems", mems);
	if (!ret)
		ret = pghot_write(CPUSET "/cgroup.procs", "0");
	return ret ? pghot_error("precondition: cpuset of nodes %s: %s", mems,
				 strerror(-ret)) : NULL;
}

/* Two lower-tier nodes: with one, the task would not even be scanned. */
TEST_F_TIMEOUT(policy, cpuset_without_top_tier, 900)
{
	char mems[32];

	snprintf(mems, sizeof(mems), "%d,%d", self->lower[0], self->lower[1]);
	ASSERT_OK(enter_cpuset(mems));
	ASSERT_OK(pghot_region_create(&self->region[0], PGHOT_ANON, REGION,
				      self->lower[0]));
	ASSERT_OK(heat(self, 0, self->top[0], true));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(REFUSED_POLICY, PAGES, &self->before,
				     20000));
	EXPECT_EQ(pghot_pages_on(self->lower[0], self->region[0].addr, REGION),
		  PAGES);

	/* Let out of the cpuset, they move. */
	ASSERT_EQ(pghot_write(CGROUP "/cgroup.procs", "0"), 0);
	ASSERT_EQ(pghot_write(CPUSET "/cpuset.mems", "\n"), 0);
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top[0],
				      self->region[0].addr, REGION, 99, 20000,
				      NULL));
	ASSERT_OK(finish(self));
}

/* The accessor's own node is not allowed, another top-tier node is. */
TEST_F_TIMEOUT(policy, cpuset_with_other_top_tier, 900)
{
	char mems[32];

	snprintf(mems, sizeof(mems), "%d,%d", self->top[1], self->lower[0]);
	ASSERT_OK(enter_cpuset(mems));
	ASSERT_OK(pghot_region_create(&self->region[0], PGHOT_ANON, REGION,
				      self->lower[0]));
	ASSERT_OK(heat(self, 0, self->top[0], true));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top[1],
				      self->region[0].addr, REGION, 99, 20000,
				      NULL));
	EXPECT_EQ(pghot_pages_on(self->top[0], self->region[0].addr, REGION),
		  0);
	ASSERT_OK(finish(self));
	EXPECT_EQ(self->delta.c[REFUSED_POLICY], 0);
}

static const char *set_policy(struct pghot_region *r, int mode,
			      unsigned long mask)
{
	if (syscall(__NR_mbind, r->addr, r->len, mode, &mask,
		    8 * sizeof(mask), 0))
		return pghot_error("mbind mode %x nodes %lx: %s", mode, mask,
				   strerror(errno));
	return NULL;
}

/*
 * One region for each policy, all hot on the first top-tier node at the same
 * time.  Without MPOL_F_NUMA_BALANCING, an explicit policy means that the
 * kernel keeps its hands off.
 */
TEST_F_TIMEOUT(policy, memory_policies, 900)
{
	const unsigned long t0 = 1UL << self->top[0], t1 = 1UL << self->top[1];
	const unsigned long l0 = 1UL << self->lower[0];
	const struct {
		const char *name;
		int mode;
		unsigned long nodes;
		bool moves;
	} cases[NR_REGIONS] = {
		{ "default", MPOL_DEFAULT, 0, true },
		{ "bind, balancing, accessor's node in it",
		  MPOL_BIND | MPOL_F_NUMA_BALANCING, t0 | l0, true },
		{ "preferred many, balancing, accessor's node in it",
		  MPOL_PREFERRED_MANY | MPOL_F_NUMA_BALANCING, t0 | l0, true },
		{ "bind, balancing, accessor's node not in it",
		  MPOL_BIND | MPOL_F_NUMA_BALANCING, t1 | l0, false },
		{ "bind", MPOL_BIND, t0 | l0, false },
		{ "preferred", MPOL_PREFERRED, l0, false },
		{ "interleave", MPOL_INTERLEAVE, t0 | t1 | l0, false },
		{ "weighted interleave", MPOL_WEIGHTED_INTERLEAVE,
		  t0 | t1 | l0, false },
	};
	long there;
	int i;

	for (i = 0; i < NR_REGIONS; i++) {
		ASSERT_OK(pghot_region_create(&self->region[i], PGHOT_ANON,
					      REGION, self->lower[0]));
		if (cases[i].mode != MPOL_DEFAULT)
			ASSERT_OK(set_policy(&self->region[i], cases[i].mode,
					     cases[i].nodes));
	}
	for (i = 0; i < NR_REGIONS; i++)
		ASSERT_OK(heat(self, i, self->top[0], true));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	for (i = 0; i < NR_REGIONS; i++)
		if (cases[i].moves)
			ASSERT_OK(pghot_wait_promoted(&self->topo,
						      self->top[0],
						      self->region[i].addr,
						      REGION, 99, 20000,
						      NULL));
	/* As long again for the others to go wrong. */
	pghot_sleep_ms(4000);
	for (i = 0; i < NR_REGIONS; i++) {
		if (cases[i].moves)
			continue;
		there = pghot_pages_on(self->lower[0], self->region[i].addr,
				       REGION);
		EXPECT_EQ(there, PAGES)
			TH_LOG("%s: %ld of %ld pages have left",
			       cases[i].name, PAGES - there, PAGES);
	}
	ASSERT_OK(finish(self));
}

/* Unlike mainline's hint faults, promotion obeys the sysctl. */
TEST_F_TIMEOUT(policy, mlock, 900)
{
	struct pghot_region *r = &self->region[0];

	ASSERT_EQ(access(UNEVICTABLE, W_OK), 0)
		TH_LOG("precondition: no " UNEVICTABLE);
	ASSERT_OK(pghot_set(UNEVICTABLE, "0"));
	ASSERT_OK(pghot_region_create(r, PGHOT_ANON, REGION, self->lower[0]));
	ASSERT_EQ(mlock(r->addr, REGION), 0);
	ASSERT_OK(heat(self, 0, self->top[0], true));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(REFUSED_INELIGIBLE, PAGES * 9 / 10,
				     &self->before, 20000));
	EXPECT_EQ(pghot_pages_on(self->lower[0], r->addr, REGION), PAGES);

	ASSERT_OK(pghot_set(UNEVICTABLE, "1"));
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top[0], r->addr,
				      REGION, 99, 20000, NULL));
	ASSERT_OK(finish(self));
}

/*
 * A file page which gets dirty after it was asked for stays; those which are
 * dirty already are not even scanned.  Written back, it moves.
 */
TEST_F_TIMEOUT(policy, dirty_file, 900)
{
	struct pghot_region *r = &self->region[0];
	unsigned long touches;
	long refused, here;
	size_t off;

	ASSERT_LT(pghot_node_free_pages(self->top[0]),
		  (long)(1024 * MB / psize()))
		TH_LOG("precondition: node %d has 1 GiB free, no limit binds",
		       self->top[0]);
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, "1"));
	ASSERT_OK(pghot_region_create(r, PGHOT_FILE, REGION, self->lower[0]));
	ASSERT_OK(heat(self, 0, self->top[0], false));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_QUEUED, PAGES * 9 / 10,
				     &self->before, 20000));
	pghot_worker_stop(&self->worker[0]);
	/* All of them, however long the worker may take to get around. */
	for (off = 0; off < REGION; off += psize()) {
		char *c = r->addr + off;

		__atomic_store_n(c, *c, __ATOMIC_RELAXED);
	}
	ASSERT_OK(heat(self, 0, self->top[0], true));
	here = pghot_pages_on(self->lower[0], r->addr, REGION);
	ASSERT_GT(here, PAGES / 4);
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT));
	ASSERT_OK(pghot_wait_counter(REFUSED_INELIGIBLE, here * 9 / 10,
				     &self->before, 20000));
	/* Not asked for again: nobody gets dirty between scan and turn now. */
	pghot_counters_since(&self->delta, &self->before);
	refused = self->delta.c[REFUSED_INELIGIBLE];
	pghot_sleep_ms(3000);
	pghot_counters_since(&self->delta, &self->before);
	EXPECT_LE(self->delta.c[REFUSED_INELIGIBLE] - refused, PAGES / 10);
	EXPECT_GE(pghot_pages_on(self->lower[0], r->addr, REGION),
		  here * 9 / 10);

	pghot_worker_stop(&self->worker[0]);
	touches = self->worker[0].touches;
	ASSERT_EQ(fsync(r->fd), 0);
	ASSERT_OK(heat(self, 0, self->top[0], false));
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top[0], r->addr,
				      REGION, 99, 20000, NULL));
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_region_verify(r, 0, REGION, touches));
	pghot_region_destroy(r);
	ASSERT_OK(finish(self));
}

/*
 * Text which two processes map stays, like a shared library; a private copy
 * of it moves.
 */
TEST_F_TIMEOUT(policy, shared_text, 900)
{
	struct pghot_region *r = &self->region[0];
	int status, ready[2];
	pid_t pid;
	char c;

	ASSERT_OK(pghot_region_create(r, PGHOT_FILE, REGION, self->lower[0]));
	ASSERT_EQ(mprotect(r->addr, REGION,
			   PROT_READ | PROT_WRITE | PROT_EXEC), 0);
	ASSERT_EQ(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		force_read_pages(r->addr, PAGES, psize());
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	ASSERT_EQ(read(ready[0], &c, 1), 1);
	ASSERT_OK(heat(self, 0, self->top[0], false));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(REFUSED_INELIGIBLE, PAGES * 9 / 10,
				     &self->before, 20000));
	EXPECT_EQ(pghot_pages_on(self->lower[0], r->addr, REGION), PAGES);

	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top[0], r->addr,
				      REGION, 99, 20000, NULL));
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_region_verify(r, 0, REGION, 0));
	pghot_region_destroy(r);
	ASSERT_OK(finish(self));
}

TEST_HARNESS_MAIN

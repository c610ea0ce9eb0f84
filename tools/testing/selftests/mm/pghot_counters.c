// SPDX-License-Identifier: GPL-2.0
/*
 * Every counter is made to move, and only the one which is meant.
 *
 * One test for each reason for which a page can be refused: the situation is
 * set up so that this reason, and no other, is the right answer, for pages
 * which are known by number.  A counter which nothing moves is worse than
 * none.  Not covered here: a record which cannot be made for lack of memory
 * (pghot_record_failed), which takes fault injection; pghot_refused_bounce,
 * which nothing counts yet; and hwhint_* and pghot_reported_hwhints, which need
 * a sampler.  These must not move in any of the tests.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/mempolicy.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION		(16 * MB)
#define PAGES		((long)(REGION / psize()))
#define GIB		(1024 * MB)
#define CGROUP		"/sys/fs/cgroup"
#define CPUSET		CGROUP "/pghot-test"

FIXTURE(counters)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker;
	struct pghot_status status;
	struct pghot_counters before;
	struct pghot_counters delta;
	int lower;
	int top;
};

FIXTURE_SETUP(counters)
{
	ASSERT_OK(pghot_setup(&self->topo, 1, 1));
	self->lower = pghot_lower_node(&self->topo, 0);
	self->top = pghot_top_node(&self->topo, 0);
	ASSERT_OK(pghot_read_counters(&self->before));
}

FIXTURE_TEARDOWN(counters)
{
	pghot_worker_stop(&self->worker);
	pghot_region_destroy(&self->region);
	rmdir(CPUSET);
	pghot_restore();
}

/* Make a region hot; @limit is written before anything can be queued. */
static const char *heat(FIXTURE_DATA(counters) * self, size_t len,
			const char *limit)
{
	struct pghot_worker *w = &self->worker;
	const char *err;

	err = pghot_set(PGHOT_RATE_LIMIT, limit);
	if (!err)
		err = pghot_region_create(&self->region, PGHOT_ANON, len,
					  self->lower);
	w->cpu = self->topo.cpu[self->top];
	w->addr = self->region.addr;
	w->len = len;
	w->write = true;
	if (!err)
		err = pghot_worker_start(w);
	return err ? err : pghot_set(NUMA_BALANCING, "2");
}

/*
 * The rate limit keeps pages in the queue, which gives a test the time to do
 * something to them.  It does not bind while the target has a lot of memory.
 */
static const char *limit_binds(FIXTURE_DATA(counters) * self)
{
	if (pghot_node_free_pages(self->top) < (long)(GIB / psize()))
		return NULL;
	return pghot_error("precondition: node %d has 1 GiB free, no limit binds",
			   self->top);
}

/*
 * At rest: @which rose by @at_least, and at most @succeeded pages moved.  Other
 * reasons are for a few pages only: the process's own, which are not part of
 * the region; those which a migration was about when they were pinned; those
 * which one put back, and which wait in a per-CPU batch for the LRU.
 */
#define FEW_PAGES	32

static const char *only(FIXTURE_DATA(counters) * self, enum pghot_counter which,
			long at_least, long succeeded)
{
	struct pghot_counters *d = &self->delta;
	long slack;
	int i;

	pghot_counters_since(d, &self->before);
	pghot_print_counters(d);
	slack = d->c[PROMOTE_QUEUED] / 100 + FEW_PAGES;
	succeeded += FEW_PAGES;
	if (d->c[which] < at_least)
		return pghot_error("%s rose by %ld, not by %ld",
				   pghot_counter_names[which], d->c[which],
				   at_least);
	for (i = REPORTED_HWHINTS; i < NR_PGHOT_COUNTERS; i++) {
		long allowed = i == PROMOTE_SUCCESS ? succeeded :
			       i == REFUSED_STALE || i == REFUSED_ISOLATE ||
			       i == REFUSED_MIGRATE ? slack : 0;

		if (i == (int)which || i == RECORDED_ACCESSES ||
		    i == PROMOTE_QUEUED || i == DEFERRED_RATELIMIT)
			continue;
		if (d->c[i] > allowed)
			return pghot_error("%s rose by %ld as well",
					   pghot_counter_names[i], d->c[i]);
	}
	return NULL;
}

/*
 * Stop, wait for rest, check content and books.  Rest comes first: switching
 * off makes stale what is waiting.
 */
static const char *finish(FIXTURE_DATA(counters) * self)
{
	const char *err;

	pghot_worker_stop(&self->worker);
	err = pghot_settled(5000);
	if (!err)
		err = pghot_assert_conservation();
	return err ? err :
		     pghot_region_verify(&self->region, 0, self->region.len,
					 self->worker.touches);
}

/* reported, recorded, queued and success: nothing stands in the way. */
TEST_F_TIMEOUT(counters, success, 900)
{
	ASSERT_OK(heat(self, REGION, PGHOT_RATE_DEFAULT));
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top,
				      self->region.addr, REGION, 100, 20000,
				      NULL));
	ASSERT_OK(finish(self));
	ASSERT_OK(only(self, PROMOTE_SUCCESS, PAGES, PAGES + PAGES / 100));
	EXPECT_GE(self->delta.c[REPORTED_HINTFAULTS], PAGES);
	EXPECT_GE(self->delta.c[RECORDED_ACCESSES], PAGES);
	EXPECT_GE(self->delta.c[REPORTED_HINTFAULTS],
		  self->delta.c[RECORDED_ACCESSES]);
	EXPECT_GE(self->delta.c[PROMOTE_QUEUED], PAGES);
	EXPECT_EQ(self->delta.c[DEFERRED_RATELIMIT], 0);
}

/* Waiting for tokens is counted, and makes no page stale. */
TEST_F_TIMEOUT(counters, deferred_ratelimit, 900)
{
	long at_2s, rate = MB / psize();

	ASSERT_OK(limit_binds(self));
	ASSERT_OK(heat(self, REGION, "1"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_QUEUED, PAGES * 9 / 10,
				     &self->before, 20000));
	ASSERT_OK(pghot_wait_counter(DEFERRED_RATELIMIT, 1, &self->before,
				     5000));
	pghot_counters_since(&self->delta, &self->before);
	at_2s = self->delta.c[PROMOTE_SUCCESS];
	pghot_sleep_ms(4000);
	pghot_counters_since(&self->delta, &self->before);
	/* 1 MB a second, give or take one second's worth */
	EXPECT_GE(self->delta.c[PROMOTE_SUCCESS] - at_2s, 3 * rate);
	EXPECT_LE(self->delta.c[PROMOTE_SUCCESS] - at_2s, 5 * rate);
	EXPECT_EQ(self->delta.c[REFUSED_STALE], 0);

	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT));
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top,
				      self->region.addr, REGION, 100, 20000,
				      NULL));
	ASSERT_OK(finish(self));
	ASSERT_OK(only(self, PROMOTE_SUCCESS, PAGES, PAGES + PAGES / 100));
}

/* Limit 0 flushes what is queued, and nothing is promoted from then on. */
TEST_F_TIMEOUT(counters, stale_by_limit_0, 900)
{
	struct pghot_counters at_0;
	long in_flight;

	ASSERT_OK(limit_binds(self));
	ASSERT_OK(heat(self, REGION, "1"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_QUEUED, PAGES * 9 / 10,
				     &self->before, 20000));
	ASSERT_OK(pghot_read_counters(&at_0));
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, "0"));
	ASSERT_OK(pghot_settled(5000));
	ASSERT_OK(pghot_conserved());
	pghot_counters_since(&self->delta, &at_0);
	in_flight = at_0.c[PROMOTE_QUEUED] - self->before.c[PROMOTE_QUEUED] -
		    (at_0.c[PROMOTE_SUCCESS] -
		     self->before.c[PROMOTE_SUCCESS]);
	EXPECT_GE(self->delta.c[REFUSED_STALE], in_flight - 2 * (long)(MB / psize()));
	EXPECT_GT(self->delta.c[REFUSED_STALE], PAGES / 2);

	/* The pages stay hot, and stay where they are. */
	ASSERT_OK(pghot_read_counters(&at_0));
	pghot_sleep_ms(3000);
	pghot_counters_since(&self->delta, &at_0);
	EXPECT_GT(self->delta.c[REPORTED_HINTFAULTS], 0);
	EXPECT_EQ(self->delta.c[PROMOTE_SUCCESS], 0);
	EXPECT_EQ(self->delta.c[PGPROMOTE_SUCCESS], 0);
	ASSERT_OK(finish(self));
	ASSERT_OK(only(self, REFUSED_STALE, PAGES / 2, PAGES / 2));
}

/*
 * No promotion at limit 0 even where base's shortcut for plenty of free
 * memory would apply; the lab runs this with 3 GiB nodes as well.
 */
TEST_F_TIMEOUT(counters, limit_0_promotes_nothing, 900)
{
	ASSERT_OK(heat(self, REGION, "0"));
	ASSERT_OK(pghot_wait_counter(REPORTED_HINTFAULTS, PAGES, &self->before,
				     20000));
	pghot_sleep_ms(2000);
	pghot_counters_since(&self->delta, &self->before);
	pghot_print_counters(&self->delta);
	EXPECT_EQ(self->delta.c[PROMOTE_SUCCESS], 0);
	EXPECT_EQ(self->delta.c[PGPROMOTE_SUCCESS], 0);
	EXPECT_EQ(pghot_pages_on(self->lower, self->region.addr, REGION),
		  PAGES);
	ASSERT_OK(finish(self));
}

/* Fill node @nid until less than @left pages are free; freed with the map. */
static const char *fill_node(int nid, long left)
{
	const char *err;
	long free;

	err = pghot_bind_node(nid);
	while (!err) {
		size_t chunk;
		char *p;

		free = pghot_node_free_pages(nid);
		if (free < 0)
			err = pghot_error("free pages of node %d unknown", nid);
		if (err || free <= left)
			break;
		chunk = (free - left) / 2 * psize();
		if (chunk < MB)
			chunk = MB;
		p = mmap(NULL, chunk, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED ||
		    madvise(p, chunk, MADV_POPULATE_WRITE))
			err = pghot_error("filling node %d: %s", nid,
					  strerror(errno));
	}
	pghot_bind_node(-1);
	return err;
}

/* Sum over the zones of @nid of a line of /proc/zoneinfo, in pages. */
static long zone_sum(int nid, const char *what)
{
	char line[256], key[32];
	long val, sum = 0;
	int here = -1;
	FILE *f;

	f = fopen("/proc/zoneinfo", "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %d, zone", &here) == 1)
			continue;
		if (here == nid && sscanf(line, " %31s %ld", key, &val) == 2 &&
		    !strcmp(key, what))
			sum += val;
	}
	fclose(f);
	return sum;
}

/*
 * Fill @nid, or all top-tier nodes if it is -1, with memory which cannot be
 * demoted.  A child holds it, and kswapd cannot get any of it back.
 */
static const char *fill_in_child(const struct pghot_topology *topo, int only,
				 pid_t *pid)
{
	int nid, ready[2];
	char c = 'x';

	if (pipe(ready))
		return pghot_error("pipe: %s", strerror(errno));
	*pid = fork();
	if (!*pid) {
		const char *err = NULL;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (nid = 0; nid < topo->nr && !err; nid++)
			if (topo->top[nid] && topo->memory[nid] &&
			    (only == -1 || only == nid))
				err = fill_node(nid, zone_sum(nid, "low") + 512);
		if (err)
			ksft_print_msg("%s\n", err);
		c = err ? 'x' : '.';
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	if (*pid < 0 || read(ready[0], &c, 1) != 1 || c != '.')
		return pghot_error("node %d cannot be filled", only);
	close(ready[0]);
	close(ready[1]);
	return NULL;
}

/* Make the region hot, and not a page of it has a place in the top tier. */
static const char *refused_by_target(FIXTURE_DATA(counters) * self)
{
	struct pghot_worker *w = &self->worker;
	const char *err;

	w->cpu = self->topo.cpu[self->top];
	w->addr = self->region.addr;
	w->len = REGION;
	w->write = true;
	err = pghot_read_counters(&self->before);
	if (!err)
		err = pghot_worker_start(w);
	if (!err)
		err = pghot_set(NUMA_BALANCING, "2");
	if (!err)
		err = pghot_wait_counter(REFUSED_TARGET, PAGES / 2,
					 &self->before, 20000);
	pghot_worker_stop(w);
	return err ? err : pghot_settled(5000);
}

/* All top-tier nodes are full. */
TEST_F_TIMEOUT(counters, target, 900)
{
	unsigned long touches;
	int status, nid;
	pid_t pid;

	ASSERT_OK(pghot_set(DEMOTION_ENABLED, "0"));
	ASSERT_OK(pghot_region_create(&self->region, PGHOT_ANON, REGION,
				      self->lower));
	ASSERT_OK(fill_in_child(&self->topo, -1, &pid));
	for (nid = 0; nid < self->topo.nr; nid++)
		if (self->topo.top[nid] && self->topo.memory[nid])
			TH_LOG("node %d: free %ld, high watermark %ld", nid,
			       pghot_node_free_pages(nid),
			       zone_sum(nid, "high"));

	ASSERT_OK(refused_by_target(self));
	touches = self->worker.touches;
	ASSERT_OK(only(self, REFUSED_TARGET, PAGES / 2, PAGES / 4));

	/* With room again, the same pages move. */
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION, touches));
	ASSERT_OK(pghot_worker_start(&self->worker));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr,
				      REGION, 99, 20000, NULL));
	pghot_worker_stop(&self->worker);
	self->worker.touches += touches;
	ASSERT_OK(finish(self));
}

/*
 * The accessor's node is full, and another is not.  Pages go there, but not
 * those which a policy binds to the first: a node which is next by distance is
 * still none that the policy allows.
 */
TEST_F_TIMEOUT(counters, target_bound, 900)
{
	unsigned long mask = 1UL << self->top | 1UL << self->lower;
	unsigned long touches;
	int status, other;
	pid_t pid;

	ASSERT_OK(pghot_set(DEMOTION_ENABLED, "0"));
	other = pghot_top_node(&self->topo, 1);
	ASSERT_GE(other, 0)
		TH_LOG("precondition: two top-tier nodes");
	ASSERT_OK(pghot_region_create(&self->region, PGHOT_ANON, REGION,
				      self->lower));
	ASSERT_EQ(syscall(__NR_mbind, self->region.addr, REGION,
			  MPOL_BIND | MPOL_F_NUMA_BALANCING, &mask,
			  8 * sizeof(mask), 0), 0);
	ASSERT_OK(fill_in_child(&self->topo, self->top, &pid));

	ASSERT_OK(refused_by_target(self));
	touches = self->worker.touches;
	EXPECT_EQ(pghot_pages_on(other, self->region.addr, REGION), 0);
	ASSERT_OK(only(self, REFUSED_TARGET, PAGES / 2, PAGES / 4));

	/* Bound no longer, they go to the node which has room. */
	ASSERT_EQ(syscall(__NR_mbind, self->region.addr, REGION, MPOL_DEFAULT,
			  NULL, 0, 0), 0);
	ASSERT_OK(pghot_worker_start(&self->worker));
	ASSERT_OK(pghot_wait_promoted(&self->topo, other, self->region.addr,
				      REGION, 90, 20000, NULL));
	pghot_worker_stop(&self->worker);
	self->worker.touches += touches;
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_OK(finish(self));
}

/* A cgroup v2 cpuset whose memory has to stay on the lower tier. */
static const char *make_cpuset(int nid)
{
	char mems[16];
	int ret;

	snprintf(mems, sizeof(mems), "%d", nid);
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
	if (ret)
		return pghot_error("precondition: cpuset.mems %s: %s", mems,
				   strerror(-ret));
	return NULL;
}

/*
 * Shared memory which belongs to a cgroup that may only use the lower tier is
 * hot in a process outside: whose task policy allows the move, so that only
 * the owner's cpuset, at the end of the queue, forbids it.
 */
TEST_F_TIMEOUT(counters, policy, 900)
{
	struct pghot_region *r = &self->region;
	int status, ret;
	pid_t pid;

	ASSERT_OK(make_cpuset(self->lower));
	r->kind = PGHOT_SHMEM;
	r->fd = syscall(__NR_memfd_create, "pghot", 0);
	ASSERT_GE(r->fd, 0);
	ASSERT_EQ(ftruncate(r->fd, REGION), 0);
	r->len = REGION;
	r->map_len = REGION;
	r->map = mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		      0);
	ASSERT_NE(r->map, MAP_FAILED);
	r->addr = r->map;
	pid = fork();
	if (!pid) {
		ret = pghot_write(CPUSET "/cgroup.procs", "0");
		if (!ret)
			pghot_region_fill(r);
		_exit(-ret);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status));
	force_read_pages(r->addr, PAGES, psize());
	ASSERT_OK(pghot_all_on(r->addr, REGION, self->lower));

	self->worker.cpu = self->topo.cpu[self->top];
	self->worker.addr = r->addr;
	self->worker.len = REGION;
	self->worker.write = true;
	ASSERT_OK(pghot_worker_start(&self->worker));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(REFUSED_POLICY, PAGES, &self->before,
				     20000));
	pghot_worker_stop(&self->worker);
	EXPECT_EQ(pghot_pages_on(self->lower, r->addr, REGION), PAGES);
	ASSERT_OK(finish(self));
	ASSERT_OK(only(self, REFUSED_POLICY, PAGES, 0));
}

struct fresh {
	struct pghot_worker w;
	int lower;
	const char *err;
};

#define FRESH_PAGES	8

/*
 * Pages which were just faulted in wait in a per-CPU batch until it is full
 * or drained, and are not on the LRU until then: they cannot be isolated.
 * They must come from the CPU which stays quiet afterwards, and nobody may
 * ask where they are, as that drains the batches.
 */
static void *fault_in(void *arg)
{
	struct fresh *f = arg;
	size_t i;

	f->err = pghot_bind_node(f->lower);
	if (f->err)
		return NULL;
	for (i = 0; i < FRESH_PAGES; i++)
		f->w.addr[i * psize()] = 0;
	pghot_bind_node(-1);
	return NULL;
}

TEST_F_TIMEOUT(counters, isolate, 900)
{
	struct fresh f = { .lower = self->lower };
	unsigned long sum = 0, i;
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t set;

	f.w.len = FRESH_PAGES * psize();
	f.w.addr = mmap(NULL, f.w.len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(f.w.addr, MAP_FAILED);
	f.w.cpu = self->topo.cpu[self->top];
	CPU_ZERO(&set);
	CPU_SET(f.w.cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	ASSERT_EQ(pthread_create(&thread, &attr, fault_in, &f), 0);
	pthread_join(thread, NULL);
	ASSERT_OK(f.err);

	self->worker = f.w;
	self->worker.write = true;
	ASSERT_OK(pghot_worker_start(&self->worker));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(REFUSED_ISOLATE, 1, &self->before,
				     10000));
	pghot_worker_stop(&self->worker);
	ASSERT_OK(pghot_assert_conservation());
	ASSERT_OK(only(self, REFUSED_ISOLATE, 1, FRESH_PAGES));
	for (i = 0; i < FRESH_PAGES; i++)
		sum += *(uint64_t *)(f.w.addr + i * psize());
	EXPECT_EQ(sum, self->worker.touches);
	munmap(f.w.addr, f.w.len);
}

#define PIPE_PAGES	256

/*
 * Pages in a pipe have a reference which no migration can take over.  They
 * are refused, are not asked for again within the same scan, and move as soon
 * as the pipe is gone.
 */
TEST_F_TIMEOUT(counters, migrate, 900)
{
	struct iovec iov;
	long in_pipe = 0, refused;
	int fds[2];
	ssize_t n;

	ASSERT_EQ(pipe2(fds, O_NONBLOCK), 0);
	ASSERT_GE(fcntl(fds[1], F_SETPIPE_SZ, PIPE_PAGES * psize()),
		  (int)(PIPE_PAGES * psize()));
	ASSERT_OK(pghot_region_create(&self->region, PGHOT_ANON, REGION,
				      self->lower));
	while (in_pipe < PIPE_PAGES) {
		iov.iov_base = self->region.addr + in_pipe * psize();
		iov.iov_len = (PIPE_PAGES - in_pipe) * psize();
		n = vmsplice(fds[1], &iov, 1, 0);
		if (n <= 0)
			break;
		in_pipe += n / psize();
	}
	ASSERT_EQ(in_pipe, PIPE_PAGES);

	/* Only these pages are hot. */
	self->worker.cpu = self->topo.cpu[self->top];
	self->worker.addr = self->region.addr;
	self->worker.len = PIPE_PAGES * psize();
	self->worker.write = true;
	ASSERT_OK(pghot_worker_start(&self->worker));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(REFUSED_MIGRATE, PIPE_PAGES * 9 / 10,
				     &self->before, 20000));
	pghot_counters_since(&self->delta, &self->before);
	refused = self->delta.c[REFUSED_MIGRATE];
	pghot_sleep_ms(3000);
	pghot_counters_since(&self->delta, &self->before);
	/* A scan takes a second at least. */
	EXPECT_LE(self->delta.c[REFUSED_MIGRATE] - refused, 4 * PIPE_PAGES);
	ASSERT_OK(only(self, REFUSED_MIGRATE, PIPE_PAGES * 9 / 10, 0));
	EXPECT_EQ(pghot_pages_on(self->lower, self->region.addr,
				 PIPE_PAGES * psize()), PIPE_PAGES);

	close(fds[0]);
	close(fds[1]);
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top,
				      self->region.addr, PIPE_PAGES * psize(),
				      99, 20000, NULL));
	ASSERT_OK(finish(self));
}

/*
 * Pages which are pinned for DMA between the request and its turn.  (Those
 * which are pinned already are not scanned, so they never get into the queue.)
 */
TEST_F_TIMEOUT(counters, ineligible, 900)
{
	struct io_uring_params params = {};
	struct iovec iov;
	int ring;

	ASSERT_OK(limit_binds(self));
	ASSERT_OK(heat(self, REGION, "1"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_QUEUED, PAGES * 9 / 10,
				     &self->before, 20000));
	ring = syscall(__NR_io_uring_setup, 4, &params);
	ASSERT_GE(ring, 0)
		TH_LOG("precondition: io_uring: %s", strerror(errno));
	iov.iov_base = self->region.addr;
	iov.iov_len = REGION;
	ASSERT_EQ(syscall(__NR_io_uring_register, ring,
			  IORING_REGISTER_BUFFERS, &iov, 1), 0)
		TH_LOG("precondition: pinning: %s", strerror(errno));
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT));
	ASSERT_OK(pghot_wait_counter(REFUSED_INELIGIBLE, PAGES / 2,
				     &self->before, 20000));
	ASSERT_OK(pghot_settled(5000));
	/* the tokens of the time before the pages were pinned */
	ASSERT_OK(only(self, REFUSED_INELIGIBLE, PAGES / 2, PAGES / 2));
	EXPECT_GE(pghot_pages_on(self->lower, self->region.addr, REGION),
		  PAGES / 2);

	close(ring);
	ASSERT_OK(pghot_wait_promoted(&self->topo, self->top,
				      self->region.addr, REGION, 99, 20000,
				      NULL));
	ASSERT_OK(finish(self));
}

#define QUEUE_SIZE	(128 * 1024L)
#define FLOOD		(640 * MB)

/*
 * More requests than the queue holds.  What does not fit is handled in the
 * fault, as without pghot, and counted.
 */
TEST_F_TIMEOUT(counters, queue_full, 900)
{
	struct pghot_counters *d = &self->delta;

	ASSERT_OK(limit_binds(self));
	/* So many pages take a while to touch; they are all hot. */
	ASSERT_OK(pghot_set_num(HOT_THRESHOLD,
				4000L * pghot_time_scale()));
	ASSERT_GT(pghot_node_free_pages(self->lower), (long)(FLOOD / psize()))
		TH_LOG("precondition: node %d is too small", self->lower);
	ASSERT_OK(heat(self, FLOOD, "1"));
	ASSERT_OK(pghot_wait_counter(REFUSED_QUEUE_FULL, 1024, &self->before,
				     60000));
	ASSERT_OK(pghot_read_status(&self->status));
	pghot_counters_since(d, &self->before);
	pghot_print_counters(d);
	TH_LOG("queued_now %ld", self->status.queued_now);
	EXPECT_GE(self->status.queued_now, QUEUE_SIZE * 9 / 10);
	EXPECT_GE(d->c[PROMOTE_QUEUED], QUEUE_SIZE);

	/* Switching off has to get rid of all of it. */
	pghot_worker_stop(&self->worker);
	ASSERT_OK(pghot_assert_conservation());
	ASSERT_OK(pghot_region_verify(&self->region, 0, FLOOD,
				      self->worker.touches));
	pghot_counters_since(d, &self->before);
	EXPECT_GE(d->c[REFUSED_STALE], QUEUE_SIZE * 9 / 10);
	EXPECT_EQ(d->c[REFUSED_INELIGIBLE] + d->c[REFUSED_POLICY] +
		  d->c[REFUSED_TARGET] + d->c[REFUSED_ISOLATE] +
		  d->c[REFUSED_MIGRATE], 0);
}

TEST_HARNESS_MAIN

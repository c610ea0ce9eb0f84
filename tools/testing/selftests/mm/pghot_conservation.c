// SPDX-License-Identifier: GPL-2.0
/*
 * Every page which was ever queued has exactly one outcome, whatever happens
 * to it between the request and its turn:
 *
 *	pghot_promote_queued = pghot_promote_success + pghot_refused_ineligible
 *		+ policy + stale + target + isolate + migrate
 *
 * Once with a full queue which the rate limit keeps waiting while its folios
 * are unmapped, punched out, split and moved away by others; and once as a
 * storm of short-lived processes whose memory is freed at any point of the
 * way, with the engine's own knobs turned at the same time.  What survives
 * must have kept its content.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/mempolicy.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION		(32 * MB)
#define HALF		(REGION / 2)
#define SCAN_DELAY	"/sys/kernel/debug/sched/numa_balancing/scan_delay_ms"
#define SPLIT		"/sys/kernel/debug/split_huge_pages"

enum { FREED, SPLIT_UP, MOVED, PUNCHED, NR_REGIONS };

FIXTURE(conservation)
{
	struct pghot_topology topo;
	struct pghot_region region[NR_REGIONS];
	struct pghot_worker worker[NR_REGIONS];
	struct pghot_status status;
	struct pghot_counters before;
	struct pghot_counters delta;
	int lower;
	int top;
};

FIXTURE_SETUP(conservation)
{
	ASSERT_OK(pghot_setup(&self->topo, 1, 1));
	self->lower = pghot_lower_node(&self->topo, 0);
	self->top = pghot_top_node(&self->topo, 0);
}

FIXTURE_TEARDOWN(conservation)
{
	int i;

	for (i = 0; i < NR_REGIONS; i++) {
		pghot_worker_stop(&self->worker[i]);
		pghot_region_destroy(&self->region[i]);
	}
	pghot_restore();
}

static const char *heat(FIXTURE_DATA(conservation) * self, int i, size_t len)
{
	struct pghot_worker *w = &self->worker[i];

	w->cpu = self->topo.cpu[self->top];
	w->addr = self->region[i].addr;
	w->len = len;
	w->write = true;
	return pghot_worker_start(w);
}

/* Take every other page of the range to the top tier behind pghot's back. */
static const char *move_away(struct pghot_region *r, int nid, long *moved)
{
	static void *pages[REGION / 4096];
	static int nodes[REGION / 4096], status[REGION / 4096];
	size_t nr = r->len / psize() / 2, i;

	for (i = 0; i < nr; i++) {
		pages[i] = r->addr + 2 * i * psize();
		nodes[i] = nid;
	}
	if (syscall(__NR_move_pages, 0, nr, pages, nodes, status,
		    MPOL_MF_MOVE) < 0)
		return pghot_error("move_pages: %s", strerror(errno));
	for (*moved = 0, i = 0; i < nr; i++)
		*moved += status[i] == nid;
	return NULL;
}

TEST_F_TIMEOUT(conservation, changed_while_queued, 900)
{
	static const enum pghot_kind kinds[NR_REGIONS] = {
		[FREED]		= PGHOT_ANON,
		[SPLIT_UP]	= PGHOT_THP,
		[MOVED]		= PGHOT_ANON,
		[PUNCHED]	= PGHOT_SHMEM,
	};
	struct pghot_region *r = self->region;
	unsigned long touched_freed;
	long moved = 0, enough = 0;
	char split[128];
	int i;

	for (i = 0; i < NR_REGIONS; i++) {
		ASSERT_OK(pghot_region_create(&r[i], kinds[i], REGION,
					      self->lower));
		enough += REGION / psize() * 9 / 10;
	}
	/* The limit only binds while the target has less than 1 GiB free. */
	ASSERT_LT(pghot_node_free_pages(self->top), (long)(1024 * MB / psize()))
		TH_LOG("precondition: node %d has 1 GiB free or more",
		       self->top);
	ASSERT_OK(pghot_read_counters(&self->before));
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, "1"));
	for (i = 0; i < NR_REGIONS; i++)
		ASSERT_OK(heat(self, i, REGION));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_QUEUED, enough, &self->before,
				     30000));
	ASSERT_OK(pghot_read_status(&self->status));
	TH_LOG("%ld pages in the queue", self->status.queued_now);
	ASSERT_GE(self->status.queued_now, enough * 8 / 10);

	/* One half is unmapped, */
	pghot_worker_stop(&self->worker[FREED]);
	touched_freed = self->worker[FREED].touches;
	ASSERT_EQ(munmap(r[FREED].addr + HALF, HALF), 0);
	ASSERT_OK(heat(self, FREED, HALF));

	/*
	 * huge folios are split to base pages, a piece of one is freed, one
	 * is mapped by PTEs only,
	 */
	pghot_worker_stop(&self->worker[SPLIT_UP]);
	snprintf(split, sizeof(split), "%d,0x%lx,0x%lx,0", getpid(),
		 (long)r[SPLIT_UP].addr, (long)r[SPLIT_UP].addr + HALF);
	ASSERT_EQ(pghot_write(SPLIT, split), 0)
		TH_LOG("precondition: " SPLIT " refuses '%s'", split);
	ASSERT_EQ(madvise(r[SPLIT_UP].addr + REGION - MB, MB, MADV_DONTNEED),
		  0);
	ASSERT_EQ(mprotect(r[SPLIT_UP].addr + HALF, psize(), PROT_READ), 0);
	ASSERT_EQ(mprotect(r[SPLIT_UP].addr + HALF, psize(),
			   PROT_READ | PROT_WRITE), 0);
	ASSERT_OK(heat(self, SPLIT_UP, REGION - 2 * MB));

	/* every other page is moved by somebody else, */
	ASSERT_OK(move_away(&r[MOVED], self->top, &moved));
	ASSERT_GT(moved, (long)(HALF / psize() / 2));

	/* and one half of a file is cut out under its mapping. */
	pghot_worker_stop(&self->worker[PUNCHED]);
	ASSERT_EQ(fallocate(r[PUNCHED].fd,
			    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, HALF,
			    HALF), 0);
	ASSERT_OK(heat(self, PUNCHED, HALF));

	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, r[MOVED].addr, REGION,
				      99, 20000, NULL));
	for (i = 0; i < NR_REGIONS; i++)
		pghot_worker_stop(&self->worker[i]);
	ASSERT_OK(pghot_settled(5000));
	ASSERT_OK(pghot_conserved());
	pghot_counters_since(&self->delta, &self->before);
	pghot_print_counters(&self->delta);

	/* The half which was freed, and what was moved, had to be noticed. */
	EXPECT_GE(self->delta.c[REFUSED_STALE],
		  (long)(HALF / psize()) * 7 / 10 + moved / 2);
	EXPECT_GT(self->delta.c[PROMOTE_SUCCESS], 0);

	ASSERT_OK(pghot_region_verify(&r[MOVED], 0, REGION,
				      self->worker[MOVED].touches));
	ASSERT_OK(pghot_region_verify(&r[FREED], 0, HALF, PGHOT_ANY_TOUCHES));
	ASSERT_OK(pghot_region_verify(&r[SPLIT_UP], 0, REGION - 2 * MB,
				      PGHOT_ANY_TOUCHES));
	ASSERT_OK(pghot_region_verify(&r[PUNCHED], 0, HALF,
				      PGHOT_ANY_TOUCHES));
	EXPECT_GT(touched_freed, 0);
	ASSERT_OK(pghot_assert_conservation());
}

#define STORM_S		8
#define STORM_LIVES	10
#define STORM_PROCS	4
#define STORM_REGION	(8 * MB)

/*
 * A process which makes memory hot, checks it, and ends at a random moment.
 * It exits with 0 if its memory was intact.
 */
static pid_t short_life(const struct pghot_topology *topo, int lower,
			unsigned int seed)
{
	static const enum pghot_kind kinds[] = {
		PGHOT_ANON, PGHOT_SHMEM, PGHOT_ANON, PGHOT_THP_HINT,
	};
	struct pghot_worker w = {};
	struct pghot_region r;
	const char *err;
	pid_t pid;

	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	srandom(seed);
	err = pghot_region_create(&r, kinds[random() % 4], STORM_REGION, lower);
	/* balancing is on: some of it may have been promoted by now */
	if (err && strncmp(err, "precondition:", 13))
		goto fail;
	w.cpu = topo->cpu[pghot_top_node(topo, 0)];
	w.addr = r.addr;
	w.len = r.len;
	w.write = true;
	err = pghot_worker_start(&w);
	if (err)
		goto fail;
	pghot_sleep_ms(200 + random() % 800);
	pghot_worker_stop(&w);
	err = pghot_region_verify(&r, 0, r.len, w.touches);
	if (err)
		goto fail;
	_exit(0);
fail:
	ksft_print_msg("%s\n", err);
	_exit(1);
}

TEST_F_TIMEOUT(conservation, storm_of_processes, 900)
{
	static const char * const sleeps[] = { "50", "100", "1000" };
	static const char * const batches[] = { "64", "65", "512", "1024" };
	static const char * const limits[] = { "65536", "1", "65536", "0" };
	int running = 0, lives = 0, failed = 0, status;
	unsigned int seed = 1;
	long end;

	/* Or nobody lives long enough to be scanned. */
	ASSERT_OK(pghot_set(SCAN_DELAY, "10"));
	ASSERT_OK(pghot_read_counters(&self->before));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));

	end = pghot_now_ms() + STORM_S * 1000;
	while (running || lives < STORM_LIVES || pghot_now_ms() < end) {
		while (running < STORM_PROCS &&
		       (lives + running < STORM_LIVES ||
			pghot_now_ms() < end)) {
			ASSERT_GT(short_life(&self->topo, self->lower,
					     ++seed), 0);
			running++;
		}
		ASSERT_OK(pghot_set(PGHOT_SLEEP_MS, sleeps[seed % 3]));
		ASSERT_OK(pghot_set(PGHOT_BATCH_NR, batches[seed % 4]));
		ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, limits[seed / 2 % 4]));
		ASSERT_GT(wait(&status), 0);
		running--;
		lives++;
		failed += !WIFEXITED(status) || WEXITSTATUS(status);
	}
	EXPECT_EQ(failed, 0);
	ASSERT_OK(pghot_set(PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT));
	ASSERT_OK(pghot_settled(5000));
	ASSERT_OK(pghot_conserved());
	pghot_counters_since(&self->delta, &self->before);
	TH_LOG("%d processes", lives);
	pghot_print_counters(&self->delta);
	EXPECT_GT(self->delta.c[PROMOTE_SUCCESS], 0);
	EXPECT_GT(self->delta.c[REFUSED_STALE], 0);
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

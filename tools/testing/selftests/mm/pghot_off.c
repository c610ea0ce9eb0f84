// SPDX-License-Identifier: GPL-2.0
/*
 * The off switch, and switching under load.
 *
 * With bit 0 of pghot_enabled_sources off, numa_balancing=2 is mainline's:
 * pages are promoted in the page fault, pghot's counters stand still and it
 * holds no memory.  Modes 0 and 1 are mainline's whatever the switch says;
 * mode 3 is as asynchronous as mode 2.  Mode and switch may be written in any
 * order at any speed: the last write holds, and the books balance.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

#define REGION	(256 * MB)
#define HOT	(64 * MB)
#define STORM_S	5
#define STORM_WRITES 200
#define SCAN_MAX "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms"

FIXTURE(off)
{
	struct pghot_topology topo;
	struct pghot_region region;
	struct pghot_worker worker[2];
	struct pghot_status status;
	struct pghot_counters before;
	struct pghot_counters delta;
};

FIXTURE_SETUP(off)
{
	ASSERT_OK(pghot_setup(&self->topo, 1, 1));
}

FIXTURE_TEARDOWN(off)
{
	pghot_worker_stop(&self->worker[0]);
	pghot_worker_stop(&self->worker[1]);
	pghot_region_destroy(&self->region);
	pghot_restore();
}

/* Fill a region on the lower tier and heat its first part. */
static const char *start(FIXTURE_DATA(off) * self)
{
	struct pghot_worker *w = &self->worker[0];
	const char *err;

	err = pghot_region_create(&self->region, PGHOT_ANON, REGION,
				  pghot_lower_node(&self->topo, 0));
	if (!err)
		err = pghot_read_counters(&self->before);
	w->cpu = self->topo.cpu[pghot_top_node(&self->topo, 0)];
	w->addr = self->region.addr;
	w->len = HOT;
	w->write = true;
	return err ? err : pghot_worker_start(w);
}

static const char *ours_stand_still(const struct pghot_counters *delta)
{
	int i;

	for (i = 0; i < NR_PGHOT_COUNTERS; i++)
		if (delta->c[i])
			return pghot_error("%s rose by %ld",
					   pghot_counter_names[i],
					   delta->c[i]);
	return NULL;
}

static const char *holds_nothing(void)
{
	static struct pghot_status status;
	const char *err = pghot_read_status(&status);

	if (err)
		return err;
	if (status.record_bytes || status.queued_now)
		return pghot_error("off, but record_bytes is %ld and queued_now is %ld",
				   status.record_bytes, status.queued_now);
	return NULL;
}

TEST_F_TIMEOUT(off, mode_2_is_mainline, 900)
{
	long hot, cold;

	ASSERT_OK(pghot_set(PGHOT_SOURCES, "0"));
	ASSERT_OK(start(self));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(holds_nothing());
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr, HOT,
				      99, 20000, NULL));
	ASSERT_OK(holds_nothing());
	pghot_worker_stop(&self->worker[0]);
	pghot_counters_since(&self->delta, &self->before);
	hot = pghot_pages_on_top(&self->topo, self->region.addr, HOT);
	cold = pghot_pages_on_top(&self->topo, self->region.addr + HOT,
				  REGION - HOT);
	EXPECT_GE(self->delta.c[PGPROMOTE_SUCCESS], hot);
	EXPECT_LE(cold * 100, (long)((REGION - HOT) / psize()));
	EXPECT_OK(ours_stand_still(&self->delta));
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

/* At run time, in the middle of it, and back. */
TEST_F_TIMEOUT(off, off_and_on_under_load, 900)
{
	struct pghot_counters mid;

	ASSERT_OK(start(self));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_SUCCESS, 256, &self->before,
				     20000));
	ASSERT_OK(pghot_read_status(&self->status));
	EXPECT_GT(self->status.record_bytes, 0);

	ASSERT_OK(pghot_set(PGHOT_SOURCES, "0"));
	ASSERT_OK(pghot_settled(5000));
	ASSERT_OK(holds_nothing());
	ASSERT_OK(pghot_read_counters(&mid));
	/* What is left is promoted, but not by us. */
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr, HOT,
				      99, 20000, NULL));
	pghot_counters_since(&self->delta, &mid);
	EXPECT_OK(ours_stand_still(&self->delta));

	/* The untouched rest gets hot with the switch on again. */
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_region_verify(&self->region, 0, HOT,
				      self->worker[0].touches));
	ASSERT_OK(pghot_set(PGHOT_SOURCES, "1"));
	self->worker[0].addr += HOT;
	ASSERT_OK(pghot_worker_start(&self->worker[0]));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr + HOT,
				      HOT, 99, 20000, NULL));
	pghot_counters_since(&self->delta, &mid);
	EXPECT_GE(self->delta.c[PROMOTE_SUCCESS], (long)(HOT / psize()) * 9 / 10);
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_region_verify(&self->region, HOT, HOT,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_F_TIMEOUT(off, mode_0_moves_nothing, 900)
{
	ASSERT_OK(start(self));
	pghot_sleep_ms(4000);
	pghot_counters_since(&self->delta, &self->before);
	pghot_worker_stop(&self->worker[0]);
	EXPECT_OK(ours_stand_still(&self->delta));
	EXPECT_EQ(self->delta.c[NUMA_HINT_FAULTS], 0);
	EXPECT_EQ(self->delta.c[PGPROMOTE_SUCCESS], 0);
	ASSERT_OK(holds_nothing());
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

/* Mode 1 looks at who accessed a page last, not at access times. */
TEST_F_TIMEOUT(off, mode_1_is_mainline, 900)
{
	ASSERT_OK(start(self));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "1"));
	ASSERT_OK(pghot_wait_counter(NUMA_PAGES_MIGRATED, 1024, &self->before,
				     20000));
	pghot_worker_stop(&self->worker[0]);
	pghot_counters_since(&self->delta, &self->before);
	EXPECT_OK(ours_stand_still(&self->delta));
	ASSERT_OK(holds_nothing());
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_F_TIMEOUT(off, mode_3_is_asynchronous, 900)
{
	ASSERT_OK(start(self));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "3"));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr, HOT,
				      99, 20000, NULL));
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_set(NUMA_BALANCING, "0"));
	ASSERT_OK(pghot_settled(5000));
	pghot_counters_since(&self->delta, &self->before);
	EXPECT_EQ(self->delta.c[PROMOTE_SUCCESS],
		  self->delta.c[PGPROMOTE_SUCCESS]);
	EXPECT_GE(self->delta.c[PROMOTE_SUCCESS],
		  (long)(HOT / psize()) * 99 / 100);
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

/* Kernel memory of the kinds that queues and records can be, in kB. */
static long kernel_kb(void)
{
	char line[128];
	long kb, sum = 0;
	FILE *f;

	f = fopen("/proc/meminfo", "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "SUnreclaim: %ld", &kb) == 1 ||
		    sscanf(line, "VmallocUsed: %ld", &kb) == 1)
			sum += kb;
	fclose(f);
	return sum;
}

#define CYCLES	20

/* Queues and records cost something while a source is on, and only then. */
TEST_F_TIMEOUT(off, memory_is_returned, 900)
{
	long off, on, after;
	int i;

	ASSERT_OK(start(self));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_wait_counter(PROMOTE_SUCCESS, 256, &self->before,
				     20000));
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_settled(5000));
	ASSERT_OK(pghot_read_status(&self->status));
	EXPECT_GT(self->status.record_bytes, 0);
	on = kernel_kb();
	ASSERT_OK(pghot_set(PGHOT_SOURCES, "0"));
	ASSERT_OK(holds_nothing());
	off = kernel_kb();
	for (i = 0; i < CYCLES; i++) {
		ASSERT_OK(pghot_set(PGHOT_SOURCES, "1"));
		ASSERT_OK(pghot_set(PGHOT_SOURCES, "0"));
	}
	after = kernel_kb();
	TH_LOG("on %ld kB, off %ld kB, off after %d cycles %ld kB", on, off,
	       CYCLES, after);
	/* a queue holds 128 Ki requests */
	EXPECT_GE(on - off, 2048);
	EXPECT_LE(after - off, 512);
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

/*
 * Write the values to @path in turn, as fast as it goes, for STORM_S seconds and
 * STORM_WRITES times at least: a slow kernel takes longer.
 * Exits with 0 if each write was taken and the last one reads back.
 */
static pid_t toggle(const char *path, const char * const *values, int nr)
{
	long end = pghot_now_ms() + STORM_S * 1000;
	char buf[32];
	pid_t pid;
	int i;

	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i % nr || i < STORM_WRITES || pghot_now_ms() < end; i++)
		if (pghot_write(path, values[i % nr]))
			_exit(2);
	if (pghot_read(path, buf, sizeof(buf)) || strcmp(buf, values[nr - 1]))
		_exit(3);
	_exit(0);
}

/*
 * Wait for writers.  One which was not @alone may have read what another one
 * wrote after it.
 */
static const char *toggled(const pid_t *pid, int nr, bool alone)
{
	int status, i;

	for (i = 0; i < nr; i++) {
		if (pid[i] < 0 || waitpid(pid[i], &status, 0) != pid[i])
			return pghot_error("writer %d: no process", i);
		if (!WIFEXITED(status) ||
		    (WEXITSTATUS(status) && (alone || WEXITSTATUS(status) != 3)))
			return pghot_error("writer %d: status %x (2 refused, 3 lost)",
					   i, status);
	}
	return NULL;
}

TEST_F_TIMEOUT(off, toggling_at_full_speed, 900)
{
	/* Few zeroes: the scanner needs time with the mode on. */
	static const char * const modes[] = {
		"2", "3", "2", "1", "2", "0", "3", "2",
	};
	static const char * const sources[] = { "0", "1" };
	static const char * const limits[] = {
		"0", "65536", "65536", "1", "65536", "65536",
	};
	struct pghot_worker *w = self->worker;
	pid_t pid[3];

	/* Scanning slows down while nothing it finds moves, up to this. */
	ASSERT_OK(pghot_set(SCAN_MAX, "2000"));
	ASSERT_OK(start(self));
	w[1] = w[0];
	w[1].running = false;
	w[1].addr += HOT;
	ASSERT_OK(pghot_worker_start(&w[1]));
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	/* let faults and promotions run first */
	ASSERT_OK(pghot_wait_counter(PROMOTE_SUCCESS, 256, &self->before,
				     20000));

	pid[0] = toggle(NUMA_BALANCING, modes, ARRAY_SIZE(modes));
	pid[1] = toggle(PGHOT_SOURCES, sources, ARRAY_SIZE(sources));
	pid[2] = toggle(PGHOT_RATE_LIMIT, limits, ARRAY_SIZE(limits));
	ASSERT_OK(toggled(pid, ARRAY_SIZE(pid), true));

	/* It still works: 2, 1, unlimited were the last writes. */
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr,
				      2 * HOT, 99, 20000, NULL));
	pghot_worker_stop(&w[0]);
	pghot_worker_stop(&w[1]);
	ASSERT_OK(pghot_region_verify(&self->region, 0, HOT, w[0].touches));
	ASSERT_OK(pghot_region_verify(&self->region, HOT, HOT, w[1].touches));
	ASSERT_OK(pghot_assert_conservation());
	pghot_counters_since(&self->delta, &self->before);
	pghot_print_counters(&self->delta);
	ASSERT_OK(holds_nothing());

	/* And off is off, from either side. */
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	ASSERT_OK(pghot_set(PGHOT_SOURCES, "0"));
	ASSERT_OK(holds_nothing());
}

/*
 * Two writers of the same knob: it must not only read what was written last,
 * but be in that state, and whoever loses a race must not upset the kernel.
 * All writers end with the mode and the switch on, and nobody writes after
 * them.
 */
TEST_F_TIMEOUT(off, two_writers_of_one_knob, 900)
{
	static const char * const modes[] = { "0", "2", "3", "0", "1", "2" };
	static const char * const sources[] = { "0", "1" };
	int i;
	pid_t pid[4];

	ASSERT_OK(pghot_set(SCAN_MAX, "2000"));
	ASSERT_OK(start(self));
	/* to have it put back at the end */
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	for (i = 0; i < 2; i++) {
		pid[i] = toggle(NUMA_BALANCING, modes, ARRAY_SIZE(modes));
		pid[2 + i] = toggle(PGHOT_SOURCES, sources,
				    ARRAY_SIZE(sources));
	}
	ASSERT_OK(toggled(pid, ARRAY_SIZE(pid), false));
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr, HOT,
				      99, 20000, NULL));
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

#define TAINTED		"/proc/sys/kernel/tainted"
#define TAINT_WARN	512

/*
 * The mode has a variable and two static keys. Each has to be of the same
 * writer in the end, and no writer may find a key half switched by another,
 * which is a WARNING.
 */
TEST_F_TIMEOUT(off, four_writers_of_the_mode, 900)
{
	/* All values, in an order of each one's own; the mode is 2 at the end. */
	static const char * const modes[4][4] = {
		{ "0", "1", "3", "2" },
		{ "1", "0", "3", "2" },
		{ "3", "0", "1", "2" },
		{ "1", "3", "0", "2" },
	};
	long before = pghot_read_long(TAINTED);
	int i;
	pid_t pid[4];

	ASSERT_GE(before, 0);
	ASSERT_OK(pghot_set(SCAN_MAX, "2000"));
	ASSERT_OK(start(self));
	/* to have it put back at the end */
	ASSERT_OK(pghot_set(NUMA_BALANCING, "2"));
	for (i = 0; i < 4; i++)
		pid[i] = toggle(NUMA_BALANCING, modes[i], 4);
	ASSERT_OK(toggled(pid, ARRAY_SIZE(pid), false));
	EXPECT_EQ(pghot_read_long(TAINTED) & ~before & TAINT_WARN, 0)
		TH_LOG("a WARNING in the kernel log");

	/* On, as was written last, and then off. */
	ASSERT_OK(pghot_wait_promoted(&self->topo, -1, self->region.addr, HOT,
				      99, 20000, NULL));
	pghot_worker_stop(&self->worker[0]);
	ASSERT_OK(pghot_set(NUMA_BALANCING, "0"));
	ASSERT_OK(holds_nothing());
	ASSERT_OK(pghot_region_verify(&self->region, 0, REGION,
				      self->worker[0].touches));
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Common parts of the pghot selftests: which nodes are in which tier, knobs
 * which are put back at the end, memory with a known content on a known node,
 * threads which make some of it hot, and the counters' balance sheet.
 *
 * A helper which can fail returns NULL, or a sentence which says what went
 * wrong; it stays valid until the next helper is called.  ASSERT_OK() turns
 * it into a failed test.  Nothing here skips: a pghot test whose precondition
 * is missing has not shown anything and fails.
 */
#ifndef _PGHOT_UTIL_H
#define _PGHOT_UTIL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kselftest.h"

#define MB			0x100000UL

/* The largest MAX_NUMNODES of any architecture. */
#define PGHOT_MAX_NODES		1024

#define NUMA_BALANCING		"/proc/sys/kernel/numa_balancing"
#define NUMA_BALANCING_LIMIT	\
	"/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
#define HOT_THRESHOLD		\
	"/sys/kernel/debug/sched/numa_balancing/hot_threshold_ms"
#define DEMOTION_ENABLED	"/sys/kernel/mm/numa/demotion_enabled"
#define THP_SYSFS		"/sys/kernel/mm/transparent_hugepage/"

#define PGHOT_SYSCTL_DIR	"/proc/sys/vm"
#define PGHOT_SYSCTL(name)	PGHOT_SYSCTL_DIR "/pghot_" name
#define PGHOT_DEBUGFS_DIR	"/sys/kernel/debug/pghot"
#define PGHOT_DEBUGFS(name)	PGHOT_DEBUGFS_DIR "/" name

#define PGHOT_SOURCES		PGHOT_SYSCTL("enabled_sources")
#define PGHOT_TARGET_NID	PGHOT_SYSCTL("target_nid")
#define PGHOT_RATE_LIMIT	PGHOT_SYSCTL("promote_rate_limit_MBps")
#define PGHOT_SLEEP_MS		PGHOT_DEBUGFS("kmigrated_sleep_ms")
#define PGHOT_BATCH_NR		PGHOT_DEBUGFS("kmigrated_batch_nr")
#define PGHOT_STATUS		PGHOT_DEBUGFS("status")

#define PGHOT_RATE_DEFAULT	"65536"

/* Fail the harness test with the helper's own sentence. */
#define __PGHOT_OK(call, how) do {					\
	const char *__err = (call);					\
									\
	how(__err, NULL)						\
		TH_LOG("%s", __err);					\
} while (0)

#define ASSERT_OK(call) __PGHOT_OK(call, ASSERT_EQ)
#define EXPECT_OK(call) __PGHOT_OK(call, EXPECT_EQ)

/* Nodes and tiers */

struct pghot_topology {
	int nr;				/* highest online node, plus one */
	int nr_tiers;			/* memory tiers which have nodes */
	bool online[PGHOT_MAX_NODES];
	bool memory[PGHOT_MAX_NODES];
	bool top[PGHOT_MAX_NODES];	/* in a tier which has CPUs, or above */
	int cpu[PGHOT_MAX_NODES];	/* first CPU of the node, or -1 */
};

const char *pghot_read_topology(struct pghot_topology *topo);
int pghot_top_node(const struct pghot_topology *topo, int nth);
int pghot_lower_node(const struct pghot_topology *topo, int nth);
long pghot_node_free_pages(int nid);
int pghot_max_numnodes(void);

/*
 * What nearly every test needs: root, debugfs, this kernel's knobs, at least
 * @nr_top top-tier nodes with CPUs and memory and @nr_lower lower-tier ones.
 * Also puts the machine into the state from which tests start: NUMA balancing
 * off, hint faults on as a source, demotion on, default limits.
 */
const char *pghot_setup(struct pghot_topology *topo, int nr_top, int nr_lower);

/* Files with one value */

int pghot_write(const char *path, const char *val);
const char *pghot_set(const char *path, const char *val);
const char *pghot_set_num(const char *path, long val);
const char *pghot_read(const char *path, char *buf, size_t len);
long pghot_read_long(const char *path);
void pghot_restore(void);
bool pghot_config(const char *option, bool *set);

/* Counters */

enum pghot_counter {
	REPORTED_HINTFAULTS,
	REPORTED_HWHINTS,
	RECORDED_ACCESSES,
	PROMOTE_QUEUED,
	PROMOTE_SUCCESS,
	REFUSED_INELIGIBLE,
	REFUSED_POLICY,
	REFUSED_STALE,
	REFUSED_TARGET,
	REFUSED_ISOLATE,
	REFUSED_MIGRATE,
	REFUSED_BOUNCE,
	REFUSED_QUEUE_FULL,
	DEFERRED_RATELIMIT,
	RECORD_FAILED,
	HWHINT_TOTAL,
	HWHINT_DRAM,
	HWHINT_EXTMEM,
	HWHINT_CACHE,
	HWHINT_USEFUL,
	HWHINT_FILTERED,
	HWHINT_DROPPED,
	NR_PGHOT_COUNTERS,
	/* Not ours, but what ours are compared with. */
	PGPROMOTE_SUCCESS = NR_PGHOT_COUNTERS,
	NUMA_HINT_FAULTS,
	NUMA_PAGES_MIGRATED,
	NR_COUNTERS,
};

struct pghot_counters {
	long c[NR_COUNTERS];
};

extern const char * const pghot_counter_names[NR_COUNTERS];

const char *pghot_read_counters(struct pghot_counters *now);
void pghot_counters_since(struct pghot_counters *delta,
			  const struct pghot_counters *before);
void pghot_print_counters(const struct pghot_counters *delta);
const char *pghot_settled(int timeout_ms);
const char *pghot_conserved(void);

/*
 * Every test ends with this: NUMA balancing off, wait until nothing is in
 * flight, then queued has to be the sum of all outcomes, exactly.
 */
const char *pghot_assert_conservation(void);

/* The status file */

struct pghot_status {
	long record_bytes;
	long map_failures;
	long queued_now;
	int nr_nodes;
	int nid[PGHOT_MAX_NODES];
	char text[16384];
};

const char *pghot_read_status(struct pghot_status *status);
int pghot_kmigrated(int nid);

/* The kernel log: lines which contain @what, at most @len bytes of them. */
int pghot_dmesg(const char *what, char *buf, size_t len);

/* Memory with a known content */

enum pghot_kind {
	PGHOT_ANON,
	PGHOT_THP,
	PGHOT_THP_HINT,		/* huge if there are huge pages, not checked */
	PGHOT_MTHP,		/* 64 KiB folios */
	PGHOT_SHMEM,
	PGHOT_FILE,		/* writable mapping, clean pages */
};

struct pghot_region {
	enum pghot_kind kind;
	char *addr;
	size_t len;
	void *map;		/* what to unmap */
	size_t map_len;
	uint64_t seed;
	int fd;
};

const char *pghot_region_create(struct pghot_region *r, enum pghot_kind kind,
				size_t len, int nid);
void pghot_region_destroy(struct pghot_region *r);
void pghot_region_fill(const struct pghot_region *r);

/*
 * Every word but the first of every page in the range must be what was
 * written when the region was made; the first words, which workers increment,
 * must add up to @touches, unless that is PGHOT_ANY_TOUCHES.
 */
#define PGHOT_ANY_TOUCHES	(~0UL)

const char *pghot_region_verify(const struct pghot_region *r, size_t off,
				size_t len, unsigned long touches);
const char *pghot_bind_node(int nid);		/* -1: back to default */
const char *pghot_mount_fs(char *dir, size_t len);

/* Where the pages are: per_node[] gets counts, *absent the rest. */
const char *pghot_where(const void *addr, size_t len, long *per_node,
			long *absent);
const char *pghot_all_on(const void *addr, size_t len, int nid);
long pghot_pages_on_top(const struct pghot_topology *topo, const void *addr,
			size_t len);
long pghot_pages_on(int nid, const void *addr, size_t len);

/* Making memory hot */

struct pghot_worker {
	int cpu;
	char *addr;
	size_t len;
	bool write;		/* count each touch in the page */
	unsigned long touches;
	/* private */
	bool stop;
	bool running;
	pthread_t thread;
};

const char *pghot_worker_start(struct pghot_worker *w);
void pghot_worker_stop(struct pghot_worker *w);

/*
 * Time limits are for a machine which is not busy with other things:
 * $PGHOT_TIME_SCALE multiplies them for one which is, and so it does the time
 * within which the page fault takes a page for hot.
 */
int pghot_time_scale(void);

/* Wait until @percent of the range is on top-tier nodes (@nid -1), or @nid. */
const char *pghot_wait_promoted(const struct pghot_topology *topo, int nid,
				const void *addr, size_t len, int percent,
				int timeout_ms, int *took_ms);
const char *pghot_wait_counter(enum pghot_counter which, long at_least,
			       const struct pghot_counters *before,
			       int timeout_ms);

long pghot_now_ms(void);
void pghot_sleep_ms(int ms);
__printf(1, 2) const char *pghot_error(const char *fmt, ...);

#endif /* _PGHOT_UTIL_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * Common parts of the pghot selftests, see pghot_util.h.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vm_util.h"
#include "pghot_util.h"

#define NODE_SYSFS	"/sys/devices/system/node"
#define TIER_SYSFS	"/sys/devices/virtual/memory_tiering"
#define MASK_LONGS	(PGHOT_MAX_NODES / (8 * sizeof(unsigned long)))

const char *pghot_error(const char *fmt, ...)
{
	static char text[1024];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return text;
}

long pghot_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void pghot_sleep_ms(int ms)
{
	struct timespec ts = {
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L,
	};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* --- files with one value ---------------------------------------------- */

/* Returns 0 or -errno; a short write is an error as well. */
int pghot_write(const char *path, const char *val)
{
	size_t len = strlen(val);
	ssize_t n;
	int fd, err = 0;

	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	n = write(fd, val, len);
	if (n < 0)
		err = -errno;
	else if ((size_t)n != len)
		err = -EIO;
	close(fd);
	return err;
}

/* The content without its last newline. */
const char *pghot_read(const char *path, char *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY);
	if (fd < 0)
		return pghot_error("%s: %s", path, strerror(errno));
	while (done < len - 1) {
		n = read(fd, buf + done, len - 1 - done);
		if (n < 0) {
			close(fd);
			return pghot_error("%s: %s", path, strerror(errno));
		}
		if (!n)
			break;
		done += n;
	}
	close(fd);
	if (done && buf[done - 1] == '\n')
		done--;
	buf[done] = '\0';
	return NULL;
}

/* -1 when there is no number; no file read with this is negative. */
long pghot_read_long(const char *path)
{
	char buf[64], *end;
	long val;

	if (pghot_read(path, buf, sizeof(buf)))
		return -1;
	val = strtol(buf, &end, 10);
	return end == buf ? -1 : val;
}

/* Old values, in the order in which they were first overwritten. */
static struct {
	char path[128];
	char val[128];
} saved[32];
static int nr_saved;

static const char *save(const char *path)
{
	char buf[128], *open_bracket, *close_bracket;
	const char *err;
	int i;

	for (i = 0; i < nr_saved; i++)
		if (!strcmp(saved[i].path, path))
			return NULL;
	if (nr_saved == ARRAY_SIZE(saved))
		return pghot_error("too many knobs to put back");
	err = pghot_read(path, buf, sizeof(buf));
	if (err)
		return err;

	/* "always [madvise] never": the chosen one is what to write back */
	open_bracket = strchr(buf, '[');
	close_bracket = open_bracket ? strchr(open_bracket, ']') : NULL;
	if (close_bracket) {
		*close_bracket = '\0';
		memmove(buf, open_bracket + 1, close_bracket - open_bracket);
	}
	snprintf(saved[nr_saved].path, sizeof(saved[0].path), "%s", path);
	snprintf(saved[nr_saved].val, sizeof(saved[0].val), "%s", buf);
	nr_saved++;
	return NULL;
}

/* Write, and have pghot_restore() put the present value back. */
const char *pghot_set(const char *path, const char *val)
{
	const char *err;
	int ret;

	err = save(path);
	if (err)
		return err;
	ret = pghot_write(path, val);
	if (ret)
		return pghot_error("%s refuses '%s': %s", path, val,
				   strerror(-ret));
	return NULL;
}

const char *pghot_set_num(const char *path, long val)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%ld", val);
	return pghot_set(path, buf);
}

void pghot_restore(void)
{
	while (nr_saved) {
		nr_saved--;
		pghot_write(saved[nr_saved].path, saved[nr_saved].val);
	}
}

/* Whether the running kernel has @option=y; false if there is no telling. */
bool pghot_config(const char *option, bool *set)
{
	char line[256], want[128];
	bool seen = false;
	FILE *f;

	*set = false;
	snprintf(want, sizeof(want), "%s=y\n", option);
	f = popen("{ zcat /proc/config.gz || cat /boot/config-$(uname -r); } 2>/dev/null",
		  "r");
	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		seen = true;
		if (!strcmp(line, want))
			*set = true;
	}
	pclose(f);
	return seen;
}

/* --- nodes and tiers --------------------------------------------------- */

/* "0-1,4" into a set; entries beyond @max are an error. */
static bool parse_list(const char *text, bool *set, int max)
{
	while (*text && *text != '\n') {
		char *end;
		long first, last;

		first = strtol(text, &end, 10);
		if (end == text)
			return false;
		last = first;
		if (*end == '-') {
			text = end + 1;
			last = strtol(text, &end, 10);
			if (end == text)
				return false;
		}
		if (first < 0 || last >= max)
			return false;
		for (; first <= last; first++)
			set[first] = true;
		text = *end == ',' ? end + 1 : end;
	}
	return true;
}

static const char *read_list(const char *path, bool *set, int max)
{
	char buf[4096];
	const char *err;

	memset(set, 0, max * sizeof(*set));
	err = pghot_read(path, buf, sizeof(buf));
	if (err)
		return err;
	if (!parse_list(buf, set, max))
		return pghot_error("%s: cannot read the list '%s'", path, buf);
	return NULL;
}

/*
 * The kernel's rule: the slowest tier in which some node has a CPU is top
 * tier, and so is every faster one.
 */
static const char *read_tiers(struct pghot_topology *topo)
{
	static bool nodes[PGHOT_MAX_NODES];
	long top_adist = -1;
	struct dirent *d;
	char path[512];
	const char *err;
	long adist;
	DIR *dir;
	int pass, nid;

	for (pass = 0; pass < 2; pass++) {
		dir = opendir(TIER_SYSFS);
		if (!dir)
			return pghot_error(TIER_SYSFS ": %s", strerror(errno));
		while ((d = readdir(dir))) {
			if (sscanf(d->d_name, "memory_tier%ld", &adist) != 1)
				continue;
			snprintf(path, sizeof(path), TIER_SYSFS "/%s/nodelist",
				 d->d_name);
			err = read_list(path, nodes, PGHOT_MAX_NODES);
			if (err) {
				closedir(dir);
				return err;
			}
			if (!pass)
				topo->nr_tiers++;
			for (nid = 0; nid < PGHOT_MAX_NODES; nid++) {
				if (!nodes[nid])
					continue;
				if (!pass && topo->cpu[nid] >= 0 &&
				    adist > top_adist)
					top_adist = adist;
				if (pass)
					topo->top[nid] = adist <= top_adist;
			}
		}
		closedir(dir);
	}
	return NULL;
}

const char *pghot_read_topology(struct pghot_topology *topo)
{
	static bool cpus[4096];
	char path[128];
	const char *err;
	int nid, cpu;

	memset(topo, 0, sizeof(*topo));
	err = read_list(NODE_SYSFS "/online", topo->online, PGHOT_MAX_NODES);
	if (err)
		return err;
	err = read_list(NODE_SYSFS "/has_memory", topo->memory,
			PGHOT_MAX_NODES);
	if (err)
		return err;
	for (nid = 0; nid < PGHOT_MAX_NODES; nid++) {
		topo->cpu[nid] = -1;
		if (!topo->online[nid])
			continue;
		topo->nr = nid + 1;
		snprintf(path, sizeof(path), NODE_SYSFS "/node%d/cpulist", nid);
		err = read_list(path, cpus, ARRAY_SIZE(cpus));
		if (err)
			return err;
		for (cpu = 0; cpu < (int)ARRAY_SIZE(cpus); cpu++) {
			if (cpus[cpu]) {
				topo->cpu[nid] = cpu;
				break;
			}
		}
	}
	return read_tiers(topo);
}

/* The nth top-tier node which has CPUs and memory, or -1. */
int pghot_top_node(const struct pghot_topology *topo, int nth)
{
	int nid;

	for (nid = 0; nid < topo->nr; nid++)
		if (topo->top[nid] && topo->memory[nid] &&
		    topo->cpu[nid] >= 0 && !nth--)
			return nid;
	return -1;
}

/* The nth node with memory below the top tier, or -1. */
int pghot_lower_node(const struct pghot_topology *topo, int nth)
{
	int nid;

	for (nid = 0; nid < topo->nr; nid++)
		if (!topo->top[nid] && topo->memory[nid] && !nth--)
			return nid;
	return -1;
}

long pghot_node_free_pages(int nid)
{
	char path[128], line[256];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), NODE_SYSFS "/node%d/meminfo", nid);
	f = fopen(path, "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Node %*d MemFree: %ld kB", &kb) == 1)
			break;
	fclose(f);
	return kb < 0 ? -1 : kb * 1024 / psize();
}

/* Mems_allowed is printed with exactly MAX_NUMNODES bits. */
int pghot_max_numnodes(void)
{
	char line[1024];
	int bits = -1;
	FILE *f;
	char *p;

	f = fopen("/proc/self/status", "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "Mems_allowed:", 13))
			continue;
		bits = 0;
		for (p = line + 13; *p; p++)
			if (isxdigit(*p))
				bits += 4;
		break;
	}
	fclose(f);
	return bits;
}

static const char *need_debugfs(void)
{
	if (!access(PGHOT_DEBUGFS_DIR, F_OK))
		return NULL;
	if (mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL) &&
	    errno != EBUSY)
		return pghot_error("precondition: debugfs cannot be mounted: %s",
				   strerror(errno));
	if (access(PGHOT_DEBUGFS_DIR, F_OK))
		return pghot_error("precondition: " PGHOT_DEBUGFS_DIR ": %s",
				   strerror(errno));
	return NULL;
}

/*
 * The page fault takes a page for cold that is touched later than this after a
 * scan.  On a slow machine all are late: there a second is short, too.
 */
static const char *set_hot_threshold(void)
{
	if (pghot_time_scale() == 1)
		return NULL;
	return pghot_set_num(HOT_THRESHOLD, 1000L * pghot_time_scale());
}

const char *pghot_setup(struct pghot_topology *topo, int nr_top, int nr_lower)
{
	static const char * const defaults[][2] = {
		{ NUMA_BALANCING, "0" },
		{ DEMOTION_ENABLED, "1" },
		{ PGHOT_SOURCES, "1" },
		{ PGHOT_TARGET_NID, "-1" },
		{ PGHOT_RATE_LIMIT, PGHOT_RATE_DEFAULT },
		{ PGHOT_SLEEP_MS, "100" },
		{ PGHOT_BATCH_NR, "512" },
	};
	const char *err;
	unsigned int i;

	if (geteuid())
		return pghot_error("precondition: not root");
	err = need_debugfs();
	if (err)
		return err;
	err = pghot_read_topology(topo);
	if (err)
		return err;
	if (nr_top && pghot_top_node(topo, nr_top - 1) < 0)
		return pghot_error("precondition: not %d top-tier node(s) with CPUs and memory",
				   nr_top);
	if (nr_lower && pghot_lower_node(topo, nr_lower - 1) < 0)
		return pghot_error("precondition: not %d lower-tier node(s), %d tier(s)",
				   nr_lower, topo->nr_tiers);
	for (i = 0; i < ARRAY_SIZE(defaults); i++) {
		if (access(defaults[i][0], F_OK))
			return pghot_error("precondition: %s: %s",
					   defaults[i][0], strerror(errno));
		err = pghot_set(defaults[i][0], defaults[i][1]);
		if (err)
			return err;
	}
	return set_hot_threshold();
}

/* --- counters ---------------------------------------------------------- */

const char * const pghot_counter_names[NR_COUNTERS] = {
	[REPORTED_HINTFAULTS]	= "pghot_reported_hintfaults",
	[REPORTED_HWHINTS]	= "pghot_reported_hwhints",
	[RECORDED_ACCESSES]	= "pghot_recorded_accesses",
	[PROMOTE_QUEUED]	= "pghot_promote_queued",
	[PROMOTE_SUCCESS]	= "pghot_promote_success",
	[REFUSED_INELIGIBLE]	= "pghot_refused_ineligible",
	[REFUSED_POLICY]	= "pghot_refused_policy",
	[REFUSED_STALE]		= "pghot_refused_stale",
	[REFUSED_TARGET]	= "pghot_refused_target",
	[REFUSED_ISOLATE]	= "pghot_refused_isolate",
	[REFUSED_MIGRATE]	= "pghot_refused_migrate",
	[REFUSED_BOUNCE]	= "pghot_refused_bounce",
	[REFUSED_QUEUE_FULL]	= "pghot_refused_queue_full",
	[DEFERRED_RATELIMIT]	= "pghot_deferred_ratelimit",
	[RECORD_FAILED]		= "pghot_record_failed",
	[HWHINT_TOTAL]		= "hwhint_total_events",
	[HWHINT_DRAM]		= "hwhint_dram_accesses",
	[HWHINT_EXTMEM]		= "hwhint_extmem_accesses",
	[HWHINT_CACHE]		= "hwhint_cache_accesses",
	[HWHINT_USEFUL]		= "hwhint_useful_events",
	[HWHINT_FILTERED]	= "hwhint_filtered_events",
	[HWHINT_DROPPED]	= "hwhint_dropped_events",
	[PGPROMOTE_SUCCESS]	= "pgpromote_success",
	[NUMA_HINT_FAULTS]	= "numa_hint_faults",
	[NUMA_PAGES_MIGRATED]	= "numa_pages_migrated",
};

/*
 * Node statistics such as pgpromote_success are kept in per-CPU parts which
 * /proc/vmstat does not add, unlike events such as ours: without this they
 * seem to lag behind.
 */
static void fold_statistics(void)
{
	char buf[16];

	pghot_read("/proc/sys/vm/stat_refresh", buf, sizeof(buf));
}

static const char *read_counters(struct pghot_counters *now)
{
	char name[128];
	long val;
	FILE *f;
	int i;

	for (i = 0; i < NR_COUNTERS; i++)
		now->c[i] = -1;
	f = fopen("/proc/vmstat", "r");
	if (!f)
		return pghot_error("/proc/vmstat: %s", strerror(errno));
	while (fscanf(f, "%127s %ld", name, &val) == 2)
		for (i = 0; i < NR_COUNTERS; i++)
			if (!strcmp(name, pghot_counter_names[i]))
				now->c[i] = val;
	fclose(f);
	for (i = 0; i < NR_COUNTERS; i++)
		if (now->c[i] < 0)
			return pghot_error("/proc/vmstat has no %s",
					   pghot_counter_names[i]);
	return NULL;
}

const char *pghot_read_counters(struct pghot_counters *now)
{
	fold_statistics();
	return read_counters(now);
}

/* A missing counter was found by the read of @before already. */
void pghot_counters_since(struct pghot_counters *delta,
			  const struct pghot_counters *before)
{
	int i;

	pghot_read_counters(delta);
	for (i = 0; i < NR_COUNTERS; i++)
		delta->c[i] -= before->c[i];
}

void pghot_print_counters(const struct pghot_counters *delta)
{
	int i;

	for (i = 0; i < NR_COUNTERS; i++)
		if (delta->c[i])
			ksft_print_msg("%+8ld %s\n", delta->c[i],
				       pghot_counter_names[i]);
}

static long outcomes(const struct pghot_counters *now)
{
	return now->c[PROMOTE_SUCCESS] + now->c[REFUSED_INELIGIBLE] +
	       now->c[REFUSED_POLICY] + now->c[REFUSED_STALE] +
	       now->c[REFUSED_TARGET] + now->c[REFUSED_ISOLATE] +
	       now->c[REFUSED_MIGRATE];
}

/*
 * Wait until the queues are empty and the counters stand still.  An empty
 * queue is not enough: a batch which was taken out of it may be under way.
 */
const char *pghot_settled(int timeout_ms)
{
	static struct pghot_status status;
	struct pghot_counters a, b;
	const char *err;
	int quiet = 0;
	long end;

	timeout_ms *= pghot_time_scale();
	end = pghot_now_ms() + timeout_ms;

	err = pghot_read_counters(&a);
	if (err)
		return err;
	while (quiet < 4) {
		if (pghot_now_ms() > end)
			return pghot_error("%d ms, no rest: %ld waiting, %ld queued, %ld settled",
					   timeout_ms, status.queued_now,
					   a.c[PROMOTE_QUEUED], outcomes(&a));
		pghot_sleep_ms(50);
		err = pghot_read_counters(&b);
		if (err)
			return err;
		err = pghot_read_status(&status);
		if (err)
			return err;
		if (status.queued_now || memcmp(&a.c[PROMOTE_QUEUED],
						&b.c[PROMOTE_QUEUED],
						8 * sizeof(a.c[0])))
			quiet = 0;
		else
			quiet++;
		a = b;
	}
	return NULL;
}

static const char *refusals(const struct pghot_counters *now)
{
	static char text[256];

	snprintf(text, sizeof(text),
		 "%ld ineligible, %ld policy, %ld stale, %ld target, %ld isolate, %ld migrate",
		 now->c[REFUSED_INELIGIBLE], now->c[REFUSED_POLICY],
		 now->c[REFUSED_STALE], now->c[REFUSED_TARGET],
		 now->c[REFUSED_ISOLATE], now->c[REFUSED_MIGRATE]);
	return text;
}

/* At rest only: all that was ever queued has exactly one outcome. */
const char *pghot_conserved(void)
{
	struct pghot_counters now;
	const char *err;

	err = pghot_read_counters(&now);
	if (err)
		return err;
	if (now.c[PROMOTE_QUEUED] != outcomes(&now))
		return pghot_error("queued %ld != %ld = %ld success + refused %s",
				   now.c[PROMOTE_QUEUED], outcomes(&now),
				   now.c[PROMOTE_SUCCESS], refusals(&now));
	if (now.c[HWHINT_TOTAL] != now.c[HWHINT_USEFUL] +
				   now.c[HWHINT_FILTERED] +
				   now.c[HWHINT_DROPPED])
		return pghot_error("hwhints: %ld != %ld useful + %ld filtered + %ld dropped",
				   now.c[HWHINT_TOTAL], now.c[HWHINT_USEFUL],
				   now.c[HWHINT_FILTERED],
				   now.c[HWHINT_DROPPED]);
	return NULL;
}

const char *pghot_assert_conservation(void)
{
	const char *err;

	err = pghot_set(NUMA_BALANCING, "0");
	if (!err)
		err = pghot_settled(5000);
	if (!err)
		err = pghot_conserved();
	return err;
}

/* --- status, threads, log ---------------------------------------------- */

const char *pghot_read_status(struct pghot_status *status)
{
	char *line, *next, *copy, key[32];
	const char *err;
	long val;
	int nid;

	status->record_bytes = -1;
	status->map_failures = -1;
	status->queued_now = -1;
	status->nr_nodes = 0;
	err = pghot_read(PGHOT_STATUS, status->text, sizeof(status->text));
	if (err)
		return err;
	copy = strdup(status->text);
	if (!copy)
		return pghot_error("out of memory");
	for (line = copy; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (sscanf(line, "node %d:", &nid) == 1) {
			if (status->nr_nodes < PGHOT_MAX_NODES)
				status->nid[status->nr_nodes++] = nid;
			continue;
		}
		if (sscanf(line, "%31s %ld", key, &val) != 2)
			continue;
		if (!strcmp(key, "record_bytes"))
			status->record_bytes = val;
		else if (!strcmp(key, "map_failures"))
			status->map_failures = val;
		else if (!strcmp(key, "queued_now"))
			status->queued_now = val;
	}
	free(copy);
	if (status->record_bytes < 0 || status->map_failures < 0 ||
	    status->queued_now < 0)
		return pghot_error(PGHOT_STATUS ": a line is missing in '%s'",
				   status->text);
	return NULL;
}

/* Process id of kmigrated<nid>, or -1. */
int pghot_kmigrated(int nid)
{
	char path[300], comm[64], want[32];
	struct dirent *d;
	int pid = -1;
	DIR *dir;

	snprintf(want, sizeof(want), "kmigrated%d", nid);
	dir = opendir("/proc");
	if (!dir)
		return -1;
	while ((d = readdir(dir))) {
		if (!isdigit(d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		if (pghot_read(path, comm, sizeof(comm)))
			continue;
		if (!strcmp(comm, want)) {
			pid = atoi(d->d_name);
			break;
		}
	}
	closedir(dir);
	return pid;
}

int pghot_dmesg(const char *what, char *buf, size_t len)
{
	char *log, *line, *next;
	int size, n, hits = 0;
	size_t used = 0;

	buf[0] = '\0';
	size = klogctl(10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0);
	if (size <= 0)
		return -1;
	log = malloc(size + 1);
	if (!log)
		return -1;
	n = klogctl(3 /* SYSLOG_ACTION_READ_ALL */, log, size);
	if (n < 0) {
		free(log);
		return -1;
	}
	log[n] = '\0';
	for (line = log; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!strstr(line, what))
			continue;
		hits++;
		used += snprintf(buf + used, len - used, "%s\n", line);
		if (used >= len)
			used = len - 1;
	}
	free(log);
	return hits;
}

/* --- memory ------------------------------------------------------------ */

const char *pghot_bind_node(int nid)
{
	unsigned long mask[MASK_LONGS] = {};
	long ret;

	if (nid < 0) {
		ret = syscall(__NR_set_mempolicy, MPOL_DEFAULT, NULL, 0);
	} else {
		mask[nid / (8 * sizeof(long))] = 1UL << nid % (8 * sizeof(long));
		ret = syscall(__NR_set_mempolicy, MPOL_BIND, mask,
			      PGHOT_MAX_NODES + 1);
	}
	if (ret)
		return pghot_error("set_mempolicy for node %d: %s", nid,
				   strerror(errno));
	return NULL;
}

/* splitmix64: one multiplication chain for each page, an addition a word. */
static uint64_t page_key(uint64_t seed, uint64_t page)
{
	uint64_t z = seed + page * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void fill_page(void *page, uint64_t key)
{
	uint64_t *word = page;
	unsigned int i;

	word[0] = 0;
	for (i = 1; i < psize() / sizeof(*word); i++)
		word[i] = key + i * 0xd6e8feb86659fd93ULL;
}

static bool page_intact(const void *page, uint64_t key)
{
	const uint64_t *word = page;
	uint64_t diff = 0;
	unsigned int i;

	for (i = 1; i < psize() / sizeof(*word); i++)
		diff |= word[i] ^ (key + i * 0xd6e8feb86659fd93ULL);
	return !diff;
}

const char *pghot_region_verify(const struct pghot_region *r, size_t off,
				size_t len, unsigned long touches)
{
	unsigned long sum = 0, bad = 0, first = 0;
	size_t page, end = (off + len) / psize();

	for (page = off / psize(); page < end; page++) {
		const char *addr = r->addr + page * psize();

		sum += *(const uint64_t *)addr;
		if (page_intact(addr, page_key(r->seed, page)))
			continue;
		if (!bad++)
			first = page;
	}
	if (bad)
		return pghot_error("content: %lu of %zu pages corrupted, first is page %lu",
				   bad, len / psize(), first);
	if (touches != PGHOT_ANY_TOUCHES && sum != touches)
		return pghot_error("content: %lu writes made, %lu found in memory",
				   touches, sum);
	return NULL;
}

/*
 * A directory on a file system with a disk under it: $PGHOT_TEST_DIR, or an
 * ext4 on /dev/ram0 which is made for the purpose.
 */
const char *pghot_mount_fs(char *dir, size_t len)
{
	/* By path: a shell may have an applet of the same name. */
	static const char * const mke2fs[] = {
		"/sbin/mke2fs", "/usr/sbin/mke2fs", "/bin/mke2fs",
	};
	const char *env = getenv("PGHOT_TEST_DIR");
	int status = -1;
	char cmd[128];
	unsigned int i;

	if (env) {
		snprintf(dir, len, "%s", env);
		if (access(dir, W_OK))
			return pghot_error("precondition: PGHOT_TEST_DIR %s: %s",
					   dir, strerror(errno));
		return NULL;
	}
	snprintf(dir, len, "/tmp/pghot-ext4");
	mkdir("/tmp", 01777);
	if (mkdir(dir, 0700) && errno != EEXIST)
		return pghot_error("precondition: mkdir %s: %s", dir,
				   strerror(errno));
	if (access("/dev/ram0", W_OK))
		return pghot_error("precondition: no PGHOT_TEST_DIR and /dev/ram0: %s",
				   strerror(errno));
	for (i = 0; status && i < ARRAY_SIZE(mke2fs); i++) {
		if (access(mke2fs[i], X_OK))
			continue;
		snprintf(cmd, sizeof(cmd), "%s -q -F -t ext4 -b 4096 /dev/ram0",
			 mke2fs[i]);
		status = system(cmd);
	}
	if (status)
		return pghot_error("precondition: no PGHOT_TEST_DIR, no mke2fs");
	if (mount("/dev/ram0", dir, "ext4", 0, NULL))
		return pghot_error("precondition: mount of ext4 on %s: %s",
				   dir, strerror(errno));
	return NULL;
}

static const char *map_anon(struct pghot_region *r)
{
	size_t align = 2 * MB;

	r->map_len = r->len + align;
	r->map = mmap(NULL, r->map_len, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->map == MAP_FAILED)
		return pghot_error("mmap %zu: %s", r->map_len, strerror(errno));
	r->addr = (char *)(((uintptr_t)r->map + align - 1) & ~(align - 1));
	/* A child would make every write of ours a copy, on the local node. */
	if (madvise(r->map, r->map_len, MADV_DONTFORK))
		return pghot_error("MADV_DONTFORK: %s", strerror(errno));
	if (madvise(r->addr, r->len, r->kind == PGHOT_ANON ? MADV_NOHUGEPAGE :
							     MADV_HUGEPAGE))
		return pghot_error("precondition: MADV_(NO)HUGEPAGE: %s",
				   strerror(errno));
	return NULL;
}

static const char *map_fd(struct pghot_region *r)
{
	r->map_len = r->len;
	r->map = mmap(NULL, r->len, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
		      0);
	if (r->map == MAP_FAILED)
		return pghot_error("mmap %zu: %s", r->len, strerror(errno));
	r->addr = r->map;
	return NULL;
}

static const char *write_file_region(struct pghot_region *r)
{
	char dir[128], path[256], *chunk;
	size_t off, i;
	const char *err;

	err = pghot_mount_fs(dir, sizeof(dir));
	if (err)
		return err;
	snprintf(path, sizeof(path), "%s/pghot-%d", dir, (int)getpid());
	r->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (r->fd < 0)
		return pghot_error("%s: %s", path, strerror(errno));
	unlink(path);
	chunk = malloc(MB);
	if (!chunk)
		return pghot_error("out of memory");
	for (off = 0; off < r->len; off += MB) {
		for (i = 0; i < MB; i += psize())
			fill_page(chunk + i,
				  page_key(r->seed, (off + i) / psize()));
		if (pwrite(r->fd, chunk, MB, off) != (ssize_t)MB) {
			free(chunk);
			return pghot_error("%s: write: %s", path,
					   strerror(errno));
		}
	}
	free(chunk);

	/* On disk and out of the page cache: read back, the pages are clean. */
	if (fsync(r->fd))
		return pghot_error("fsync: %s", strerror(errno));
	sync();
	posix_fadvise(r->fd, 0, 0, POSIX_FADV_DONTNEED);
	return NULL;
}

static const char *folio_sizes(const struct pghot_region *r, size_t size)
{
	if (check_huge_anon(r->addr, r->len, r->len / size, size))
		return NULL;
	return pghot_error("precondition: the region is not made of %zu KiB folios",
			   size / 1024);
}

/*
 * Pages which were just faulted in are in per-CPU batches at first, and cannot
 * be isolated.  Dropping caches puts them on the LRU before it does anything.
 */
static const char *drain_lru_batches(void)
{
	int ret = pghot_write("/proc/sys/vm/drop_caches", "1");

	return ret ? pghot_error("drop_caches: %s", strerror(-ret)) : NULL;
}

/* Fault all of it in: the content of a file is there already. */
void pghot_region_fill(const struct pghot_region *r)
{
	size_t page;

	for (page = 0; page < r->len / psize(); page++) {
		char *addr = r->addr + page * psize();

		if (r->kind == PGHOT_FILE)
			FORCE_READ(*addr);
		else
			fill_page(addr, page_key(r->seed, page));
	}
}

/*
 * Make @len bytes of @kind memory, all of it on node @nid.  The task's policy
 * does the placing, not the mapping's: mappings with a policy of their own do
 * not take part in NUMA balancing.
 */
const char *pghot_region_create(struct pghot_region *r, enum pghot_kind kind,
				size_t len, int nid)
{
	static uint64_t seed;
	const char *err = NULL, *err2;

	memset(r, 0, sizeof(*r));
	r->kind = kind;
	r->len = len;
	r->map = MAP_FAILED;
	r->fd = -1;
	r->seed = ++seed * 0x2545f4914f6cdd1dULL + getpid();

	if (kind == PGHOT_THP || kind == PGHOT_MTHP) {
		err = pghot_set(THP_SYSFS "enabled", "madvise");
		if (!err)
			err = pghot_set(THP_SYSFS "hugepages-2048kB/enabled",
					kind == PGHOT_THP ? "inherit" : "never");
		if (!err)
			err = pghot_set(THP_SYSFS "hugepages-64kB/enabled",
					kind == PGHOT_THP ? "never" : "madvise");
		if (err)
			return err;
	}

	switch (kind) {
	case PGHOT_ANON:
	case PGHOT_THP:
	case PGHOT_THP_HINT:
	case PGHOT_MTHP:
		err = map_anon(r);
		break;
	case PGHOT_SHMEM:
		r->fd = syscall(__NR_memfd_create, "pghot", 0);
		if (r->fd < 0 || ftruncate(r->fd, len))
			return pghot_error("memfd of %zu: %s", len,
					   strerror(errno));
		err = map_fd(r);
		break;
	case PGHOT_FILE:
		err = write_file_region(r);
		if (!err)
			err = map_fd(r);
		break;
	}
	if (!err)
		err = pghot_bind_node(nid);
	if (err)
		return err;

	pghot_region_fill(r);
	err2 = pghot_bind_node(-1);
	if (err2)
		return err2;
	if (kind == PGHOT_THP)
		err = folio_sizes(r, 2 * MB);
	if (kind == PGHOT_MTHP)
		err = folio_sizes(r, 64 * 1024);
	if (!err)
		err = drain_lru_batches();
	if (!err)
		err = pghot_all_on(r->addr, r->len, nid);
	return err;
}

void pghot_region_destroy(struct pghot_region *r)
{
	if (r->map && r->map != MAP_FAILED)
		munmap(r->map, r->map_len);
	if (r->map && r->fd >= 0)
		close(r->fd);
	r->map = NULL;
	if (r->kind == PGHOT_FILE && !getenv("PGHOT_TEST_DIR"))
		umount("/tmp/pghot-ext4");
}

/* --- placement --------------------------------------------------------- */

#define WHERE_CHUNK	4096

const char *pghot_where(const void *addr, size_t len, long *per_node,
			long *absent)
{
	static void *pages[WHERE_CHUNK];
	static int nid[WHERE_CHUNK];
	size_t i, done, n, nr = len / psize();

	memset(per_node, 0, PGHOT_MAX_NODES * sizeof(*per_node));
	*absent = 0;
	for (done = 0; done < nr; done += n) {
		n = nr - done < WHERE_CHUNK ? nr - done : WHERE_CHUNK;
		for (i = 0; i < n; i++)
			pages[i] = (char *)addr + (done + i) * psize();
		if (syscall(__NR_move_pages, 0, n, pages, NULL, nid, 0))
			return pghot_error("move_pages query: %s",
					   strerror(errno));
		for (i = 0; i < n; i++) {
			if (nid[i] >= 0 && nid[i] < PGHOT_MAX_NODES)
				per_node[nid[i]]++;
			else
				++*absent;
		}
	}
	return NULL;
}

long pghot_pages_on(int nid, const void *addr, size_t len)
{
	static long per_node[PGHOT_MAX_NODES];
	long absent;

	return pghot_where(addr, len, per_node, &absent) ? -1 : per_node[nid];
}

long pghot_pages_on_top(const struct pghot_topology *topo, const void *addr,
			size_t len)
{
	static long per_node[PGHOT_MAX_NODES];
	long absent, sum = 0;
	int nid;

	if (pghot_where(addr, len, per_node, &absent))
		return -1;
	for (nid = 0; nid < topo->nr; nid++)
		if (topo->top[nid])
			sum += per_node[nid];
	return sum;
}

const char *pghot_all_on(const void *addr, size_t len, int nid)
{
	static long per_node[PGHOT_MAX_NODES];
	const char *err;
	long absent;

	err = pghot_where(addr, len, per_node, &absent);
	if (err)
		return err;
	if (per_node[nid] != (long)(len / psize()))
		return pghot_error("precondition: %ld of %zu pages on node %d, %ld absent",
				   per_node[nid], len / psize(), nid, absent);
	return NULL;
}

/* --- making memory hot ------------------------------------------------- */

static void *work(void *arg)
{
	struct pghot_worker *w = arg;
	size_t nr = w->len / psize();
	uint64_t x = 0x9e3779b97f4a7c15ULL ^ (uintptr_t)w;
	int i;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < 256; i++) {
			uint64_t *word;

			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			word = (uint64_t *)(w->addr + x % nr * psize());
			if (w->write)
				__atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
			else
				FORCE_READ(*word);
		}
		w->touches += 256;
	}
	return NULL;
}

/* Touch pages of the range at random, from one CPU, until stopped. */
const char *pghot_worker_start(struct pghot_worker *w)
{
	pthread_attr_t attr;
	cpu_set_t set;
	int ret;

	w->stop = false;
	w->touches = 0;
	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	pthread_attr_init(&attr);
	ret = pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	if (!ret)
		ret = pthread_create(&w->thread, &attr, work, w);
	pthread_attr_destroy(&attr);
	if (ret)
		return pghot_error("worker on CPU %d: %s", w->cpu,
				   strerror(ret));
	w->running = true;
	return NULL;
}

void pghot_worker_stop(struct pghot_worker *w)
{
	if (!w->running)
		return;
	__atomic_store_n(&w->stop, true, __ATOMIC_RELAXED);
	pthread_join(w->thread, NULL);
	w->running = false;
}

int pghot_time_scale(void)
{
	const char *env = getenv("PGHOT_TIME_SCALE");
	int scale = env ? atoi(env) : 1;

	return scale > 1 ? scale : 1;
}

const char *pghot_wait_promoted(const struct pghot_topology *topo, int nid,
				const void *addr, size_t len, int percent,
				int timeout_ms, int *took_ms)
{
	long start = pghot_now_ms(), nr = len / psize(), there;

	timeout_ms *= pghot_time_scale();
	for (;;) {
		there = nid < 0 ? pghot_pages_on_top(topo, addr, len) :
				  pghot_pages_on(nid, addr, len);
		if (there * 100 >= nr * percent)
			break;
		if (pghot_now_ms() - start > timeout_ms)
			return pghot_error("after %d ms only %ld of %ld pages are on %s %d",
					   timeout_ms, there, nr,
					   nid < 0 ? "the top tier" : "node",
					   nid < 0 ? 0 : nid);
		pghot_sleep_ms(100);
	}
	if (took_ms)
		*took_ms = pghot_now_ms() - start;
	return NULL;
}

const char *pghot_wait_counter(enum pghot_counter which, long at_least,
			       const struct pghot_counters *before,
			       int timeout_ms)
{
	struct pghot_counters now;
	long end, delta;
	const char *err;

	timeout_ms *= pghot_time_scale();
	end = pghot_now_ms() + timeout_ms;
	for (;;) {
		err = read_counters(&now);
		if (err)
			return err;
		delta = now.c[which] - before->c[which];
		if (delta >= at_least)
			return NULL;
		if (pghot_now_ms() > end)
			return pghot_error("%s rose by %ld in %d ms, not by %ld",
					   pghot_counter_names[which], delta,
					   timeout_ms, at_least);
		pghot_sleep_ms(20);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * tierload - a hot and a cold set that start on slow memory
 *
 * Fills memory on the slow node, and only then switches numa_balancing on: with
 * balancing on while filling, stock itself promotes half or less. Then touches
 * the hot set at random and tells, as lines of JSON, when it arrived in the top
 * tier and what that did to the accesses.
 *
 * Each access is timed with the TSC, an access being one read-modify-write of
 * a cache line in a random hot page. Between two accesses stands --work, a
 * computation that touches no memory: a program that does nothing but miss
 * would drown the hint faults in accesses, and no quantile would show them.
 * Thread 0 also asks where the pages are, between accesses and not in another
 * thread, since that would take a CPU from an accessor or from kmigrated. The
 * time it takes is told as query_ms.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hist.h"
#include "mem.h"
#include "sys.h"

#define NUMA_BALANCING	"/proc/sys/kernel/numa_balancing"
#define GOAL_PERMILLE	990
#define BURST		64

struct options {
	enum kind kind;
	const char *mode;
	int threads;
	int slow;
	size_t total_mib, hot_mib;
	double seconds, tail;
	unsigned long ops;
	unsigned int work, cold_rate, seed;
	double sample_ms, probe_ms, ops_after;
	unsigned int slice_us;
};

static struct options opt = {
	.mode = "2", .threads = 1, .slow = 2, .total_mib = 512, .hot_mib = 128,
	.seconds = 10, .tail = 1e9, .work = 100, .seed = 1, .probe_ms = 100,
};

struct thread {
	pthread_t id;
	int number;
	uint64_t rng;
	uint64_t ops;
	uint64_t ops_goal;
	uint64_t ops_done_at;
	struct hist until_goal;
	struct hist after;
};

static struct mem mem;
static struct thread threads[2];
static pthread_barrier_t barrier;
static uint64_t start;
static _Atomic uint64_t goal_at;
static atomic_bool stop;
static uint64_t query_ticks;

static double seconds_since_start(uint64_t now)
{
	return tsc_ns(now - start) / 1e9;
}

static inline uint64_t rng_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

/*
 * With --slice, CPUs that share a clock take turns. If one computes and nothing
 * else, it does so until the next interrupt of the other, which gets no time at
 * all then. If it ends its turn after a quarter of that time, both get the same.
 */
static void take_turns(void)
{
	static __thread uint64_t began;

	if (!opt.slice_us || tsc_ns(tsc() - began) < opt.slice_us * 1000 / 4)
		return;
	asm volatile("pause");
	began = tsc();
}

static void work(unsigned int nr)
{
	unsigned int some, left = nr;
	unsigned long x = 1;

	do {
		for (some = left < 512 ? left : 512, left -= some; some; some--)
			asm volatile("imul $3, %0, %0" : "+r"(x));
		take_turns();
	} while (left);
}

/* One timed access to a random line of a random one of @pages. */
static inline uint64_t touch(struct thread *t, char *from, size_t pages)
{
	uint64_t r = rng_next(&t->rng);
	char *p = from + (r >> 32) % pages * PAGE + (r & 63) * 64;
	uint64_t before = tsc();

	++*(volatile char *)p;
	return tsc() - before;
}

static void burst(struct thread *t)
{
	size_t hot = mem.hot / mem.parts;
	struct hist *h = goal_at ? &t->after : &t->until_goal;
	char *part = mem_part(&mem, t->number);
	int i;

	for (i = 0; i < BURST; i++) {
		hist_add(h, touch(t, part, hot));
		work(opt.work);
	}
	t->ops += BURST;
}

/* The cold set's share: --cold-rate accesses a second, by the clock. */
static void touch_cold(struct thread *t, uint64_t now)
{
	size_t hot = mem.hot / mem.parts, cold = mem.pages / mem.parts - hot;
	static uint64_t done[2];

	if (!cold)
		return;
	for (; done[t->number] < seconds_since_start(now) * opt.cold_rate;
	     done[t->number]++)
		touch(t, mem_part(&mem, t->number) + hot * PAGE, cold);
}

static void print_counts(const char *name, const size_t *count)
{
	int node;

	printf("\"%s\":[", name);
	for (node = 0; node <= opt.slow; node++)
		printf("%s%zu", node ? "," : "", count[node]);
	printf("]");
}

static void print_residency(const struct residency *r, bool cold)
{
	size_t hot[MAX_NODES];
	int node;

	for (node = 0; node < MAX_NODES; node++)
		hot[node] = r->hot[0][node] + r->hot[1][node];
	print_counts("hot", hot);
	if (cold) {
		printf(",");
		print_counts("cold", r->cold);
	}
	if (mem.parts == 2) {
		printf(",");
		print_counts("part0", r->hot[0]);
		printf(",");
		print_counts("part1", r->hot[1]);
	}
	printf(",\"unknown\":%zu", r->unknown);
}

static void print_state(const char *event, uint64_t now, bool cold)
{
	struct residency r;

	mem_query(&mem, cold, &r);
	printf("{\"event\":\"%s\",\"t\":%.3f,", event, seconds_since_start(now));
	print_residency(&r, cold);
	printf(",\"ops\":%lu", threads[0].ops + threads[1].ops);
	printf(",\"queued\":%ld,\"kmigrated_ns\":%lld", sys_queued(),
	       sys_kmigrated_ns());
	printf(",\"vmstat\":{");
	sys_print_vmstat();
	printf("}");
}

static void probe(uint64_t now)
{
	static uint64_t next;

	if (goal_at || !opt.probe_ms || now < next)
		return;
	if (mem_seems_promoted(&mem, opt.slow, GOAL_PERMILLE) &&
	    mem_promoted(&mem, opt.slow, GOAL_PERMILLE))
		goal_at = tsc();
	next = tsc() + tsc_from_ms(opt.probe_ms);
	query_ticks += tsc() - now;
}

static void sample(uint64_t now)
{
	static uint64_t next;

	if (!opt.sample_ms || now < next)
		return;
	print_state("sample", now, false);
	printf("}\n");
	fflush(stdout);
	/* By the clock, not by when this one was taken. */
	next = (next ?: start) + tsc_from_ms(opt.sample_ms);
	query_ticks += tsc() - now;
}

static bool over(uint64_t now)
{
	if (seconds_since_start(now) >= opt.seconds)
		return true;
	return goal_at && seconds_since_start(now) >=
			  seconds_since_start(goal_at) + opt.tail;
}

/* The fixed number of accesses: from --ops-after on. */
static void count_ops(struct thread *t, uint64_t now)
{
	if (!opt.ops || t->ops_done_at)
		return;
	if (!t->ops_goal && seconds_since_start(now) >= opt.ops_after)
		t->ops_goal = t->ops + opt.ops / opt.threads;
	if (t->ops_goal && t->ops >= t->ops_goal)
		t->ops_done_at = now;
}

static void *run(void *arg)
{
	struct thread *t = arg;
	uint64_t now;

	sys_pin(t->number);
	pthread_barrier_wait(&barrier);
	if (!t->number) {
		start = tsc();
		sys_write(NUMA_BALANCING, opt.mode);
	}
	pthread_barrier_wait(&barrier);

	while (!stop) {
		burst(t);
		now = tsc();
		count_ops(t, now);
		touch_cold(t, now);
		if (t->number)
			continue;
		probe(now);
		sample(now);
		if (over(now))
			stop = true;
	}
	return NULL;
}

static void print_hist(const char *name, const struct hist *h)
{
	printf(",\"%s\":{\"count\":%lu,\"p50_ns\":%.0f,\"p99_ns\":%.0f,"
	       "\"p999_ns\":%.0f,\"longest_ns\":%.0f}", name, h->count,
	       tsc_ns(hist_quantile(h, 5000)), tsc_ns(hist_quantile(h, 9900)),
	       tsc_ns(hist_quantile(h, 9990)), tsc_ns(h->longest));
}

/* How long until the last of the threads had done its share, or null. */
static void print_ops_time(void)
{
	uint64_t last = 0;
	int i;

	for (i = 0; i < opt.threads; i++) {
		if (!threads[i].ops_done_at) {
			printf(",\"ops_s\":null");
			return;
		}
		if (threads[i].ops_done_at > last)
			last = threads[i].ops_done_at;
	}
	printf(",\"ops_s\":%.4f", seconds_since_start(last) - opt.ops_after);
}

static void print_end(void)
{
	print_state("end", tsc(), true);
	if (goal_at)
		printf(",\"goal_s\":%.4f", seconds_since_start(goal_at));
	else
		printf(",\"goal_s\":null");
	print_ops_time();
	if (opt.threads == 2) {
		hist_merge(&threads[0].until_goal, &threads[1].until_goal);
		hist_merge(&threads[0].after, &threads[1].after);
	}
	print_hist("until_goal", &threads[0].until_goal);
	print_hist("after", &threads[0].after);
	printf(",\"query_ms\":%.1f}\n", tsc_ns(query_ticks) / 1e6);
}

static void print_start(void)
{
	printf("{\"event\":\"start\",\"pages\":%zu,\"hot_pages\":%zu,"
	       "\"threads\":%d,\"nodes_of_threads\":[%d,%d],\"vmstat\":{",
	       mem.pages, mem.hot, opt.threads, sys_node_of_cpu(0),
	       opt.threads == 2 ? sys_node_of_cpu(1) : -1);
	sys_print_vmstat();
	printf("}}\n");
	fflush(stdout);
}

static const char usage[] =
"usage: tierload [OPTION]...\n"
"  --kind anon|thp|tmpfs  what memory (anon: 4 KiB pages)\n"
"  --threads 1|2          2: on CPUs 0 and 1, each with half of everything\n"
"  --slow N               node that all pages start on (2)\n"
"  --total MIB, --hot MIB sizes (512, 128)\n"
"  --mode N               numa_balancing once memory is filled (2)\n"
"  --seconds S            end after so long (10)\n"
"  --tail S               or so long after 99 % of the hot set is promoted\n"
"  --ops N                tell how long so many accesses took\n"
"  --ops-after S          counted from so long after the switch (0)\n"
"  --slice US             for -icount: an idle interrupt so often on CPU 1 (0)\n"
"  --work N               multiplications between two accesses (100)\n"
"  --cold-rate N          accesses a second to the cold set, per thread (0)\n"
"  --sample MS            print a sample so often, 0 never (0)\n"
"  --probe MS             look so often whether 99 % is promoted (100)\n"
"  --seed N               of the order of accesses (1)\n";

static enum kind parse_kind(const char *name)
{
	if (!strcmp(name, "anon"))
		return ANON;
	if (!strcmp(name, "thp"))
		return THP;
	if (!strcmp(name, "tmpfs"))
		return TMPFS;
	die("no kind '%s'\n%s", name, usage);
}

static void parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "kind", 1, 0, 'k' }, { "threads", 1, 0, 'n' },
		{ "slow", 1, 0, 's' }, { "total", 1, 0, 't' },
		{ "hot", 1, 0, 'h' }, { "mode", 1, 0, 'm' },
		{ "seconds", 1, 0, 'd' }, { "tail", 1, 0, 'e' },
		{ "ops", 1, 0, 'o' }, { "work", 1, 0, 'w' },
		{ "cold-rate", 1, 0, 'c' }, { "sample", 1, 0, 'p' },
		{ "ops-after", 1, 0, 'a' }, { "slice", 1, 0, 'l' },
		{ "probe", 1, 0, 'q' }, { "seed", 1, 0, 'r' }, {},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1) {
		switch (c) {
		case 'k': opt.kind = parse_kind(optarg); break;
		case 'n': opt.threads = atoi(optarg); break;
		case 's': opt.slow = atoi(optarg); break;
		case 't': opt.total_mib = atol(optarg); break;
		case 'h': opt.hot_mib = atol(optarg); break;
		case 'm': opt.mode = optarg; break;
		case 'd': opt.seconds = atof(optarg); break;
		case 'e': opt.tail = atof(optarg); break;
		case 'o': opt.ops = atol(optarg); break;
		case 'a': opt.ops_after = atof(optarg); break;
		case 'l': opt.slice_us = atoi(optarg); break;
		case 'w': opt.work = atoi(optarg); break;
		case 'c': opt.cold_rate = atoi(optarg); break;
		case 'p': opt.sample_ms = atof(optarg); break;
		case 'q': opt.probe_ms = atof(optarg); break;
		case 'r': opt.seed = atoi(optarg); break;
		default: die("%s", usage);
		}
	}
	if (optind < argc || opt.threads < 1 || opt.threads > 2 ||
	    !opt.hot_mib || opt.hot_mib > opt.total_mib ||
	    opt.slow < 1 || opt.slow >= MAX_NODES)
		die("%s", usage);
	if (opt.threads > sys_cpus())
		die("two threads need two CPUs");
}

static void check_tiers(void)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", opt.slow);
	if (access(path, F_OK))
		die("there is no node %d: boot a topology with slow memory",
		    opt.slow);
}

int main(int argc, char **argv)
{
	int i;

	parse(argc, argv);
	check_tiers();
	sys_pin(0);
	tsc_calibrate();
	sys_write(NUMA_BALANCING, "0");

	if (opt.slice_us)
		sys_interrupt(1, opt.slice_us);
	mem.parts = opt.threads;
	mem.pages = opt.total_mib * MIB_PAGES;
	mem.hot = opt.hot_mib * MIB_PAGES;
	mem_create(&mem, opt.kind, opt.slow);
	print_start();

	pthread_barrier_init(&barrier, NULL, opt.threads);
	for (i = 0; i < opt.threads; i++) {
		threads[i].number = i;
		threads[i].rng = 0x9e3779b97f4a7c15ULL * (2 * opt.seed + i + 1);
		if (pthread_create(&threads[i].id, NULL, run, &threads[i]))
			die("cannot start a thread");
	}
	for (i = 0; i < opt.threads; i++)
		pthread_join(threads[i].id, NULL);
	print_end();
	sys_write(NUMA_BALANCING, "0");
	return 0;
}

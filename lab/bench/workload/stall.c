// SPDX-License-Identifier: GPL-2.0
/*
 * stall - touch pages in order while kmigrated moves them
 *
 * All pages start on the slow node, all are hot. The accessor runs alone on CPU
 * 0 and all kmigrated threads on CPU 1, so that the accessor never waits for a
 * CPU. The kernel's trace, by the TSC, tells when kmigrated moved what and when
 * the accessor waited for it; this tells how long each access took, and prints
 * those longer than --long.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hist.h"
#include "mem.h"
#include "sys.h"

#define NUMA_BALANCING	"/proc/sys/kernel/numa_balancing"
#define SLOW		2
#define MAX_PARTS	2
#define MAX_LONG	100000

static struct mem part[MAX_PARTS];
static int nr_parts;
static struct { uint64_t from, to; } longs[MAX_LONG];
static int nr_longs;
static struct hist hist;

static void pin_kmigrated(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	cpu_set_t set;
	int pinned = 0;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	while (proc && (d = readdir(proc))) {
		char path[300], name[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", d->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(name, sizeof(name), f) &&
		    !strncmp(name, "kmigrated", 9) &&
		    !sched_setaffinity(atoi(d->d_name), sizeof(set), &set))
			pinned++;
		fclose(f);
	}
	if (!pinned)
		die("there is no kmigrated to watch");
}

static void add_part(enum kind kind, size_t mib)
{
	struct mem *m = &part[nr_parts++];

	m->parts = 1;
	m->pages = m->hot = mib * MIB_PAGES;
	mem_create(m, kind, SLOW);
}

static void touch(char *p, uint64_t limit)
{
	uint64_t from = tsc(), to;

	++*(volatile char *)p;
	to = tsc();
	hist_add(&hist, to - from);
	if (to - from >= limit && nr_longs < MAX_LONG) {
		longs[nr_longs].from = from;
		longs[nr_longs++].to = to;
	}
}

/* Each page once, in order, and a turn for the other CPU after every few. */
static void sweep(uint64_t limit)
{
	size_t i;
	int p;

	for (p = 0; p < nr_parts; p++) {
		for (i = 0; i < part[p].pages; i++) {
			touch(part[p].start + i * PAGE, limit);
			if (i % 64 == 63)
				asm volatile("pause");
		}
	}
}

static bool promoted(void)
{
	int p;

	for (p = 0; p < nr_parts; p++) {
		if (!mem_seems_promoted(&part[p], SLOW, 990))
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "4k";
	size_t mib = argc > 2 ? atol(argv[2]) : 32;
	double seconds = argc > 3 ? atof(argv[3]) : 4, long_us = 20;
	unsigned int slice_us = argc > 4 ? atoi(argv[4]) : 50;
	uint64_t start, now, next = 0, limit;
	int i;

	sys_pin(0);
	tsc_calibrate();
	limit = tsc_from_ms(long_us / 1000);
	sys_write(NUMA_BALANCING, "0");
	pin_kmigrated();
	if (!strcmp(kind, "mixed")) {
		add_part(ANON, mib / 2);
		add_part(THP, mib / 2);
	} else {
		add_part(strcmp(kind, "thp") ? ANON : THP, mib);
	}

	if (slice_us)
		sys_interrupt(1, slice_us);
	sys_write("/sys/kernel/tracing/tracing_on", "1");
	start = tsc();
	sys_write(NUMA_BALANCING, "2");
	do {
		sweep(limit);
		now = tsc();
		if (now >= next) {
			if (promoted())
				break;
			next = now + tsc_from_ms(20);
		}
	} while (tsc_ns(now - start) < seconds * 1e9);
	sys_write("/sys/kernel/tracing/tracing_on", "0");

	for (i = 0; i < nr_longs; i++)
		printf("{\"event\":\"long\",\"from\":%lu,\"to\":%lu}\n",
		       longs[i].from, longs[i].to);
	printf("{\"event\":\"end\",\"kind\":\"%s\",\"accesses\":%lu,"
	       "\"longest_ns\":%.0f,\"ticks_per_ns\":%.6f,\"promoted\":%s}\n",
	       kind, hist.count, tsc_ns(hist.longest),
	       1 / tsc_ns(1), promoted() ? "true" : "false");
	sys_write(NUMA_BALANCING, "0");
	return 0;
}

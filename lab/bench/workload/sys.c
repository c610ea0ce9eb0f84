// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys.h"

#define MPOL_DEFAULT	0
#define MPOL_BIND	2

void die(const char *format, ...)
{
	va_list args;

	fputs("tierload: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = 0;
	return true;
}

long sys_read(const char *path)
{
	char text[32];

	if (!read_text(path, text, sizeof(text)))
		die("cannot read %s: %s", path, strerror(errno));
	return strtol(text, NULL, 10);
}

void sys_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("cannot write %s to %s: %s", text, path, strerror(errno));
	close(fd);
}

void sys_bind_memory(int node)
{
	unsigned long mask = 1UL << node;

	if (syscall(SYS_set_mempolicy, MPOL_BIND, &mask, 64UL))
		die("cannot bind memory to node %d: %s", node, strerror(errno));
}

void sys_default_memory(void)
{
	if (syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL))
		die("cannot reset the memory policy: %s", strerror(errno));
}

void sys_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot run on CPU %d: %s", cpu, strerror(errno));
}

int sys_node_of_cpu(int cpu)
{
	char path[80];
	int node;

	for (node = 0; node < MAX_NODES; node++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/node/node%d/cpu%d", node, cpu);
		if (!access(path, F_OK))
			return node;
	}
	die("CPU %d belongs to no node", cpu);
}

int sys_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

void sys_interrupt(int cpu, unsigned int us)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = us * 1000ULL,
	};

	/* An idle CPU has no tick, and without ticks perf throttles for ever. */
	sys_write("/proc/sys/kernel/perf_event_max_sample_rate", "1000000000");
	/* An hrtimer of its own. It ends with the process. */
	if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) < 0)
		die("cannot have an interrupt on CPU %d: %s", cpu,
		    strerror(errno));
}

static bool tells_of_promotion(const char *name)
{
	static const char * const prefix[] = {
		"pghot_", "pgpromote_", "pgdemote_", "numa_hint_", "numa_pages_",
		"numa_pte_", "pgmigrate_", "thp_migration_", "hwhint_",
	};
	size_t i;

	for (i = 0; i < sizeof(prefix) / sizeof(*prefix); i++) {
		if (!strncmp(name, prefix[i], strlen(prefix[i])))
			return true;
	}
	return false;
}

void sys_print_vmstat(void)
{
	static char text[1 << 16];
	char *line, *save, *blank;
	const char *comma = "";

	/* Node counters lag behind by what each CPU has not added yet. */
	read_text("/proc/sys/vm/stat_refresh", text, sizeof(text));
	if (!read_text("/proc/vmstat", text, sizeof(text)))
		die("cannot read /proc/vmstat: %s", strerror(errno));
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		blank = strchr(line, ' ');
		if (!blank || !tells_of_promotion(line))
			continue;
		*blank = 0;
		printf("%s\"%s\":%s", comma, line, blank + 1);
		comma = ",";
	}
}

long sys_queued(void)
{
	static const char key[] = "queued_now ";
	char text[4096], *at;

	if (!read_text("/sys/kernel/debug/pghot/status", text, sizeof(text)))
		return -1;
	at = strstr(text, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

#define MAX_THREADS	8
static int kmigrated_pid[MAX_THREADS];
static int nr_kmigrated = -1;

static void find_kmigrated(void)
{
	DIR *proc = opendir("/proc");
	char path[64], name[32];
	struct dirent *d;

	nr_kmigrated = 0;
	while (proc && (d = readdir(proc)) && nr_kmigrated < MAX_THREADS) {
		int pid = atoi(d->d_name);

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (pid > 0 && read_text(path, name, sizeof(name)) &&
		    !strncmp(name, "kmigrated", 9))
			kmigrated_pid[nr_kmigrated++] = pid;
	}
	if (proc)
		closedir(proc);
}

long long sys_kmigrated_ns(void)
{
	char path[64], text[128];
	long long ns = 0;
	int i;

	if (nr_kmigrated < 0)
		find_kmigrated();
	if (!nr_kmigrated)
		return -1;
	for (i = 0; i < nr_kmigrated; i++) {
		/* The same as utime + stime of stat, but to the nanosecond. */
		snprintf(path, sizeof(path), "/proc/%d/schedstat",
			 kmigrated_pid[i]);
		if (read_text(path, text, sizeof(text)))
			ns += strtoll(text, NULL, 10);
	}
	return ns;
}

static double ticks_per_ns = 1;

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void tsc_calibrate(void)
{
	uint64_t ns = monotonic_ns(), ticks = tsc();

	while (monotonic_ns() - ns < 100000000)
		;
	ticks_per_ns = (double)(tsc() - ticks) / (monotonic_ns() - ns);
}

double tsc_ns(uint64_t ticks)
{
	return ticks / ticks_per_ns;
}

uint64_t tsc_from_ms(double ms)
{
	return ms * 1e6 * ticks_per_ns;
}

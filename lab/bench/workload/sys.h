/* SPDX-License-Identifier: GPL-2.0 */
/* What the workloads ask the kernel for, and its clocks. */
#ifndef SYS_H
#define SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_NODES	8

/* End with status 2: the machine is not what the workload needs. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

long sys_read(const char *path);
void sys_write(const char *path, const char *text);

void sys_bind_memory(int node);
void sys_default_memory(void);
void sys_pin(int cpu);
int sys_node_of_cpu(int cpu);
int sys_cpus(void);

/*
 * An interrupt on @cpu every @us that does nothing. Under QEMU's -icount the
 * CPUs of a guest take turns on one clock. A turn ends at the next timer, with
 * `pause` or when the CPU sleeps; with the kernel's tick alone a CPU, even one
 * that was just sent an interrupt, stands still for up to 4 ms while another
 * runs. This makes the turns of @cpu short.
 */
void sys_interrupt(int cpu, unsigned int us);

/* Counters of /proc/vmstat that tell of promotion, as members of an object. */
void sys_print_vmstat(void);
/* Pages that wait in pghot's queues, -1 without pghot. */
long sys_queued(void);
/* Nanoseconds on a CPU of all kmigrated threads, -1 without any. */
long long sys_kmigrated_ns(void);

static inline uint64_t tsc(void)
{
	uint32_t lo, hi;

	asm volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

/* Measure the TSC against CLOCK_MONOTONIC; before the other two. */
void tsc_calibrate(void);
double tsc_ns(uint64_t ticks);
uint64_t tsc_from_ms(double ms);

#endif

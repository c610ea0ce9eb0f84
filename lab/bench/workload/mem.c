// SPDX-License-Identifier: GPL-2.0
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mem.h"

static char *map_anon(size_t size, int advice)
{
	size_t room = size + HUGE_PAGE;
	char *p = mmap(NULL, room, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		die("cannot map %zu bytes: %s", room, strerror(errno));
	p = (char *)(((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	if (madvise(p, size, advice))
		die("cannot choose the size of pages: %s", strerror(errno));
	return p;
}

static char *map_tmpfs(size_t size)
{
	char path[] = "/dev/shm/tierload.XXXXXX";
	int fd = mkstemp(path);
	char *p;

	if (fd < 0 || unlink(path) || ftruncate(fd, size))
		die("cannot make a file in /dev/shm: %s", strerror(errno));
	/* Writable: a read-only mapping of a file takes no hint faults. */
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("cannot map %zu bytes: %s", size, strerror(errno));
	close(fd);
	return p;
}

static long anon_huge_kb(void)
{
	static const char key[] = "AnonHugePages:";
	char line[256];
	long kb = -1;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, strlen(key)))
			kb = strtol(line + strlen(key), NULL, 10);
	}
	if (f)
		fclose(f);
	return kb;
}

static void check(const struct mem *m, enum kind kind, int node)
{
	struct residency r;
	size_t there;

	mem_query(m, true, &r);
	there = r.hot[0][node] + r.hot[1][node] + r.cold[node];
	if (there != m->pages)
		die("only %zu of %zu pages are on node %d at the start", there,
		    m->pages, node);
	if (kind == THP && anon_huge_kb() < (long)(m->pages * 4))
		die("only %ld of %zu KiB are huge pages", anon_huge_kb(),
		    m->pages * 4);
}

void mem_create(struct mem *m, enum kind kind, int node)
{
	size_t i, size = m->pages * PAGE;

	if (kind == TMPFS)
		m->start = map_tmpfs(size);
	else
		m->start = map_anon(size, kind == THP ? MADV_HUGEPAGE :
							MADV_NOHUGEPAGE);
	sys_bind_memory(node);
	for (i = 0; i < m->pages; i++)
		m->start[i * PAGE] = i;
	sys_default_memory();
	check(m, kind, node);
}

/* Nodes of up to QUERY pages, from @start on and @stride pages apart. */
#define QUERY	4096
static int status[QUERY];

static void query(char *start, size_t nr, size_t stride)
{
	static void *address[QUERY];
	size_t i;

	for (i = 0; i < nr; i++)
		address[i] = start + i * stride * PAGE;
	if (syscall(SYS_move_pages, 0, nr, address, NULL, status, 0))
		die("cannot ask where pages are: %s", strerror(errno));
}

static bool valid(int node)
{
	return node >= 0 && node < MAX_NODES;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A page being migrated at this moment is nowhere: unknown. */
static void query_range(char *start, size_t pages, size_t *count,
			size_t *unknown)
{
	size_t i, nr;

	for (; pages; pages -= nr, start += nr * PAGE) {
		nr = smaller(pages, QUERY);
		query(start, nr, 1);
		for (i = 0; i < nr; i++) {
			if (valid(status[i]))
				count[status[i]]++;
			else
				++*unknown;
		}
	}
}

void mem_query(const struct mem *m, bool cold, struct residency *r)
{
	size_t hot = m->hot / m->parts;
	int part;

	memset(r, 0, sizeof(*r));
	for (part = 0; part < m->parts; part++) {
		char *start = mem_part(m, part);

		query_range(start, hot, r->hot[part], &r->unknown);
		if (cold)
			query_range(start + hot * PAGE,
				    m->pages / m->parts - hot, r->cold,
				    &r->unknown);
	}
}

bool mem_promoted(const struct mem *m, int slow, unsigned int permille)
{
	size_t hot = m->hot / m->parts, unknown = 0, there;
	int part, node;

	for (part = 0; part < m->parts; part++) {
		size_t count[MAX_NODES] = {};

		query_range(mem_part(m, part), hot, count, &unknown);
		for (node = there = 0; node < slow; node++)
			there += count[node];
		if (there * 1000 < hot * permille)
			return false;
	}
	return true;
}

bool mem_seems_promoted(const struct mem *m, int slow, unsigned int permille)
{
	static unsigned int turn;
	size_t hot = m->hot / m->parts, done, nr, i, there = 0, asked = 0;
	const size_t stride = 64;
	int part;

	/* An odd step visits all residues. */
	turn = (turn + 27) % stride;
	for (part = 0; part < m->parts; part++) {
		char *start = mem_part(m, part) + turn * PAGE;

		for (done = 0; done < hot / stride; done += nr) {
			nr = smaller(hot / stride - done, QUERY);
			query(start + done * stride * PAGE, nr, stride);
			for (i = 0; i < nr; i++)
				there += status[i] >= 0 && status[i] < slow;
			asked += nr;
		}
	}
	return there * 1000 >= asked * permille;
}

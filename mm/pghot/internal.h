/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_PGHOT_INTERNAL_H
#define _MM_PGHOT_INTERNAL_H

#include <linux/nodemask.h>
#include <linux/pghot.h>

struct dentry;
struct seq_file;

/* ---- tunables.c ---- */

/**
 * struct pghot_tunable - a number that root may change at run time
 * @sysctl: Its name below vm., or NULL.
 * @debugfs: Its name below <debugfs>/pghot/, or NULL.
 * @value: Where it is kept; read with READ_ONCE().
 * @min: Least value allowed.
 * @max: Largest value allowed.
 * @minus_one: -1 is allowed too, whatever @min says.
 * @set: Take over a value that is in range, or refuse it with an errno and
 *	change nothing. Called with all tunables locked; may sleep. NULL: it is
 *	stored in @value.
 */
struct pghot_tunable {
	const char *sysctl;
	const char *debugfs;
	int *value;
	int min;
	int max;
	bool minus_one;
	int (*set)(int value);
};

void pghot_register_tunables(const struct pghot_tunable *table, size_t nr);
void pghot_alias_sysctl(const char *sysctl, const char *name);
struct dentry *pghot_debugfs_root(void);

/* ---- kmigrated.c ---- */

void kmigrated_start(void);
void kmigrated_stop(void);
unsigned long kmigrated_queued_pages(void);
void *kmigrated_alloc(int nid, size_t size);
void kmigrated_show_node(struct seq_file *m, int nid);
int kmigrated_nearest_node(int from, const nodemask_t *candidates);
void kmigrated_targets(nodemask_t *targets);
bool kmigrated_target_ok(int nid);
bool kmigrated_take_tokens(int nid, unsigned int nr_pages);

#endif /* _MM_PGHOT_INTERNAL_H */

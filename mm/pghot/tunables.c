// SPDX-License-Identifier: GPL-2.0
/*
 * Tunables of hot page tracking: one parser, one table of each layer.
 *
 * Every knob is a whole number. A layer describes its knobs in a table of
 * struct pghot_tunable; from it come the sysctl, the debugfs file and what both
 * accept. A write either takes effect as a whole or fails and changes nothing:
 * half a number, two numbers, a number with a tail and a write that does not
 * begin at offset 0 are all refused with -EINVAL, where the usual sysctl parser
 * would take the part that it understands.
 */

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysctl.h>
#include <linux/uaccess.h>

#include "internal.h"

/* No number that any tunable takes is longer, leading blanks included. */
#define PGHOT_TUNABLE_MAX_INPUT	64

/* Serializes all writers; readers use READ_ONCE() on the value. */
static DEFINE_MUTEX(pghot_tunables_lock);

/* The registered tables, one of each layer; written by initcalls only. */
#define PGHOT_MAX_TABLES	4
static struct {
	const struct pghot_tunable *table;
	size_t nr;
} pghot_tables[PGHOT_MAX_TABLES];

/*
 * Optional blanks, then decimal digits (or -1), then an optional newline, then
 * nothing. @buf holds @len bytes and a NUL behind them.
 */
static int pghot_parse(const char *buf, size_t len, bool minus_one, int *value)
{
	const char *p = buf;
	const char *end = buf + len;
	unsigned int digits = 0;
	unsigned long v = 0;
	bool negative;

	if (len > PGHOT_TUNABLE_MAX_INPUT)
		return -EINVAL;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;

	negative = minus_one && p < end && *p == '-';
	if (negative)
		p++;

	for (; p < end && *p >= '0' && *p <= '9'; p++, digits++) {
		v = v * 10 + (*p - '0');
		if (v > INT_MAX)
			return -EINVAL;
	}
	if (p < end && *p == '\n')
		p++;
	if (!digits || p != end || (negative && v != 1))
		return -EINVAL;

	*value = negative ? -1 : v;
	return 0;
}

static int pghot_tunable_write(const struct pghot_tunable *t, const char *buf,
			       size_t len)
{
	int value, err;

	err = pghot_parse(buf, len, t->minus_one, &value);
	if (err)
		return err;
	if (value != -1 && (value < t->min || value > t->max))
		return -EINVAL;

	guard(mutex)(&pghot_tunables_lock);
	if (t->set)
		return t->set(value);
	WRITE_ONCE(*t->value, value);
	return 0;
}

static int pghot_tunable_print(const struct pghot_tunable *t, char *buf,
			       size_t size)
{
	return scnprintf(buf, size, "%d\n", READ_ONCE(*t->value));
}

/* ---- sysctl ---- */

#ifdef CONFIG_SYSCTL
static int pghot_sysctl(const struct ctl_table *table, int write, void *buffer,
			size_t *lenp, loff_t *ppos)
{
	const struct pghot_tunable *t = table->extra1;
	char text[16];
	size_t len;
	int err;

	if (write) {
		if (*ppos)
			return -EINVAL;
		err = pghot_tunable_write(t, buffer, *lenp);
		if (!err)
			*ppos += *lenp;
		return err;
	}

	len = pghot_tunable_print(t, text, sizeof(text));
	if (*ppos >= len) {
		*lenp = 0;
		return 0;
	}
	len = min_t(size_t, len - *ppos, *lenp);
	memcpy(buffer, text + *ppos, len);
	*lenp = len;
	*ppos += len;
	return 0;
}

static void pghot_register_sysctls(const struct pghot_tunable *table, size_t nr)
{
	struct ctl_table *ctl;
	size_t i, n = 0;

	ctl = kzalloc_objs(*ctl, nr);
	if (!ctl)
		return;
	for (i = 0; i < nr; i++) {
		if (!table[i].sysctl)
			continue;
		ctl[n].procname = table[i].sysctl;
		ctl[n].mode = 0644;
		ctl[n].proc_handler = pghot_sysctl;
		ctl[n].extra1 = (void *)&table[i];
		n++;
	}
	/* On success the table is sysctl's, for good. */
	if (!n || !register_sysctl_sz("vm", ctl, n))
		kfree(ctl);
}
#else
static void pghot_register_sysctls(const struct pghot_tunable *table, size_t nr)
{
}
#endif

/* ---- debugfs ---- */

static ssize_t pghot_debugfs_read(struct file *file, char __user *ubuf,
				  size_t count, loff_t *ppos)
{
	const struct pghot_tunable *t = file_inode(file)->i_private;
	char text[16];
	size_t len = pghot_tunable_print(t, text, sizeof(text));

	return simple_read_from_buffer(ubuf, count, ppos, text, len);
}

static ssize_t pghot_debugfs_write(struct file *file, const char __user *ubuf,
				   size_t count, loff_t *ppos)
{
	const struct pghot_tunable *t = file_inode(file)->i_private;
	char text[PGHOT_TUNABLE_MAX_INPUT + 1];
	int err;

	if (*ppos || count > PGHOT_TUNABLE_MAX_INPUT)
		return -EINVAL;
	if (copy_from_user(text, ubuf, count))
		return -EFAULT;
	text[count] = '\0';

	err = pghot_tunable_write(t, text, count);
	if (err)
		return err;
	*ppos += count;
	return count;
}

static const struct file_operations pghot_debugfs_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= pghot_debugfs_read,
	.write	= pghot_debugfs_write,
	.llseek	= default_llseek,
};

/**
 * pghot_debugfs_root - the directory <debugfs>/pghot
 *
 * Context: Process context, from an initcall.
 * Return: The directory, made on the first call; an error pointer, which the
 * debugfs functions take as it is, where there is no debugfs.
 */
struct dentry *pghot_debugfs_root(void)
{
	static struct dentry *root;

	if (!root)
		root = debugfs_create_dir("pghot", NULL);
	return root;
}

static void pghot_create_file(const char *name, const struct pghot_tunable *t)
{
	debugfs_create_file(name, 0644, pghot_debugfs_root(), (void *)t,
			    &pghot_debugfs_fops);
}

/**
 * pghot_register_tunables - make a table of tunables visible
 * @table: The tunables; must stay for ever.
 * @nr: How many.
 *
 * Without sysctl, without debugfs, or with debugfs locked, what is there works.
 *
 * Context: Process context, from an initcall.
 */
void pghot_register_tunables(const struct pghot_tunable *table, size_t nr)
{
	size_t i;

	for (i = 0; i < PGHOT_MAX_TABLES && pghot_tables[i].table; i++)
		;
	if (WARN_ON(i == PGHOT_MAX_TABLES))
		return;
	pghot_tables[i].table = table;
	pghot_tables[i].nr = nr;

	pghot_register_sysctls(table, nr);
	for (i = 0; i < nr; i++) {
		if (table[i].debugfs)
			pghot_create_file(table[i].debugfs, &table[i]);
	}
}

/**
 * pghot_alias_sysctl - show a sysctl in debugfs too
 * @sysctl: Its name below vm., of a registered table.
 * @name: Its name below <debugfs>/pghot/.
 *
 * Context: Process context, from an initcall.
 */
void pghot_alias_sysctl(const char *sysctl, const char *name)
{
	size_t i, j;

	for (i = 0; i < PGHOT_MAX_TABLES; i++) {
		for (j = 0; j < pghot_tables[i].nr; j++) {
			const struct pghot_tunable *t = &pghot_tables[i].table[j];

			if (t->sysctl && !strcmp(t->sysctl, sysctl))
				pghot_create_file(name, t);
		}
	}
}

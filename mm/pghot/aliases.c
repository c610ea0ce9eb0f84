// SPDX-License-Identifier: GPL-2.0
/*
 * Short names in <debugfs>/pghot for the sysctls that are changed most while
 * trying things out.
 */

#include <linux/array_size.h>
#include <linux/init.h>

#include "internal.h"

static const struct pghot_alias {
	const char *sysctl;
	const char *name;
} pghot_aliases[] = {
	{ "pghot_enabled_sources",		"enabled_sources" },
	{ "pghot_target_nid",			"target_nid" },
	{ "pghot_freq_threshold",		"freq_threshold" },
	{ "pghot_promote_freq_window_ms",	"freq_window_ms" },
	{ "pghot_promote_rate_limit_MBps",	"rate_limit_MBps" },
};

static int __init pghot_aliases_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pghot_aliases); i++)
		pghot_alias_sysctl(pghot_aliases[i].sysctl,
				   pghot_aliases[i].name);
	return 0;
}

/* After the tables are registered, by the order of linking. */
late_initcall(pghot_aliases_init);

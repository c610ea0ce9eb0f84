// SPDX-License-Identifier: GPL-2.0
/*
 * What pghot does by itself at boot on a machine with two memory tiers.
 *
 * The kernel log has one line which says which nodes are tracked; each of
 * them has its kmigrated thread and its line in the status file; top-tier
 * nodes have neither.  Nothing is recorded before a source is on.
 */
#include "kselftest_harness.h"
#include "vm_util.h"
#include "pghot_util.h"

FIXTURE(boot)
{
	struct pghot_topology topo;
	struct pghot_status status;
};

FIXTURE_SETUP(boot)
{
	ASSERT_OK(pghot_setup(&self->topo, 1, 1));
}

FIXTURE_TEARDOWN(boot)
{
	pghot_restore();
}

/* A list like "2" or "2-3,5". */
static bool has_number(const char *text, int number)
{
	const char *p = text;

	while (*p) {
		char *end;
		long first, last;

		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		first = strtol(p, &end, 10);
		last = first;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtol(end + 1, &end, 10);
		if (number >= first && number <= last)
			return true;
		p = end;
	}
	return false;
}

TEST_F(boot, log_line)
{
	char log[4096], *line, *end;
	int nid, i;

	ASSERT_EQ(pghot_dmesg("] pghot: ", log, sizeof(log)), 1)
		TH_LOG("lines with 'pghot: ' are: %s", log);
	line = strstr(log, "] pghot: ") + strlen("] pghot: ");
	TH_LOG("%s", line);
	ASSERT_EQ(strncmp(line, "tracking ", 9), 0);
	/* promotion without demotion ends when the top tier is full */
	EXPECT_NE(strstr(line, "demotion"), NULL);
	end = strstr(line, ", promoting to ");
	ASSERT_NE(end, NULL);
	*end++ = '\0';
	for (i = 0; (nid = pghot_lower_node(&self->topo, i)) >= 0; i++) {
		EXPECT_TRUE(has_number(line, nid))
			TH_LOG("lower-tier node %d is not tracked", nid);
		EXPECT_FALSE(has_number(end, nid))
			TH_LOG("lower-tier node %d is a target", nid);
	}
	for (i = 0; (nid = pghot_top_node(&self->topo, i)) >= 0; i++) {
		EXPECT_FALSE(has_number(line, nid))
			TH_LOG("top-tier node %d is tracked", nid);
		EXPECT_TRUE(has_number(end, nid))
			TH_LOG("top-tier node %d is no target", nid);
	}
}

TEST_F(boot, threads_and_status)
{
	struct pghot_status *status = &self->status;
	int nid, i, nr = 0;

	ASSERT_OK(pghot_read_status(status));
	TH_LOG("\n%s", status->text);
	for (nid = 0; nid < self->topo.nr; nid++) {
		bool lower = self->topo.memory[nid] && !self->topo.top[nid];
		bool listed = false;

		for (i = 0; i < status->nr_nodes; i++)
			listed |= status->nid[i] == nid;
		nr += lower;
		EXPECT_EQ(listed, lower)
			TH_LOG("node %d in status", nid);
		EXPECT_EQ(pghot_kmigrated(nid) > 0, lower)
			TH_LOG("kmigrated%d", nid);
	}
	EXPECT_EQ(status->nr_nodes, nr);
}

/* NUMA balancing is off in this state, hence no source can report. */
TEST_F(boot, nothing_recorded_when_off)
{
	ASSERT_OK(pghot_read_status(&self->status));
	EXPECT_EQ(self->status.record_bytes, 0);
	EXPECT_EQ(self->status.map_failures, 0);
	EXPECT_EQ(self->status.queued_now, 0);
	ASSERT_OK(pghot_assert_conservation());
}

TEST_HARNESS_MAIN

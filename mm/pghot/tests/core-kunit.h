/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the hotness store: records, windows, slots, choice of the target.
 */

#ifdef CONFIG_PGHOT_KUNIT_TEST

#ifndef _PGHOT_CORE_KUNIT_H
#define _PGHOT_CORE_KUNIT_H

#include <kunit/test.h>

static void pghot_expect_record(struct kunit *test, struct pghot_record want,
				struct pghot_record got)
{
	KUNIT_EXPECT_EQ(test, want.queued, got.queued);
	KUNIT_EXPECT_EQ(test, want.nid, got.nid);
	KUNIT_EXPECT_EQ(test, want.previous, got.previous);
	KUNIT_EXPECT_EQ(test, want.current_, got.current_);
}

/* A record for any number: all values of the default layout appear. */
static struct pghot_record pghot_test_record(unsigned int i)
{
	return (struct pghot_record) {
		.queued = i & 1,
		.nid = (i >> 1) * 37 & PGHOT_MAX_NID,
		.previous = (i >> 4) * 5 & PGHOT_MAX_COUNT,
		.current_ = (i >> 6) * 3 & PGHOT_MAX_COUNT,
	};
}

/* Each field survives, whatever the others are. */
static void pghot_test_pack(struct kunit *test)
{
	struct pghot_record most = {
		.queued = true,
		.nid = PGHOT_MAX_NID,
		.previous = PGHOT_MAX_COUNT,
		.current_ = PGHOT_MAX_COUNT,
	};
	struct pghot_record r;
	unsigned int i;

	for (i = 0; i < 65536; i++) {
		r = pghot_test_record(i);
		pghot_expect_record(test, r, pghot_unpack(pghot_pack(r)));
	}
	pghot_expect_record(test, most, pghot_unpack(pghot_pack(most)));
	KUNIT_EXPECT_EQ(test, pghot_pack((struct pghot_record){}), 0);
	KUNIT_EXPECT_EQ(test, PGHOT_RECORD_BITS,
			IS_ENABLED(CONFIG_PGHOT_PRECISE) ? 32 : 8);
}

static void pghot_test_hit(struct kunit *test)
{
	const unsigned int most = PGHOT_MAX_COUNT;
	struct pghot_record r = { .nid = 1 };
	unsigned int i;

	for (i = 1; i <= most; i++) {
		r = pghot_hit(r, 1, false);
		KUNIT_EXPECT_EQ(test, r.current_, i);
	}
	r = pghot_hit(r, 1, false);
	KUNIT_EXPECT_EQ(test, r.current_, most);
	KUNIT_EXPECT_EQ(test, r.previous, 0);

	/* Another accessor takes over, with the counts. */
	r = pghot_hit(r, 0, false);
	KUNIT_EXPECT_EQ(test, r.nid, 0);
	KUNIT_EXPECT_EQ(test, r.current_, most);

	/* One that is late does not: it is older news. */
	r = pghot_hit(r, 1, true);
	KUNIT_EXPECT_EQ(test, r.nid, 0);
	KUNIT_EXPECT_EQ(test, r.previous, 1);
	for (i = 0; i <= most; i++)
		r = pghot_hit(r, 1, true);
	KUNIT_EXPECT_EQ(test, r.previous, most);
	KUNIT_EXPECT_FALSE(test, r.queued);
}

/* Records of a word do not touch each other. */
static void pghot_test_word(struct kunit *test)
{
	u32 all = pghot_pack((struct pghot_record) {
		.queued = true,
		.nid = PGHOT_MAX_NID,
		.previous = PGHOT_MAX_COUNT,
		.current_ = PGHOT_MAX_COUNT,
	});
	unsigned int i, j;

	for (i = 0; i < PGHOT_WORD_RECORDS; i++) {
		u64 word = pghot_word_set(0, pghot_word_shift(i), all);

		for (j = 0; j < PGHOT_WORD_RECORDS; j++)
			KUNIT_EXPECT_EQ(test, i == j ? all : 0,
					pghot_word_get(word, pghot_word_shift(j)));
		KUNIT_EXPECT_EQ(test, pghot_word_set(word, pghot_word_shift(i), 0), 0);
	}
	KUNIT_EXPECT_EQ(test, pghot_word_index(PGHOT_WORD_RECORDS - 1), 0);
	KUNIT_EXPECT_EQ(test, pghot_word_index(PGHOT_WORD_RECORDS), 1);
	KUNIT_EXPECT_EQ(test, PGHOT_SECTION_BYTES,
			PAGES_PER_SECTION * PGHOT_RECORD_BITS / 8);
}

/* Aged, current becomes previous, and nothing spills into a neighbour. */
static void pghot_test_age_word(struct kunit *test)
{
	struct pghot_record aged, cleared, r;
	unsigned int i, shift;
	u64 word;

	for (i = 0; i < 65536; i++) {
		r = pghot_test_record(i);
		shift = pghot_word_shift(i);
		word = pghot_word_set(0, shift, pghot_pack(r));

		aged = r;
		aged.previous = r.current_;
		aged.current_ = 0;
		KUNIT_EXPECT_EQ(test, pghot_age_word(word),
				pghot_word_set(0, shift, pghot_pack(aged)));

		cleared = aged;
		cleared.previous = 0;
		KUNIT_EXPECT_EQ(test, pghot_clear_word(word),
				pghot_word_set(0, shift, pghot_pack(cleared)));
	}
}

static void pghot_test_window(struct kunit *test)
{
	u64 w = pghot_window(2999, 3000, 0);

	KUNIT_EXPECT_EQ(test, w, 0);
	KUNIT_EXPECT_EQ(test, pghot_window(3000, 3000, 0), 1);
	/* Far from wrapping after a thousand years of the shortest windows. */
	w = pghot_window(1000ULL * 366 * 86400 * 1000, 100, 0);
	KUNIT_EXPECT_LT(test, w, 1ULL << PGHOT_WINDOW_BITS);
	/* Windows of another length are later than all of these, and not next. */
	KUNIT_EXPECT_EQ(test, pghot_compare(w, pghot_window(0, 60000, 1)),
			PGHOT_LATER);
	KUNIT_EXPECT_EQ(test, pghot_compare(pghot_window(0, 60000, 1), w),
			PGHOT_TOO_LATE);
	KUNIT_EXPECT_EQ(test, pghot_header_window(pghot_header(w)), w);
	KUNIT_EXPECT_EQ(test, pghot_header(w) & PGHOT_AGING, 0);
}

static void pghot_test_compare(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pghot_compare(5, 5), PGHOT_SAME);
	KUNIT_EXPECT_EQ(test, pghot_compare(5, 6), PGHOT_NEXT);
	KUNIT_EXPECT_EQ(test, pghot_compare(5, 7), PGHOT_LATER);
	KUNIT_EXPECT_EQ(test, pghot_compare(5, 4), PGHOT_LATE);
	KUNIT_EXPECT_EQ(test, pghot_compare(5, 3), PGHOT_TOO_LATE);
	KUNIT_EXPECT_EQ(test, pghot_compare(0, U64_MAX), PGHOT_LATER);
	KUNIT_EXPECT_EQ(test, pghot_compare(U64_MAX, 0), PGHOT_TOO_LATE);
}

static struct pghot_map *pghot_test_map(struct kunit *test)
{
	struct pghot_map *map = kunit_kzalloc(test, sizeof(*map), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, map);
	map->words = kunit_kzalloc(test, PGHOT_SECTION_BYTES, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map->words);
	return map;
}

static void pghot_expect_accesses(struct kunit *test, struct pghot_map *map,
				  unsigned long pfn, u64 window, int err,
				  unsigned int accesses)
{
	struct pghot_report report = {};

	KUNIT_EXPECT_EQ(test, err, pghot_record(map, pfn, first_memory_node,
						window, UINT_MAX, &report));
	if (!err)
		KUNIT_EXPECT_EQ(test, accesses, report.accesses);
}

/*
 * Accesses add up within a window and with those of the one before, for each
 * page by itself, and never with older ones.
 */
static void pghot_test_windows_add_up(struct kunit *test)
{
	struct pghot_map *map = pghot_test_map(test);

	pghot_expect_accesses(test, map, 7, 100, 0, 1);
	pghot_expect_accesses(test, map, 7, 100, 0, 2);
	pghot_expect_accesses(test, map, 8, 100, 0, 1);
	pghot_expect_accesses(test, map, 7, 101, 0, 3);
	/* Window 100 counts no more. */
	pghot_expect_accesses(test, map, 7, 102, 0, 2);
	/* The neighbour was aged with it. */
	pghot_expect_accesses(test, map, 8, 102, 0, 1);
	pghot_expect_accesses(test, map, 7, 104, 0, 1);
	/* Late by one window, and by two. */
	pghot_expect_accesses(test, map, 7, 103, 0, 2);
	pghot_expect_accesses(test, map, 7, 102, -ESTALE, 0);
	pghot_expect_accesses(test, map, 7, 104, 0, 3);
}

/* A block is aged alone. */
static void pghot_test_blocks_are_apart(struct kunit *test)
{
	struct pghot_map *map = pghot_test_map(test);
	unsigned long last = PAGES_PER_SECTION - 1;

	pghot_expect_accesses(test, map, PGHOT_BLOCK_PAGES - 1, 1, 0, 1);
	pghot_expect_accesses(test, map, PGHOT_BLOCK_PAGES, 1, 0, 1);
	pghot_expect_accesses(test, map, last, 1, 0, 1);
	pghot_expect_accesses(test, map, PGHOT_BLOCK_PAGES, 9, 0, 1);
	pghot_expect_accesses(test, map, PGHOT_BLOCK_PAGES - 1, 2, 0, 2);
	pghot_expect_accesses(test, map, last, 2, 0, 2);
	KUNIT_EXPECT_EQ(test, pghot_header_window(map->headers[1]), 9);
	KUNIT_EXPECT_EQ(test, pghot_header_window(map->headers[0]), 2);
}

/* A record is claimed once. */
static void pghot_test_claim(struct kunit *test)
{
	struct pghot_map *map = pghot_test_map(test);
	struct pghot_report report = {};
	int nid = first_memory_node;

	pghot_record(map, 3, nid, 1, 2, &report);
	KUNIT_EXPECT_FALSE(test, report.claimed);
	pghot_record(map, 3, nid, 1, 2, &report);
	KUNIT_EXPECT_TRUE(test, report.claimed);
	pghot_record(map, 3, nid, 1, 2, &report);
	KUNIT_EXPECT_FALSE(test, report.claimed);
	/* Not forgotten with the accesses. */
	pghot_record(map, 3, nid, 10, 0, &report);
	KUNIT_EXPECT_FALSE(test, report.claimed);
	KUNIT_EXPECT_EQ(test, report.accesses, 1);
}

static void pghot_test_slots(struct kunit *test)
{
	int slots[2] = { NUMA_NO_NODE, NUMA_NO_NODE };
	int nid = first_memory_node;

	KUNIT_EXPECT_EQ(test, pghot_find_slot(slots, 2, nid), 0);
	KUNIT_EXPECT_EQ(test, slots[0], nid);
	KUNIT_EXPECT_EQ(test, pghot_find_slot(slots, 2, nid), 0);
	KUNIT_EXPECT_EQ(test, slots[1], NUMA_NO_NODE);
	/* None left: the nearest of those that have one. */
	KUNIT_EXPECT_EQ(test, pghot_find_slot(slots, 1, nid), 0);
	slots[0] = nid;
	nid = next_node_in(nid, node_states[N_MEMORY]);
	KUNIT_EXPECT_EQ(test, pghot_find_slot(slots, 1, nid), 0);
}

static void pghot_test_choose_target(struct kunit *test)
{
	int nid = first_memory_node;
	nodemask_t targets = NODE_MASK_NONE;
	int other = next_node_in(nid, node_states[N_MEMORY]);

	/* No top tier, no target. */
	KUNIT_EXPECT_EQ(test, pghot_choose_target(nid, NUMA_NO_NODE, &targets),
			NUMA_NO_NODE);
	node_set(nid, targets);
	KUNIT_EXPECT_EQ(test, pghot_choose_target(nid, NUMA_NO_NODE, &targets), nid);
	KUNIT_EXPECT_EQ(test, pghot_choose_target(other, NUMA_NO_NODE, &targets), nid);
	/* A configured node that is no target any more is passed over. */
	KUNIT_EXPECT_EQ(test, pghot_choose_target(other, MAX_NUMNODES - 1, &targets), nid);
	node_set(MAX_NUMNODES - 1, targets);
	KUNIT_EXPECT_EQ(test, pghot_choose_target(nid, MAX_NUMNODES - 1, &targets), nid);
	if (other != nid)
		KUNIT_EXPECT_EQ(test, pghot_choose_target(other, MAX_NUMNODES - 1, &targets),
				MAX_NUMNODES - 1);
}

static void pghot_test_record_access_refuses(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pghot_record_access(0, 0, -1, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, pghot_record_access(0, 0, PGHOT_NR_SOURCES, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, pghot_record_access(0, -2, PGHOT_HWHINT, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, pghot_record_access(0, nr_node_ids, PGHOT_HWHINT, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, pghot_record_access(ULONG_MAX, 0, PGHOT_HWHINT, 0), 0);
	KUNIT_EXPECT_EQ(test, pghot_record_access(ULONG_MAX, NUMA_NO_NODE, PGHOT_HWHINT, 0), 0);
}

static struct kunit_case pghot_test_cases[] = {
	KUNIT_CASE(pghot_test_pack),
	KUNIT_CASE(pghot_test_hit),
	KUNIT_CASE(pghot_test_word),
	KUNIT_CASE(pghot_test_age_word),
	KUNIT_CASE(pghot_test_window),
	KUNIT_CASE(pghot_test_compare),
	KUNIT_CASE(pghot_test_windows_add_up),
	KUNIT_CASE(pghot_test_blocks_are_apart),
	KUNIT_CASE(pghot_test_claim),
	KUNIT_CASE(pghot_test_slots),
	KUNIT_CASE(pghot_test_choose_target),
	KUNIT_CASE(pghot_test_record_access_refuses),
	{},
};

static struct kunit_suite pghot_test_suite = {
	.name = "pghot",
	.test_cases = pghot_test_cases,
};

kunit_test_suite(pghot_test_suite);

#endif /* _PGHOT_CORE_KUNIT_H */

#endif /* CONFIG_PGHOT_KUNIT_TEST */

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

/* Each field survives alone and with all others, at its least and its most. */
static void pghot_test_pack(struct kunit *test)
{
	unsigned int queued, nid, previous, current_;

	for (queued = 0; queued <= 1; queued++)
		for (nid = 0; nid <= PGHOT_MAX_NID; nid += PGHOT_MAX_NID)
			for (previous = 0; previous <= PGHOT_MAX_COUNT; previous++)
				for (current_ = 0; current_ <= PGHOT_MAX_COUNT; current_++) {
					struct pghot_record r = {
						.queued = queued,
						.nid = nid,
						.previous = previous,
						.current_ = current_,
					};

					pghot_expect_record(test, r,
						pghot_unpack(pghot_pack(r)));
				}
	KUNIT_EXPECT_EQ(test, pghot_pack((struct pghot_record){}), 0);
	KUNIT_EXPECT_EQ(test, PGHOT_RECORD_BITS,
			IS_ENABLED(CONFIG_PGHOT_PRECISE) ? 32 : 8);
}

static void pghot_test_hit(struct kunit *test)
{
	struct pghot_record r = { .nid = 1 };
	unsigned int i;

	for (i = 1; i <= PGHOT_MAX_COUNT + 1; i++) {
		r = pghot_hit(r, 1, false);
		KUNIT_EXPECT_EQ(test, r.current_, min(i, PGHOT_MAX_COUNT));
	}
	KUNIT_EXPECT_EQ(test, r.previous, 0);

	/* Another accessor takes over, with the counts. */
	r = pghot_hit(r, 0, false);
	KUNIT_EXPECT_EQ(test, r.nid, 0);
	KUNIT_EXPECT_EQ(test, r.current_, PGHOT_MAX_COUNT);

	/* One that is late does not: it is older news. */
	r = pghot_hit(r, 1, true);
	KUNIT_EXPECT_EQ(test, r.nid, 0);
	KUNIT_EXPECT_EQ(test, r.previous, 1);
	for (i = 0; i <= PGHOT_MAX_COUNT; i++)
		r = pghot_hit(r, 1, true);
	KUNIT_EXPECT_EQ(test, r.previous, PGHOT_MAX_COUNT);
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
	unsigned int i, previous, current_;
	u64 word, aged, cleared;

	for (previous = 0; previous <= PGHOT_MAX_COUNT; previous++) {
		for (current_ = 0; current_ <= PGHOT_MAX_COUNT; current_++) {
			struct pghot_record r = {
				.queued = true,
				.nid = PGHOT_MAX_NID,
				.previous = previous,
				.current_ = current_,
			};

			word = 0;
			for (i = 0; i < PGHOT_WORD_RECORDS; i += 2)
				word = pghot_word_set(word, pghot_word_shift(i),
						      pghot_pack(r));
			aged = pghot_age_word(word);
			cleared = pghot_clear_word(word);
			for (i = 0; i < PGHOT_WORD_RECORDS; i++) {
				struct pghot_record want = {};

				if (i % 2 == 0) {
					want = r;
					want.current_ = 0;
					want.previous = current_;
				}
				pghot_expect_record(test, want,
					pghot_unpack(pghot_word_get(aged,
						pghot_word_shift(i))));
				want.previous = 0;
				pghot_expect_record(test, want,
					pghot_unpack(pghot_word_get(cleared,
						pghot_word_shift(i))));
			}
		}
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
	KUNIT_EXPECT_EQ(test, pghot_find_slot(slots, 1, next_node_in(nid, node_states[N_MEMORY])), 0);
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

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _MM_PGHOT_RECORD_H
#define _MM_PGHOT_RECORD_H

/*
 * Hotness records: their layout, and what happens to one when its page is
 * accessed or grows old. All functions are pure.
 *
 * Each page of a lower-tier node has a record of one byte, or four with
 * CONFIG_PGHOT_PRECISE. That of a large folio is its first page's.
 *
 *	default		 7        6..4    3..2       1..0
 *			 queued | nid   | previous | current
 *
 *	precise		31        30..26   25..16   15..8      7..0
 *			 queued | unused | nid    | previous | current
 *
 * Time is divided in windows. @current counts the accesses of this window,
 * @previous those of the one before; both stop at their largest value. Two
 * accesses that are less than a window apart are thus always seen together,
 * and two that are more than two windows apart never, at the price of two bits
 * and no time stamp.
 *
 * The window that "current" stands for is kept once for all records of a 2 MiB
 * block, in the block's header. The first access to the block in a new window
 * ages all of its records. While it does, the header is marked, and nobody else
 * records there; a block is thus in window N, being aged, or in window N + 1.
 *
 * Records are read and changed as parts of a u64 only, with cmpxchg(), since
 * ageing changes eight of them at a time, and the order of atomic accesses of
 * different size to the same memory is undefined.
 *
 * nid is that of the node in the precise layout, and one of eight slots in the
 * default one, see pghot_slot_of_node(). Here it is a number like any other.
 */

#include <linux/bitfield.h>
#include <linux/bits.h>
#include <linux/minmax.h>
#include <linux/mmzone.h>
#include <linux/types.h>

#ifdef CONFIG_PGHOT_PRECISE
#define PGHOT_RECORD_BITS	32
#define PGHOT_QUEUED		BIT(31)
#define PGHOT_NID		GENMASK(25, 16)
#define PGHOT_PREVIOUS		GENMASK(15, 8)
#define PGHOT_CURRENT		GENMASK(7, 0)
#define PGHOT_MAX_THRESHOLD	15
#else
#define PGHOT_RECORD_BITS	8
#define PGHOT_QUEUED		BIT(7)
#define PGHOT_NID		GENMASK(6, 4)
#define PGHOT_PREVIOUS		GENMASK(3, 2)
#define PGHOT_CURRENT		GENMASK(1, 0)
#define PGHOT_MAX_THRESHOLD	3
#endif

#define PGHOT_MAX_COUNT		FIELD_MAX(PGHOT_CURRENT)
#define PGHOT_MAX_NID		FIELD_MAX(PGHOT_NID)

/* Records in a word, words and records in a block, blocks in a section. */
#define PGHOT_WORD_RECORDS	(64 / PGHOT_RECORD_BITS)
#define PGHOT_BLOCK_SHIFT	9
#define PGHOT_BLOCK_PAGES	BIT(PGHOT_BLOCK_SHIFT)
#define PGHOT_BLOCK_WORDS	(PGHOT_BLOCK_PAGES / PGHOT_WORD_RECORDS)
#define PGHOT_SECTION_BLOCKS	(PAGES_PER_SECTION / PGHOT_BLOCK_PAGES)
#define PGHOT_SECTION_BYTES	(PAGES_PER_SECTION * PGHOT_RECORD_BITS / 8)

/**
 * struct pghot_record - a record, unpacked
 * @queued: It has been handed to the promotion engine.
 * @nid: Who accessed it last.
 * @previous: Accesses in the window before the block's.
 * @current_: Accesses in the block's window.
 */
struct pghot_record {
	bool queued;
	unsigned int nid;
	unsigned int previous;
	unsigned int current_;
};

static inline u32 pghot_pack(struct pghot_record r)
{
	return FIELD_PREP(PGHOT_QUEUED, r.queued) |
	       FIELD_PREP(PGHOT_NID, r.nid) |
	       FIELD_PREP(PGHOT_PREVIOUS, r.previous) |
	       FIELD_PREP(PGHOT_CURRENT, r.current_);
}

static inline struct pghot_record pghot_unpack(u32 bits)
{
	return (struct pghot_record) {
		.queued	  = FIELD_GET(PGHOT_QUEUED, bits),
		.nid	  = FIELD_GET(PGHOT_NID, bits),
		.previous = FIELD_GET(PGHOT_PREVIOUS, bits),
		.current_ = FIELD_GET(PGHOT_CURRENT, bits),
	};
}

/* Which accesses of the two windows make a page hot. */
static inline unsigned int pghot_accesses(struct pghot_record r)
{
	return r.previous + r.current_;
}

/*
 * An access by @nid, in the block's window or, if @late, in the one before.
 * Another accessor than the last takes over the record with its counts: the
 * page is as hot as before, only for somebody else.
 */
static inline struct pghot_record pghot_hit(struct pghot_record r,
					    unsigned int nid, bool late)
{
	if (!late || !pghot_accesses(r))
		r.nid = nid;
	if (late)
		r.previous = min_t(unsigned int, r.previous + 1, PGHOT_MAX_COUNT);
	else
		r.current_ = min_t(unsigned int, r.current_ + 1, PGHOT_MAX_COUNT);
	return r;
}

/* A word with @bits in each of its records. */
#define PGHOT_REPEAT(bits)	(~0ULL / GENMASK_ULL(PGHOT_RECORD_BITS - 1, 0) * \
				 (u64)(bits))

/* All records of a word, one window later. */
static inline u64 pghot_age_word(u64 word)
{
	u64 keep = word & PGHOT_REPEAT(PGHOT_QUEUED | PGHOT_NID);
	u64 current_ = word & PGHOT_REPEAT(PGHOT_CURRENT);

	return keep | current_ << (__bf_shf(PGHOT_PREVIOUS));
}

/* All records of a word, two or more windows later. */
static inline u64 pghot_clear_word(u64 word)
{
	return word & PGHOT_REPEAT(PGHOT_QUEUED | PGHOT_NID);
}

/* The record of the page at @offset pages into its section. */
static inline unsigned int pghot_word_index(unsigned long offset)
{
	return offset / PGHOT_WORD_RECORDS;
}

static inline unsigned int pghot_word_shift(unsigned long offset)
{
	return offset % PGHOT_WORD_RECORDS * PGHOT_RECORD_BITS;
}

static inline u32 pghot_word_get(u64 word, unsigned int shift)
{
	return word >> shift & GENMASK_ULL(PGHOT_RECORD_BITS - 1, 0);
}

static inline u64 pghot_word_set(u64 word, unsigned int shift, u32 bits)
{
	return (word & ~(GENMASK_ULL(PGHOT_RECORD_BITS - 1, 0) << shift)) |
	       (u64)bits << shift;
}

/* ---- windows ---- */

/*
 * A window's number: its generation above, the time divided by its length
 * below. The generation changes with the length, so that windows of different
 * length are never next to each other. Bit 0 of a block's header marks a block
 * that is being aged, the others are its window.
 */
#define PGHOT_WINDOW_BITS	40
#define PGHOT_AGING		BIT_ULL(0)

static inline u64 pghot_window(u64 now_ms, unsigned int length_ms,
			       unsigned int generation)
{
	return (u64)generation << PGHOT_WINDOW_BITS | div_u64(now_ms, length_ms);
}

static inline u64 pghot_header(u64 window)
{
	return window << 1;
}

static inline u64 pghot_header_window(u64 header)
{
	return header >> 1;
}

/* How a report fits a block. */
enum pghot_age {
	PGHOT_SAME,	/* of the block's window */
	PGHOT_NEXT,	/* of the next one: age the block */
	PGHOT_LATER,	/* of a later one: clear the block */
	PGHOT_LATE,	/* of the one before: counts as previous */
	PGHOT_TOO_LATE	/* older: of no use */
};

static inline enum pghot_age pghot_compare(u64 block, u64 report)
{
	if (report == block)
		return PGHOT_SAME;
	if (report > block)
		return report - block == 1 ? PGHOT_NEXT : PGHOT_LATER;
	return block - report == 1 ? PGHOT_LATE : PGHOT_TOO_LATE;
}

#endif /* _MM_PGHOT_RECORD_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tests of the promotion engine: token bucket, batches, chunks, target node.
 */

#ifdef CONFIG_PGHOT_KUNIT_TEST

#ifndef _KMIGRATED_KUNIT_H
#define _KMIGRATED_KUNIT_H

#include <kunit/test.h>

/* Tokens of one second are there at once, and not those of two. */
static void kmigrated_test_bucket_holds_one_second(struct kunit *test)
{
	struct kmigrated_bucket b = {};
	u64 now = 10 * NSEC_PER_SEC;

	kmigrated_bucket_fill(&b, 256, now);
	KUNIT_EXPECT_EQ(test, b.tokens, 256);
	kmigrated_bucket_fill(&b, 256, now + 60 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, b.tokens, 256);
}

/* The bucket lends for one folio, and the next must wait until it is repaid. */
static void kmigrated_test_bucket_debt(struct kunit *test)
{
	struct kmigrated_bucket b = { .tokens = 1, .last = NSEC_PER_SEC };
	u64 now = NSEC_PER_SEC, wait;

	KUNIT_EXPECT_EQ(test, kmigrated_bucket_take(&b, 256, now, 512), 0);
	KUNIT_EXPECT_EQ(test, b.tokens, -511);
	wait = kmigrated_bucket_take(&b, 256, now, 1);
	/* 512 tokens at 256 a second */
	KUNIT_EXPECT_EQ(test, wait, 2 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, b.tokens, -511);
	KUNIT_EXPECT_NE(test, kmigrated_bucket_take(&b, 256, now + wait / 2, 1), 0);
	KUNIT_EXPECT_EQ(test, kmigrated_bucket_take(&b, 256, now + wait, 1), 0);
}

/* Asked often, it gives no more and no less than asked seldom. */
static void kmigrated_test_bucket_keeps_fractions(struct kunit *test)
{
	struct kmigrated_bucket b = { .last = NSEC_PER_SEC };
	u64 now = NSEC_PER_SEC;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		now += NSEC_PER_MSEC;
		kmigrated_bucket_fill(&b, 300, now);
	}
	KUNIT_EXPECT_GE(test, b.tokens, 299);
	KUNIT_EXPECT_LE(test, b.tokens, 300);
}

static void kmigrated_test_bucket_extreme_rates(struct kunit *test)
{
	struct kmigrated_bucket b = { .last = NSEC_PER_SEC };
	u64 rate = kmigrated_rate(UINT_MAX);

	KUNIT_EXPECT_EQ(test, rate, (u64)KMIGRATED_MAX_MBPS << (20 - PAGE_SHIFT));
	kmigrated_bucket_fill(&b, rate, 2 * NSEC_PER_SEC - 1);
	KUNIT_EXPECT_GE(test, b.tokens, rate - 1);
	KUNIT_EXPECT_LE(test, b.tokens, rate);
	KUNIT_EXPECT_EQ(test, kmigrated_rate(0), 0);
	KUNIT_EXPECT_EQ(test, kmigrated_rate(1), SZ_1M >> PAGE_SHIFT);

	/* A clock that goes back gives a full bucket, not an endless wait. */
	b.tokens = 0;
	b.last = 10 * NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, kmigrated_bucket_take(&b, 256, NSEC_PER_SEC, 1), 0);
}

/* A batch is exact, counted in pages, and loses nobody. */
static void kmigrated_test_batch_edges(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, kmigrated_batch_fits(0, 1, 64));
	KUNIT_EXPECT_TRUE(test, kmigrated_batch_fits(62, 1, 64));
	KUNIT_EXPECT_TRUE(test, kmigrated_batch_fits(63, 1, 64));
	KUNIT_EXPECT_FALSE(test, kmigrated_batch_fits(64, 1, 64));
	KUNIT_EXPECT_FALSE(test, kmigrated_batch_fits(63, 2, 64));
	/* A folio larger than a batch is a batch. */
	KUNIT_EXPECT_TRUE(test, kmigrated_batch_fits(0, 512, 64));
	KUNIT_EXPECT_FALSE(test, kmigrated_batch_fits(1, 512, 64));
	KUNIT_EXPECT_FALSE(test, kmigrated_batch_fits(512, 1, 64));
}

/* A queue of base pages, filled with @nr of them. */
static struct kmigrated_queue *kmigrated_test_queue(struct kunit *test,
						    unsigned int nr)
{
	struct kmigrated_request rq = { .flags = KMIGRATED_HINT_FAULT };
	struct kmigrated_queue *queue;
	unsigned long before;
	unsigned int i;

	queue = kvzalloc_obj(*queue);
	KUNIT_ASSERT_NOT_NULL(test, queue);
	spin_lock_init(&queue->lock);
	for (i = 0; i < nr; i++) {
		rq.pfn = i + 1;
		KUNIT_ASSERT_EQ(test, kmigrated_enqueue(queue, &rq, &before), 0);
		KUNIT_ASSERT_EQ(test, before, i);
	}
	return queue;
}

/* Requests come out once each, in order, in batches of 1, N-1, N and N+1. */
static void kmigrated_test_take(struct kunit *test)
{
	unsigned int sizes[] = { 1, 511, 512, 513 };
	struct kmigrated_request *batch;
	struct kmigrated_queue *queue;
	int nid = first_memory_node;
	unsigned int i, j, nr, got;
	u64 delay;

	batch = kvmalloc_objs(*batch, KMIGRATED_MAX_BATCH);
	KUNIT_ASSERT_NOT_NULL(test, batch);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		queue = kmigrated_test_queue(test, sizes[i]);
		got = 0;
		do {
			delay = 0;
			nr = kmigrated_take(queue, nid, batch, &delay);
			KUNIT_EXPECT_LE(test, nr, 512);
			for (j = 0; j < nr; j++)
				KUNIT_EXPECT_EQ(test, batch[j].pfn, ++got);
		} while (nr);
		KUNIT_EXPECT_EQ(test, got, sizes[i]);
		KUNIT_EXPECT_EQ(test, queue->pages, 0);
		kvfree(queue);
	}
	kvfree(batch);
}

/* Full is full, at exactly its size, and what is queued twice is queued once. */
static void kmigrated_test_enqueue(struct kunit *test)
{
	struct kmigrated_request rq = { .pfn = 1 };
	struct kmigrated_queue *queue;
	unsigned long before;

	queue = kmigrated_test_queue(test, KMIGRATED_QUEUE_SIZE);
	rq.pfn = KMIGRATED_QUEUE_SIZE + 1;
	KUNIT_EXPECT_EQ(test, kmigrated_enqueue(queue, &rq, &before), -ENOSPC);
	rq.pfn = KMIGRATED_QUEUE_SIZE;
	KUNIT_EXPECT_EQ(test, kmigrated_enqueue(queue, &rq, &before), -EEXIST);

	/* Taken, it may come again. */
	queue->tail = queue->head;
	KUNIT_EXPECT_EQ(test, kmigrated_enqueue(queue, &rq, &before), 0);
	KUNIT_EXPECT_EQ(test, kmigrated_enqueue(queue, &rq, &before), -EEXIST);
	kvfree(queue);
}

static void kmigrated_test_chunk_limit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kmigrated_chunk_limit(0), KMIGRATED_CHUNK_MAX);
	KUNIT_EXPECT_EQ(test, kmigrated_chunk_limit(1), KMIGRATED_CHUNK_MAX);
	KUNIT_EXPECT_EQ(test, kmigrated_chunk_limit(KMIGRATED_CHUNK_NS / 30),
			30);
	KUNIT_EXPECT_EQ(test, kmigrated_chunk_limit(KMIGRATED_WAIT_NS),
			KMIGRATED_CHUNK_MIN);
	/* Not the pages are slow. */
	KUNIT_EXPECT_EQ(test, kmigrated_chunk_limit(KMIGRATED_WAIT_NS + 1),
			KMIGRATED_CHUNK_MAX);
	KUNIT_EXPECT_EQ(test, kmigrated_chunk_limit(UINT_MAX),
			KMIGRATED_CHUNK_MAX);
}

static void kmigrated_test_page_ns(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, kmigrated_page_ns(8000, 8000, 1), 8000);
	KUNIT_EXPECT_EQ(test, kmigrated_page_ns(8000, 16000, 1), 10000);
	KUNIT_EXPECT_EQ(test, kmigrated_page_ns(8000, 4000 * 64, 64), 7000);
	/* One hiccup of an hour does not stop it for long. */
	KUNIT_EXPECT_LE(test, kmigrated_page_ns(8000, 3600 * NSEC_PER_SEC, 1),
			KMIGRATED_CHUNK_NS);
}

/* Node 4 is memoryless, 2 and 3 are lower tier. */
static int kmigrated_test_distance(int from, int to)
{
	static const int distance[5][5] = {
		{ 10, 20, 30, 40, 20 },
		{ 20, 10, 40, 30, 15 },
		{ 30, 40, 10, 50, 40 },
		{ 40, 30, 50, 10, 40 },
		{ 20, 15, 40, 40, 10 },
	};

	return distance[from][to];
}

static int kmigrated_test_nearest(int from, const nodemask_t *targets)
{
	return __kmigrated_nearest_node(from, targets, kmigrated_test_distance);
}

static void kmigrated_test_nearest_node(struct kunit *test)
{
	nodemask_t targets = NODE_MASK_NONE;

	KUNIT_EXPECT_EQ(test, kmigrated_test_nearest(0, &targets), NUMA_NO_NODE);
	node_set(0, targets);
	node_set(1, targets);
	KUNIT_EXPECT_EQ(test, kmigrated_test_nearest(0, &targets), 0);
	KUNIT_EXPECT_EQ(test, kmigrated_test_nearest(1, &targets), 1);
	KUNIT_EXPECT_EQ(test, kmigrated_test_nearest(2, &targets), 0);
	KUNIT_EXPECT_EQ(test, kmigrated_test_nearest(3, &targets), 1);
	KUNIT_EXPECT_EQ(test, kmigrated_test_nearest(4, &targets), 1);
	node_clear(1, targets);
	KUNIT_EXPECT_EQ(test, kmigrated_test_nearest(1, &targets), 0);
}

static void kmigrated_test_target_ok(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, kmigrated_target_ok(-2));
	KUNIT_EXPECT_FALSE(test, kmigrated_target_ok(NUMA_NO_NODE));
	KUNIT_EXPECT_FALSE(test, kmigrated_target_ok(nr_node_ids));
	KUNIT_EXPECT_FALSE(test, kmigrated_target_ok(MAX_NUMNODES));
	KUNIT_EXPECT_FALSE(test, kmigrated_target_ok(MAX_NUMNODES + 1));
	KUNIT_EXPECT_FALSE(test, kmigrated_target_ok(INT_MAX));
}

/* What is settled is counted where its name says. */
static void kmigrated_test_results_are_events(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, PGHOT_PROMOTE_SUCCESS + KMIGRATED_INELIGIBLE,
			PGHOT_REFUSED_INELIGIBLE);
	KUNIT_EXPECT_EQ(test, PGHOT_PROMOTE_SUCCESS + KMIGRATED_POLICY,
			PGHOT_REFUSED_POLICY);
	KUNIT_EXPECT_EQ(test, PGHOT_PROMOTE_SUCCESS + KMIGRATED_STALE,
			PGHOT_REFUSED_STALE);
	KUNIT_EXPECT_EQ(test, PGHOT_PROMOTE_SUCCESS + KMIGRATED_TARGET,
			PGHOT_REFUSED_TARGET);
	KUNIT_EXPECT_EQ(test, PGHOT_PROMOTE_SUCCESS + KMIGRATED_ISOLATE,
			PGHOT_REFUSED_ISOLATE);
	KUNIT_EXPECT_EQ(test, PGHOT_PROMOTE_SUCCESS + KMIGRATED_MIGRATE,
			PGHOT_REFUSED_MIGRATE);
}

static struct kunit_case kmigrated_test_cases[] = {
	KUNIT_CASE(kmigrated_test_bucket_holds_one_second),
	KUNIT_CASE(kmigrated_test_bucket_debt),
	KUNIT_CASE(kmigrated_test_bucket_keeps_fractions),
	KUNIT_CASE(kmigrated_test_bucket_extreme_rates),
	KUNIT_CASE(kmigrated_test_batch_edges),
	KUNIT_CASE(kmigrated_test_take),
	KUNIT_CASE(kmigrated_test_enqueue),
	KUNIT_CASE(kmigrated_test_chunk_limit),
	KUNIT_CASE(kmigrated_test_page_ns),
	KUNIT_CASE(kmigrated_test_nearest_node),
	KUNIT_CASE(kmigrated_test_target_ok),
	KUNIT_CASE(kmigrated_test_results_are_events),
	{},
};

static struct kunit_suite kmigrated_test_suite = {
	.name = "kmigrated",
	.test_cases = kmigrated_test_cases,
};

kunit_test_suite(kmigrated_test_suite);

#endif /* _KMIGRATED_KUNIT_H */

#endif /* CONFIG_PGHOT_KUNIT_TEST */

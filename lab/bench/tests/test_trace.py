# SPDX-License-Identifier: GPL-2.0
import unittest

from benchlib import trace

TEXT = """\
      kmigrated2-47      [001] .....   3000400: kmigrated_batch: from=2 to=0 pages=30 success=30 us=3
           stall-60      [000] .....   3000500: waited: (f+0x1/0x2 <- softleaf_entry_wait_on_locked)
           stall-60      [000] .....   3005000: wait: (softleaf_entry_wait_on_locked+0x0/0x1d0)
      kmigrated2-47      [001] .....   3009000: kmigrated_batch: from=2 to=0 pages=22 success=22 us=6
           stall-60      [000] .....   3009500: waited: (f+0x1/0x2 <- softleaf_entry_wait_on_locked)
CPU:1 [LOST 3 EVENTS]
"""


class Trace(unittest.TestCase):
    def setUp(self):
        self.chunks, self.waits = trace.parse(TEXT.splitlines())

    def test_an_end_without_a_begin_is_no_wait(self):
        self.assertEqual(self.waits, [(3005000, 3009500)])

    def test_chunks_begin_before_they_are_told(self):
        self.assertEqual(self.chunks, [(2997400, 3000400, 30), (3003000, 3009000, 22)])

    def test_cause_is_the_chunk_that_overlaps_most(self):
        self.assertEqual(trace.cause(self.waits[0], self.chunks).pages, 22)
        self.assertIsNone(trace.cause(trace.Wait(1, 2), self.chunks))
        self.assertIsNone(trace.cause(trace.Wait(1, 2), []))

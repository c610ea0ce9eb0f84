# SPDX-License-Identifier: GPL-2.0
"""KTAP of a kernel log, with the parser of the kernel tree."""
import unittest

from checklib import kunit
from checklib.core import FAIL, PASS, SKIP

HEAD = ["Linux version 7.3", "KTAP version 1", "1..1", "    KTAP version 1",
        "    # Subtest: pghot", "    1..3"]
TAIL = ["# pghot: pass:1 fail:1 skip:1 total:3", "not ok 1 pghot", "Freeing unused memory"]
CASES = ["    ok 1 a", "    # b: EXPECTATION FAILED at mm/x.h:1", "    not ok 2 b",
         "    ok 3 c # SKIP no tier"]


def read(*lines, wanted=None):
    log = "\n".join(f"[    1.{number:06}] {line}" for number, line in enumerate(lines))
    found = kunit.outcomes(log, "kunit k", {"pghot": ["a", "b", "c"]} if wanted is None
                           else wanted)
    return {one.name.split(" ", 2)[2]: one for one in found}


def statuses(*lines, **options):
    return {name: one.status for name, one in read(*lines, **options).items()}


class Log(unittest.TestCase):
    def test_each_kind(self):
        found = read(*HEAD, *CASES, *TAIL)
        self.assertEqual({name: one.status for name, one in found.items()},
                         {"pghot.a": PASS, "pghot.b": FAIL, "pghot.c": SKIP})
        self.assertIn("EXPECTATION FAILED", found["pghot.b"].detail[0])

    def test_no_tests_ran(self):
        self.assertEqual(statuses("Linux version 7.3", "Freeing unused memory"),
                         {"pghot.a": FAIL, "pghot.b": FAIL, "pghot.c": FAIL, "(all)": FAIL})

    def test_ends_early(self):
        found = statuses(*HEAD, CASES[0], "Kernel panic - not syncing")
        self.assertEqual(found["pghot.a"], PASS)
        self.assertEqual({found["pghot.b"], found["pghot.c"], found["(all)"]}, {FAIL})

    def test_case_that_is_in_no_table(self):
        found = statuses(*HEAD, *CASES, *TAIL, wanted={"pghot": ["a", "d"], "other": ["e"]})
        self.assertEqual((found["pghot.d"], found["other.e"]), (FAIL, FAIL))


class Sources(unittest.TestCase):
    def test_suites_of_the_repository(self):
        found = kunit.expected()
        self.assertIn("pghot_test_age_word", found["pghot"])
        self.assertIn("kmigrated_test_enqueue", found["kmigrated"])

# SPDX-License-Identifier: GPL-2.0
"""What counts as a good end, and what does not."""
import unittest

from checklib.core import FAIL, PASS, SKIP, Outcome
from checklib.report import Report


def end(*statuses):
    """(closing line, exit status)"""
    lines = []
    report = Report(lines.append)
    for number, status in enumerate(statuses):
        report.add(Outcome(f"unit x test{number}", status, 1.0))
    status = report.end()
    return lines[-1], status


class Closing(unittest.TestCase):
    def test_all_passed(self):
        self.assertEqual(end(PASS, PASS), ("2 passed, 0 failed, 0 skipped", 0))

    def test_failure(self):
        self.assertEqual(end(PASS, FAIL), ("1 passed, 1 failed, 0 skipped", 1))

    def test_skip_is_no_pass(self):
        self.assertEqual(end(PASS, SKIP), ("1 passed, 0 failed, 1 skipped", 1))

    def test_nothing_is_no_pass(self):
        self.assertEqual(end(), ("0 passed, 0 failed, 0 skipped", 1))

    def test_what_failed_is_named_at_the_end(self):
        lines = []
        report = Report(lines.append)
        report.add(Outcome("a", FAIL, 0, ["why"]))
        report.add(Outcome("b", PASS, 0))
        report.end()
        self.assertIn("why", lines[0])
        self.assertEqual(lines[2], "FAIL: a")

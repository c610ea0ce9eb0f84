# SPDX-License-Identifier: GPL-2.0
"""Needs, failures of needs, and jobs that break."""
import unittest

from checklib.core import FAIL, PASS, SKIP, Fail, Outcome
from checklib.jobs import Job, Runner
from checklib.report import Report


def job(name, needs=(), status=PASS, done=None):
    def run():
        if done is not None:
            done.append(name)
        yield Outcome(name, status, 0)
    return Job(name, run, needs)


def run(*jobs, beside=2):
    report = Report(lambda text: None)
    Runner(list(jobs), report, beside).run()
    return {outcome.name: outcome.status for outcome in report.outcomes}


class Needs(unittest.TestCase):
    def test_order(self):
        for beside in (1, 2, 3):
            done = []
            run(job("c", ("b",), done=done), job("b", ("a",), done=done), job("a", done=done),
                beside=beside)
            self.assertEqual(done, ["a", "b", "c"])

    def test_what_needs_a_failure_fails(self):
        for status in (FAIL, SKIP):
            found = run(job("a", status=status), job("b", ("a",)), job("c", ("b",)), job("d"))
            self.assertEqual(found, {"a": status, "b": FAIL, "c": FAIL, "d": PASS})

    def test_unknown_need(self):
        with self.assertRaises(ValueError):
            run(job("a", ("b",)))


class Broken(unittest.TestCase):
    def test_exception_is_a_failure(self):
        def fail():
            yield Outcome("a: first", PASS, 0)
            raise Fail("no such thing: run make tree")

        def crash():
            yield Outcome("b: first", PASS, 0)
            raise KeyError("x")

        found = run(Job("a", fail), Job("b", crash), job("c", ("a",)), job("d", ("b",)))
        self.assertEqual(found, {"a: first": PASS, "b: first": PASS, "a": FAIL, "b": FAIL,
                                 "c": FAIL, "d": FAIL})

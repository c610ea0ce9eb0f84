# SPDX-License-Identifier: GPL-2.0
"""What lab/selftests/run makes of a program's output and status."""

import importlib.machinery
import importlib.util
import os
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))


def load():
    path = os.path.join(os.path.dirname(HERE), "run")
    loader = importlib.machinery.SourceFileLoader("selftests_run", path)
    spec = importlib.util.spec_from_loader("selftests_run", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


run = load()


def judge(text, status=0):
    r = run.Result()
    for line in text.splitlines():
        r.line(line)
    r.end(status)
    return len(r.passed), [name for name, _ in r.failed]


class Output(unittest.TestCase):
    def test_pass(self):
        self.assertEqual(judge("TAP version 13\n1..2\nok 1 a\nok 2 b\n"),
                         (2, []))

    def test_fail(self):
        self.assertEqual(judge("1..2\nok 1 a\nnot ok 2 b # why\n", 1),
                         (1, ["b"]))

    def test_skip_is_failure(self):
        self.assertEqual(judge("1..2\nok 1 a\nok 2 b # SKIP no tier\n"),
                         (1, ["b"]))
        self.assertEqual(judge("1..2\nok 1 a\nok 2 # SKIP no tier\n"),
                         (1, [""]))
        self.assertEqual(judge("1..0 # SKIP no tier\n", 4)[0], 0)
        self.assertTrue(judge("1..0 # SKIP no tier\n", 4)[1])

    def test_xfail_is_failure(self):
        self.assertEqual(judge("1..1\nok 1 a # XFAIL\n"), (0, ["a"]))

    def test_comments_are_no_results(self):
        self.assertEqual(judge("1..1\n# ok 1 a\nok 1 a\n"), (1, []))

    def test_bail_out(self):
        self.assertEqual(judge("1..3\nok 1 a\nBail out! gone\n", 1)[1][0],
                         "(all)")

    def test_ends_early(self):
        self.assertEqual(judge("1..2\nok 1 a\n"), (1, ["(program)"]))

    def test_nothing(self):
        self.assertEqual(judge(""), (0, ["(program)"]))
        self.assertEqual(judge("1..0\n"), (0, ["(program)"]))

    def test_status_without_failure(self):
        self.assertEqual(judge("1..1\nok 1 a\n", 139), (1, ["(program)"]))

    def test_guest(self):
        for status in (98, 99, 124, 125):
            self.assertEqual(judge("1..1\nok 1 a\n", status),
                             (1, ["(guest)"]), status)


class Plans(unittest.TestCase):
    def test_labels_are_unique(self):
        labels = [p.label for p in run.PLANS]
        self.assertEqual(len(labels), len(set(labels)))

    def test_every_program_has_a_plan(self):
        mm = os.path.join(run.TOP, "tools/testing/selftests/mm")
        programs = {f[:-2] for f in os.listdir(mm)
                    if f.startswith("pghot_") and f.endswith(".c")}
        self.assertEqual(programs - {"pghot_util"},
                         {p.program for p in run.PLANS})

    def test_choose(self):
        self.assertEqual(len(run.choose(["off"])), 2)
        self.assertEqual(len(run.choose(["pghot_flat", "flat@flat"])), 1)
        with self.assertRaises(ValueError):
            run.choose(["nothing"])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: GPL-2.0
"""A guest's output becomes outcomes, judged as lab/selftests/run does."""
import os
import tempfile
import unittest

from checklib import selftests
from checklib.core import FAIL, PASS


class Guest(unittest.TestCase):
    """lab/vm/run is played by a script."""

    def play(self, text, status=0):
        with tempfile.TemporaryDirectory() as place:
            fake = os.path.join(place, "vm")
            with open(fake, "w") as f:
                f.write(f"#!/bin/sh\ncat <<'END'\n{text}END\nexit {status}\n")
            os.chmod(fake, 0o755)
            before, selftests.runner.VM = selftests.runner.VM, fake
            try:
                one = selftests.plan("boot@2dram+cxl")
                return list(selftests.run(one, "pghot", 1, name="test"))
            finally:
                selftests.runner.VM = before

    def test_each_kind(self):
        found = self.play("TAP version 13\n1..3\nok 1 boot.a\n"
                          "# pghot_boot.c:12:b:Expected 1 (1) == 2 (2)\nnot ok 2 boot.b\n"
                          "ok 3 boot.c # SKIP none\n", 1)
        where = "selftest test boot@2dram+cxl "
        self.assertEqual([(one.name, one.status) for one in found],
                         [(where + "boot.a", PASS), (where + "boot.b", FAIL),
                          (where + "boot.c", FAIL)])
        self.assertIn("Expected 1", found[1].detail[0])

    def test_guest_ends_badly(self):
        found = self.play("1..2\nok 1 a\nvm: WARNING in log:3: WARNING: x\n", 99)
        self.assertEqual([one.status for one in found], [PASS, FAIL])
        self.assertIn("splat", found[1].detail[0])
        self.assertIn("WARNING: x", found[1].detail[1])

    def test_one_test_of_a_program(self):
        words = selftests.command(selftests.plan("boot@2dram+cxl", ["boot.log_line"]), "k", 9, 2)
        self.assertEqual(words[-1], "PGHOT_IDLE_S=9 PGHOT_TIME_SCALE=2 pghot_boot "
                                    "-r boot.log_line 2>&1")
        self.assertIn("k", words)

    def test_unknown_plan(self):
        with self.assertRaises(ValueError):
            selftests.plan("nothing@flat")

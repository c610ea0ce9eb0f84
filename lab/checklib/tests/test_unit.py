# SPDX-License-Identifier: GPL-2.0
"""Unit tests are found, run and judged; none gets lost."""
import os
import tempfile
import unittest
from pathlib import Path

from checklib import unittests
from checklib.core import FAIL, PASS, SKIP

TESTS = """
import os, sys, unittest

class T(unittest.TestCase):
    def test_good(self): print("noise")
    def test_bad(self): self.assertEqual(1, 2, "why")
    def test_error(self): raise KeyError("x")
    def test_sub(self):
        for i in range(3):
            with self.subTest(i): self.assertNotEqual(i, 1)
    @unittest.skip("later")
    def test_skip(self): pass
    @unittest.expectedFailure
    def test_unexpected(self): pass

@unittest.skip("all of it")
class U(unittest.TestCase):
    def test_in_skipped_class(self): pass

class V(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("no kernel")
    def test_never(self): pass
"""


class Folder(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.root = Path(place.name)
        self.folder = self.root / "lab/x/tests"
        self.folder.mkdir(parents=True)

    def write(self, text, name="test_x.py"):
        (self.folder / name).write_text(text)

    def outcomes(self, *tests):
        found = list(unittests.run("lab/x/tests", tests, self.root))
        for one in found:
            self.assertTrue(one.name.startswith("unit lab/x/tests "), one)
        return {one.name.split(" ", 2)[2]: one for one in found}

    def statuses(self, *tests):
        return {name: one.status for name, one in self.outcomes(*tests).items()}

    def test_each_kind(self):
        self.write(TESTS)
        found = self.outcomes()
        self.assertEqual({name: one.status for name, one in found.items()}, {
            "test_x.T.test_good": PASS, "test_x.T.test_bad": FAIL, "test_x.T.test_error": FAIL,
            "test_x.T.test_sub": FAIL, "test_x.T.test_skip": SKIP,
            "test_x.T.test_unexpected": FAIL, "test_x.U.test_in_skipped_class": SKIP,
            "setUpClass (test_x.V)": FAIL})
        self.assertIn("why", found["test_x.T.test_bad"].detail[0])
        self.assertEqual(found["test_x.T.test_skip"].detail, ["later"])

    def test_chosen(self):
        self.write(TESTS)
        self.assertEqual(self.statuses("test_x.T.test_good"), {"test_x.T.test_good": PASS})
        self.assertEqual(self.statuses("test_x.T.test_lost"),
                         {"test_x.T.test_lost": FAIL, "(all)": FAIL})

    def test_broken_module(self):
        self.write("import nothing_like_this\n")
        self.assertEqual(list(self.statuses().values()), [FAIL])

    def test_no_tests(self):
        self.assertEqual(self.statuses(), {"(all)": FAIL})

    def test_ends_early(self):
        self.write("import os, unittest\nclass T(unittest.TestCase):\n"
                   "    def test_a(self): pass\n    def test_b(self): os._exit(0)\n")
        self.assertEqual(self.statuses(), {"test_x.T.test_a": PASS, "(all)": FAIL})

    def test_leaves_no_process(self):
        self.write("import subprocess, unittest\nclass T(unittest.TestCase):\n"
                   "    def test_a(self):\n"
                   "        p = subprocess.Popen(['sh', '-c', 'sleep 987 & echo $!; exec cat'],\n"
                   "                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
                   f"        open('{self.root}/pid', 'wb').write(p.stdout.readline())\n")
        self.assertEqual(self.statuses(), {"test_x.T.test_a": PASS})
        pid = int((self.root / "pid").read_text())
        self.assertFalse(os.path.exists(f"/proc/{pid}"))


class Repository(unittest.TestCase):
    def test_this_folder_is_found(self):
        self.assertIn("lab/checklib/tests", unittests.folders())

# SPDX-License-Identifier: GPL-2.0
import os
import subprocess
import tempfile
import unittest

from benchlib import elf

SOURCE = """
%s int limit = 5;
extern int other(const char *, int);
int first(int x) { return other(__func__, limit + x); }
int *second(void) { return &limit; }
"""


def compile_c(source):
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "a.o")
        subprocess.run(["gcc", "-O2", "-x", "c", "-c", "-", "-o", path], input=source,
                       text=True, check=True)
        with open(path, "rb") as f:
            return f.read()


class Code(unittest.TestCase):
    def setUp(self):
        self.plain = compile_c(SOURCE % "")

    def test_the_same_is_no_difference(self):
        self.assertEqual(elf.explain(self.plain, compile_c(SOURCE % "")), [])

    def test_lines_and_data_are_no_code(self):
        moved = "\n\n" + (SOURCE % "").replace("= 5", "= 7")
        self.assertEqual(elf.explain(self.plain, compile_c(moved)), [])

    def test_visibility_is_no_code(self):
        self.assertEqual(elf.explain(
            compile_c(SOURCE % "__attribute__((visibility(\"hidden\")))"),
            compile_c(SOURCE % "static")), [])

    def test_a_changed_constant_is_found(self):
        changed = (SOURCE % "").replace("limit + x", "limit - x")
        self.assertEqual(elf.explain(self.plain, compile_c(changed)), [".text: first"])

    def test_another_callee_is_found(self):
        changed = (SOURCE % "").replace("other", "another")
        self.assertEqual(elf.explain(self.plain, compile_c(changed)), [".text: first"])

    def test_code_of_one_side_only(self):
        self.assertEqual(elf.explain(self.plain, b""), [".text: in one only"])

# SPDX-License-Identifier: GPL-2.0
"""A repository with a tiny kernel, in which the real tools run."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BASE = Path(__file__).resolve().parents[1]

MAINTAINERS = """\
Descriptions of section entries
-------------------------------

M:	not an entry

Maintainers List
----------------

AARDVARK
M:	A <a@example.org>
F:	a/

ZEBRA
M:	Z <z@example.org>
F:	z/

THE REST
M:	R <r@example.org>
F:	*
"""


def numbers(**changes):
    """Lines 1 to 40, some replaced: l10='ten'."""
    return "".join(changes.get(f"l{n}", str(n)) + "\n" for n in range(1, 41))


class Lab(unittest.TestCase):
    """A fresh repository and stock source for each test."""

    def setUp(self):
        self.home = Path(tempfile.mkdtemp(prefix="pghot-test-"))
        self.addCleanup(shutil.rmtree, self.home)
        self.root, self.linux = self.home / "repo", self.home / "linux"
        self.write(self.linux / "Makefile",
                   "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 4\nEXTRAVERSION =\n")
        self.write(self.linux / "mm/memory.c", numbers())
        self.write(self.linux / "mm/vmscan.c", numbers())
        self.write(self.linux / "MAINTAINERS", MAINTAINERS)
        shutil.copytree(BASE, self.root / "lab/base",
                        ignore=shutil.ignore_patterns("__pycache__", "tests"))
        self.write(self.root / ".gitignore", "/build/\n__pycache__/\n")
        self.write(self.root / "patches/series", "")
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        self.tree = self.root / "build/src/pghot"
        self.env = dict(os.environ, LINUX_SOURCE=str(self.linux),
                        GIT_AUTHOR_NAME="T", GIT_AUTHOR_EMAIL="t@example.org",
                        GIT_COMMITTER_NAME="T", GIT_COMMITTER_EMAIL="t@example.org")

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def own(self, path, text):
        """A file of ours in the repository."""
        self.write(self.root / path, text)

    def patch(self, name, *sections, adds=""):
        """A patch file at the end of the series."""
        lines = f"Adds: {adds}\n" if adds else ""
        text = (f"From: T <t@example.org>\nSubject: mm: {name[5:-6]}\n\nWhy.\n\n"
                f"Signed-off-by: T <t@example.org>\n{lines}---\n")
        self.write(self.root / "patches" / name, text + "".join(sections))
        with open(self.root / "patches/series", "a") as stream:
            stream.write(name + "\n")

    def diff(self, path, before, after):
        """A section; before or after None: no such file."""
        for name, text in (("x", before), ("y", after)):
            self.write(self.home / name, text or "")
        old = f"a/{path}" if before is not None else "/dev/null"
        new = f"b/{path}" if after is not None else "/dev/null"
        return subprocess.run(
            ["diff", "-u", "--label", old, "--label", new, self.home / "x", self.home / "y"],
            stdout=subprocess.PIPE, text=True).stdout

    def edit(self, path, old, new):
        target = self.tree / path
        text = target.read_text()
        self.assertIn(old, text)
        target.write_text(text.replace(old, new))

    def tool(self, name, *arguments, status=0, **env):
        """Run lab/base/NAME; returns stdout and stderr."""
        done = subprocess.run([self.root / "lab/base" / name, *arguments], cwd=self.root,
                              env=dict(self.env, **env), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, status, done.stdout)
        if status:
            self.assertNotIn("Traceback", done.stdout)
        return done.stdout

    def refused(self, *command, saying, status=1):
        out = self.tool(*command, status=status)
        self.assertRegex(out, saying)
        return out

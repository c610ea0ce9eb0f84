# SPDX-License-Identifier: GPL-2.0
"""Where faults are planted: copies, so that neither the repository nor
build/src/pghot ever holds one."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

from checklib.core import BUILD, ROOT

sys.path.insert(0, str(ROOT / "lab/base"))

from baselib import core, kernel, worktree

KERNEL = "teeth"
FRAGMENTS = ("base", "pghot")
COPY = BUILD / "teeth/repository"
# What the copy of the repository shares with it: only read there.
SHARED = ("build/src", "build/out", "build/selftests/headers")


def place(path):
    """Is PATH the lab's, or the kernel's?"""
    return Lab if path.startswith(("lab/", "tools/testing/selftests/")) else Kernel


class Place:
    """A folder in which a file can be changed and put back."""
    root = None

    def wrong(self, fault):
        """Why the fault cannot be planted, in a list that is empty if it can."""
        path = self.root / fault.path
        found = path.read_text().count(fault.old) if path.is_file() else 0
        if found == 1:
            return []
        return [f"{fault.name}: {fault.path} has the old text {found} times, not once"]

    def plant(self, fault):
        """Returns what puts it back."""
        path = self.root / fault.path
        before, mode = path.read_bytes(), path.stat().st_mode & 0o777
        # Written anew, with the time of now: make has to see it each time.
        core.write_atomic(path, before.replace(fault.old.encode(), fault.new.encode()), mode)
        return lambda: core.write_atomic(path, before, mode)

    def build(self):
        pass


class Kernel(Place):
    """build/src/teeth, with copies where build/src/pghot has links."""
    root = core.SRC / KERNEL

    def __init__(self):
        with core.lock("stock"), core.lock(f"tree-{KERNEL}"):
            tree = worktree.update(KERNEL, discard=True)
        for path, (kind, _) in tree.recorded.items():
            target = tree.root / path
            if kind == "link":
                data = target.read_bytes()
                core.write_atomic(target, data)
        self.root = tree.root

    def build(self):
        kernel.build_tree(KERNEL, self.root, kernel.fragment_options(FRAGMENTS))


class Lab(Place):
    """A copy of the repository's files, which boots the kernels built outside."""
    root = COPY

    def __init__(self):
        kernel.build("base")    # the tests of lab/vm boot it
        shutil.rmtree(COPY, ignore_errors=True)
        names = subprocess.run(["git", "ls-files", "-z", "-c", "-o", "--exclude-standard"],
                               cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
        for name in filter(None, names.split("\0")):
            if (ROOT / name).exists():
                (COPY / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, COPY / name)
        for name in SHARED:
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            (COPY / name).symlink_to(os.path.relpath(ROOT / name, (COPY / name).parent))

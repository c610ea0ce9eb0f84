# SPDX-License-Identifier: GPL-2.0
"""Whatever ends the check, its guests end too."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from checklib import family
from checklib.core import ROOT

RUN = str(ROOT / "lab/vm/run")
GUEST = [RUN, "--kernel", "base", "--", "sleep", "99"]
# A test that boots a guest, run by the runner of unit tests.
TEST = f"""
import subprocess, unittest
class T(unittest.TestCase):
    def test_guest(self): subprocess.run({GUEST!r})
"""
HEAD = """
import sys
sys.path.insert(0, sys.argv[1])
from checklib import family
family.lead()
try:
    list(family.Child(sys.argv[2:]).lines())
except family.Stopped:
    pass
finally:
    family.end_all()
"""


def guest_below(pid):
    for child in family.below(pid):
        try:
            if "qemu" in os.readlink(f"/proc/{child}/exe"):
                return child
        except OSError:
            pass
    return None


def runs(pid):
    """Not ended, though maybe nobody has asked for its status yet."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    return None


class Interrupted(unittest.TestCase):
    """Boots the stock kernel a few times, and never for long."""

    def interrupt(self, number, *command):
        head = subprocess.Popen([sys.executable, "-c", HEAD, str(ROOT / "lab"), *command],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            guest = until(lambda: guest_below(head.pid))
            self.assertTrue(guest, "no guest was started")
            head.send_signal(number)
            head.wait(20)
            self.assertTrue(until(lambda: not runs(guest)),
                            f"signal {number}: the guest is still there")
        finally:
            head.kill()
            head.wait()

    def test_guest_of_ours(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            self.interrupt(number, *GUEST)

    def test_guest_of_a_unit_test(self):
        with tempfile.TemporaryDirectory() as place:
            Path(place, "test_x.py").write_text(TEST)
            for number in (signal.SIGTERM, signal.SIGKILL):
                self.interrupt(number, str(ROOT / "lab/checklib/unit"), place)


class Late(unittest.TestCase):
    def test_time_limit(self):
        begin = time.monotonic()
        child = family.Child(["sh", "-c", "echo a; sleep 50; echo b"], timeout=1)
        self.assertEqual(list(child.lines()), ["a"])
        self.assertTrue(child.timed_out)
        self.assertLess(time.monotonic() - begin, 20)

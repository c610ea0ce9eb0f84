# SPDX-License-Identifier: GPL-2.0
"""The parts of make check, and what each needs."""
import time

from . import kunit, selftests, unittests
from .core import FAIL, PASS, ROOT, Outcome, log_path, rel
from .family import Child
from .jobs import Job

KERNELS = ("base", "pghot", "pghot-precise")
# Unit tests that boot kernels.
GUESTS = {"lab/vm/tests": ("kernel base",),
          "lab/checklib/tests": ("kernel base", "kernel pghot", "selftest programs")}
# What the layout of the records can change.
PRECISE = ("knobs@2dram+cxl", "promote@2dram+cxl", "placement@2dram+cxl",
           "conservation@2dram+cxl")


def command(name, *argv, timeout=3600):
    """A job that is one command, and passes if it exits with 0."""
    def run():
        begin, log, last = time.monotonic(), log_path(name), []
        with open(log, "w") as stream:
            child = Child(argv, timeout=timeout)
            for line in child.lines():
                print(line, file=stream, flush=True)
                last = (last + [line])[-5:]
        good = child.status == 0
        yield Outcome(name, PASS if good else FAIL, time.monotonic() - begin,
                      [] if good else last + [f"status {child.status}: {rel(log)}"])
    return run


def step(name, tool, *words, needs=()):
    return Job(name, command(name, ROOT / "lab/base" / tool, *words), needs)


def setup():
    """The kernels, one after the other: each build uses all CPUs."""
    jobs = [step("setup", "setup"), step("fetch", "fetch", needs=("setup",)),
            step("tree", "tree", needs=("fetch",))]
    before = "tree"
    for kernel in KERNELS:
        name = f"kernel {kernel}"
        jobs.append(step(name, "build", kernel, needs=("tree",) if before == "tree"
                         else ("tree", before)))
        before = name
    jobs.append(Job("selftest programs", command("selftest programs",
                                                 ROOT / "lab/selftests/build"), ("tree",)))
    return jobs


def unit(folder):
    return Job(f"unit {folder}", lambda: unittests.run(folder), GUESTS.get(folder, ("setup",)))


def boot(kernel):
    return Job(f"kunit {kernel}", lambda: kunit.run(kernel), (f"kernel {kernel}",))


def guest(kernel, plan):
    """SCALE: another guest runs beside it, and both have two CPUs."""
    def run():
        scale = max(2, selftests.runner.busy())
        yield from selftests.run(plan, kernel, scale)
    return Job(f"selftest {kernel} {plan.label}", run,
               (f"kernel {kernel}", "selftest programs"))


def jobs():
    """In the order in which they start, as far as needs allow."""
    plans = [guest("pghot", plan) for plan in selftests.runner.PLANS]
    plans += [guest("pghot-precise", selftests.plan(label)) for label in PRECISE]
    units = [unit(folder) for folder in unittests.folders()]
    return (setup() + plans + [boot("pghot"), boot("pghot-precise")] + units
            + [step("series", "series", needs=("tree",)), step("lint", "lint", needs=("tree",))])

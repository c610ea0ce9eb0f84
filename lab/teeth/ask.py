# SPDX-License-Identifier: GPL-2.0
"""Run named tests: those which a fault has to turn red."""
import fnmatch
import os
from collections import namedtuple

from checklib import kunit, selftests, unittests
from checklib.core import Fail

import plant

IDLE_S = 10

# kind: kunit, selftest or unit; where: a plan or a folder; test: its name.
Test = namedtuple("Test", "kind where test")


def parse(text):
    """A test as the list names it."""
    words = text.split(" ", 2)
    if words[0] == "kunit" and len(words) == 2:
        return Test("kunit", "", words[1])
    if words[0] in ("selftest", "unit") and len(words) == 3:
        return Test(*words)
    raise Fail(f"lab/teeth/list.py: '{text}': write kunit SUITE.CASE, selftest PLAN TEST "
               "or unit FOLDER TEST")


def run_kunit(_where, _tests):
    yield from kunit.run(plant.KERNEL)


def run_selftest(where, tests):
    scale = selftests.runner.busy()
    # A pattern stands for tests of a program that runs as a whole.
    names = [] if any("*" in test for test in tests) else tests
    yield from selftests.run(selftests.plan(where, names), plant.KERNEL, scale, IDLE_S)


def run_unit(where, tests):
    os.environ["CHECK_KERNEL"] = plant.KERNEL
    yield from unittests.run(where, tests, plant.COPY, plant.COPY / "lab/checklib/unit")


RUN = {"kunit": run_kunit, "selftest": run_selftest, "unit": run_unit}


def results(tests):
    """{test: set of statuses} of TESTS; an empty set: it gave no result."""
    groups, found = {}, {test: set() for test in tests}
    for test in found:
        groups.setdefault((test.kind, test.where), []).append(test)
    for (kind, where), group in groups.items():
        for outcome in RUN[kind](where, [test.test for test in group]):
            prefix = {"kunit": f"kunit {plant.KERNEL} ",
                      "selftest": f"selftest {plant.KERNEL} {where} ",
                      "unit": f"unit {where} "}[kind]
            name = outcome.name.removeprefix(prefix)
            for test in group:
                if fnmatch.fnmatchcase(name, test.test):
                    found[test].add(outcome.status)
    return found

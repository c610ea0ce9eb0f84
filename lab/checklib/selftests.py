# SPDX-License-Identifier: GPL-2.0
"""The kselftests in their guests, as lab/selftests/run plans and judges them."""
import copy
import importlib.machinery
import importlib.util
import os
import re
import time

from .core import FAIL, PASS, ROOT, Outcome, log_path, rel
from .family import Child


def load():
    """lab/selftests/run as a module."""
    path = str(ROOT / "lab/selftests/run")
    loader = importlib.machinery.SourceFileLoader("selftests_run", path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("selftests_run", loader))
    loader.exec_module(module)
    return module


runner = load()


def plan(label, tests=()):
    """The plan of that label; TESTS: only these of the program."""
    for one in runner.PLANS:
        if one.label == label:
            one = copy.copy(one)
            # knobs is no harness program: it runs as a whole.
            if tests and one.name != "knobs":
                one.args = [word for test in tests for word in ("-r", test)]
            return one
    raise ValueError(f"no selftest '{label}': see lab/selftests/run --list")


def build():
    """Compile the programs; what the compiler says if that fails."""
    child = Child([ROOT / "lab/selftests/build"])
    said = list(child.lines())
    return said if child.status else []


def command(one, kernel, idle, scale):
    words = [runner.VM, "--kernel", kernel, "--topology", one.topology,
             "--timeout", str(one.timeout * scale), "--verbose",
             "--with", os.path.join(runner.OUT, one.program)]
    for path in one.extra:
        words += ["--with", path]
    env = [f"PGHOT_IDLE_S={idle}", f"PGHOT_TIME_SCALE={scale}"]
    return words + ["--", " ".join(env + [one.program, *one.args]) + " 2>&1"]


def telling(said):
    """The lines of a test's output that say why it failed."""
    lines = [line.lstrip("# ") for line in said if line.startswith("#")]
    why = [line for line in lines if re.match(r"\S+\.c:\d+:|WRONG|precondition", line)]
    return (why or lines[-3:])[:4]


def run(one, kernel, scale, idle=60, name=None):
    """Outcomes of a plan's tests, as they come. NAME: of the kernel, to show."""
    where = f"selftest {name or kernel} {one.label}"
    log, result, said = log_path(where), runner.Result(), []
    begin = time.monotonic()

    def fresh(passed, failed):
        seconds = time.monotonic() - begin
        for test in result.passed[passed:]:
            yield Outcome(f"{where} {test}", PASS, seconds)
        for test, why in result.failed[failed:]:
            yield Outcome(f"{where} {test}", FAIL, seconds,
                          ([why] if why else []) + telling(said) + [f"output: {rel(log)}"])

    child = Child(command(one, kernel, idle, scale))
    with open(log, "w") as stream:
        for line in child.lines():
            print(line, file=stream, flush=True)
            before = len(result.passed), len(result.failed)
            result.line(line)
            if before == (len(result.passed), len(result.failed)):
                said.append(line)
                continue
            yield from fresh(*before)
            begin, said = time.monotonic(), []
    before = len(result.passed), len(result.failed)
    result.end(child.status)
    said = ["# " + line for line in said if line.startswith("vm: ")]
    yield from fresh(*before)

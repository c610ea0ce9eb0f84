# SPDX-License-Identifier: GPL-2.0
"""The unit tests of the lab's tools."""
import json
import time

from .core import FAIL, ROOT, Outcome, log_path
from .family import Child

RUNNER = ROOT / "lab/checklib/unit"
TIMEOUT = 1200


def folders(root=ROOT):
    """Every folder of the lab that has tests, as lab/NAME/tests."""
    found = sorted(path.parent for path in root.glob("lab/*/tests/test_*.py"))
    return [str(path.relative_to(root)) for path in dict.fromkeys(found)]


def run(folder, tests=(), root=ROOT, runner=RUNNER):
    """Outcomes of the tests in FOLDER of the repository ROOT, as they come.

    TESTS: only these; one that is not there fails. RUNNER: lab/checklib/unit of
    another repository, whose checklib the tests are to see.
    """
    where, seen, end = f"unit {folder}", set(), None
    begin, log = time.monotonic(), log_path(where)
    with open(log, "w") as stream:
        child = Child([runner, root / folder, *tests], stream, TIMEOUT)
        for line in child.lines():
            record = json.loads(line)
            if "end" in record:
                end = record["end"]
                continue
            seen.add(record["name"])
            yield Outcome(f"{where} {record['name']}", record["status"], record["seconds"],
                          record["detail"])
    for test in tests:
        if test not in seen:
            yield Outcome(f"{where} {test}", FAIL, 0, ["there is no such test"])
    why = None
    if child.timed_out:
        why = f"stopped after {TIMEOUT} s"
    elif end is None or child.status:
        why = f"ended early, status {child.status}"
    elif not seen:
        why = "no tests"
    if why:
        yield Outcome(f"{where} (all)", FAIL, time.monotonic() - begin, [f"{why}: see {log}"])

# SPDX-License-Identifier: GPL-2.0
"""KUnit tests in a booted kernel, read with the kernel's own parser."""
import re
import sys
import time

from .core import BUILD, FAIL, PASS, ROOT, SKIP, Fail, Outcome, rel
from .family import Child

OPTIONS = "kunit.enable=1 kunit.autorun=1"
STATUS = {"SUCCESS": PASS, "SKIPPED": SKIP}     # any other is a failure


def parse(log):
    """The tree of results in a kernel log, by the kernel tree's kunit_parser."""
    folder = BUILD / "src/pghot/tools/testing/kunit"
    if not (folder / "kunit_parser.py").exists():
        raise Fail(f"no {rel(folder)}/kunit_parser.py: run make tree")
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    import kunit_parser
    import kunit_printer
    return kunit_parser.parse_run_tests(log.splitlines(), kunit_printer.null_printer)


def expected(root=ROOT):
    """{suite: [case]} of the repository's KUnit files."""
    found = {}
    for path in sorted((root / "mm/pghot/tests").glob("*.h")):
        text = path.read_text()
        cases = dict(re.findall(r"struct kunit_case (\w+)\[\] = \{(.*?)\n\};", text, re.S))
        suites = re.findall(r'struct kunit_suite \w+ = \{.*?\.name = "([^"]+)".*?'
                            r"\.test_cases = (\w+)", text, re.S)
        for suite, table in suites:
            found[suite] = re.findall(r"KUNIT_CASE\w*\((\w+)", cases.get(table, ""))
    return found


def leaves(test, above=()):
    """(path, test) of each result without results below."""
    path = above + (test.name,)
    if not test.subtests:
        yield path, test
    for sub in test.subtests:
        yield from leaves(sub, path)


def outcomes(log, where, wanted):
    """Outcomes of a kernel log; a case of WANTED that did not run has failed."""
    result, seen = parse(log), set()
    for suite in result.subtests:
        for path, test in leaves(suite):
            name = ".".join(path)
            seen.add(name)
            detail = [line.strip() for line in test.log if line.strip()][:3]
            yield Outcome(f"{where} {name}", STATUS.get(test.status.name, FAIL), 0, detail)
    for suite, cases in wanted.items():
        for case in cases:
            if not any(name == f"{suite}.{case}" or name.startswith(f"{suite}.{case}.")
                       for name in seen):
                yield Outcome(f"{where} {suite}.{case}", FAIL, 0, ["did not run"])
    if not wanted or result.counts.errors:
        yield Outcome(f"{where} (all)", FAIL, 0, ["no tests" if not wanted else
                                                  "the log is no valid KTAP"])


def run(kernel, root=ROOT, name=None):
    """Boot KERNEL and yield the outcome of each KUnit test. NAME: of the kernel."""
    where, begin = f"kunit {name or kernel}", time.monotonic()
    child = Child([ROOT / "lab/vm/run", "--kernel", kernel, "--verbose", "--append", OPTIONS,
                   "--", "true"])
    said = list(child.lines())
    seconds = time.monotonic() - begin
    log = re.search(r"\S+\.log", "\n".join(said))
    why = [line for line in said if not line.startswith("vm: tcg")] or ["?"]
    yield Outcome(f"{where} (boot)", FAIL if child.status else PASS, seconds,
                  [f"status {child.status}: {why[-1]}"] if child.status else [])
    if not log:
        return
    with open(log[0], errors="replace") as stream:
        yield from outcomes(stream.read(), where, expected(root))

# SPDX-License-Identifier: GPL-2.0
"""checkpatch, W=1 and sparse over what is ours: nothing to report.

A checker that silently does nothing looks like clean code, so each must
first find an error that was planted for it.
"""
import os
import re
import shutil
import subprocess

from . import aptsource, gitseries, kernel
from .assemble import Series
from .core import BASE, BUILD, Fail, lock, rel, run

SPARSE = BUILD / "sparse"
IGNORE = BASE / "checkpatch.ignore"
PLANTED = "pghot_lint_planted"
# sparse: an address space is dropped. W=1: a variable is set, never used.
PLANTED_SPARSE = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/uaccess.h>
int pghot_lint_planted(const int __user *from);
int pghot_lint_planted(const int __user *from) { return *(const int *)from; }
"""
PLANTED_W1 = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/types.h>
int pghot_lint_planted(void);
int pghot_lint_planted(void) { int unused; unused = 1; return 0; }
"""


# --- checkpatch -------------------------------------------------------------

def ignored_types():
    """The types of checkpatch.ignore; each must give its reason."""
    types = []
    for line in IGNORE.read_text().splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) < 3 or not re.fullmatch(r"[A-Z_]+", words[0]):
            raise Fail(f"{rel(IGNORE)}: '{line}': write TYPE and the reason for it")
        types.append(words[0])
    return types


def checkpatch(tree, mail):
    """What checkpatch reports on a mail, one entry a report."""
    done = subprocess.run(
        ["perl", "scripts/checkpatch.pl", "--strict", "--terse", "--show-types", "--no-summary",
         "--ignore", ",".join(ignored_types()) or "NONE", str(mail)],
        cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    reports = [line for line in done.stdout.splitlines()
               if re.search(r": (ERROR|WARNING|CHECK):", line)]
    if done.returncode and not reports:
        raise Fail(f"checkpatch on {mail.name}: {done.stdout.strip()[:200]}")
    return reports


def check_patches(tree):
    planted = BUILD / "lint-planted.patch"
    planted.write_text("Subject: x\n\nx\n---\n--- a/mm/x.c\n+++ b/mm/x.c\n"
                       "@@ -1 +1 @@\n-int a;\n+int a ;   \n")
    if not any("TRAILING_WHITESPACE" in line for line in checkpatch(tree, planted)):
        raise Fail("checkpatch does not find an error that was planted for it")
    planted.unlink()
    problems = []
    for mail in sorted(gitseries.DRAFT.glob("*.patch")):
        problems += checkpatch(tree, mail)
    return problems


# --- sparse -----------------------------------------------------------------

def sparse():
    """sparse of Debian's sid, built here: Debian 12's cannot read this kernel."""
    binary = SPARSE / "sparse"
    if binary.exists():
        return binary
    aptsource.update("sparse", ["sid"], kind="deb-src")
    source = aptsource.download_source("sparse", "sparse")
    run(["make", "-C", source, f"-j{os.cpu_count()}", "CC=gcc", "sparse"], "cannot build sparse",
        env=kernel.environment())
    fresh = SPARSE.with_name(f".sparse.{os.getpid()}.tmp")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    shutil.copy2(source / "sparse", fresh / "sparse")
    shutil.rmtree(SPARSE, ignore_errors=True)
    os.replace(fresh, SPARSE)
    return binary


# --- the compiler and sparse over our files ---------------------------------

def our_objects(series):
    """The objects of our C files which the kernel's build compiles."""
    return sorted(path[:-2] + ".o" for path in series.adds
                  if path.endswith(".c") and not path.startswith(("tools/", "samples/")))


def compile_objects(tree, out, log, objects, binary):
    """Compile with W=1 and sparse; returns make's output."""
    for path in objects:
        (out / path).unlink(missing_ok=True)
    start = log.stat().st_size if log.exists() else 0
    kernel.make(tree, out, log, "W=1", "C=2", f"CHECK={binary}", *objects)
    with open(log, encoding="utf-8", errors="replace") as stream:
        stream.seek(start)
        return stream.read()


def warnings(output):
    return [line for line in output.splitlines() if re.search(r"\b(warning|error):", line)]


def must_find(tree, out, log, binary, text, pattern, what):
    """Compile a planted error in mm/ of the output folder; it must be seen."""
    planted = out / "mm" / f"{PLANTED}.c"
    planted.parent.mkdir(exist_ok=True)
    planted.write_text(text)
    try:
        output = compile_objects(tree, out, log, [f"mm/{PLANTED}.o"], binary)
    finally:
        for left in planted.parent.glob(f"*{PLANTED}*"):
            left.unlink()
    if not re.search(pattern, output):
        raise Fail(f"{what} does not find an error that was planted for it: see {rel(log)}")


def unchecked(output, objects):
    """Objects for which make printed no CHECK line."""
    seen = re.findall(r"(?m)^\s*CHECK\s+(\S+)$", output)
    return [o for o in objects if not any(s.endswith(o[:-2] + ".c") for s in seen)]


def check_sources(tree):
    """Warnings of W=1 and sparse over our files."""
    binary = sparse()
    options = kernel.fragment_options(kernel.KERNELS["lint"][1])
    with lock("build-lint"):
        out, log = kernel.prepare_out("lint"), kernel.OUT / "lint.log"
        log.write_bytes(b"")
        kernel.configure(tree, out, log, options)
        kernel.make(tree, out, log, "prepare")
        must_find(tree, out, log, binary, PLANTED_SPARSE, r"address space", "sparse")
        must_find(tree, out, log, binary, PLANTED_W1, r"unused-but-set", "W=1")
        objects = our_objects(Series())
        if not objects:
            return []
        output = compile_objects(tree, out, log, objects, binary)
    missing = unchecked(output, objects)
    if missing:
        raise Fail(f"sparse did not look at {missing[0][:-2]}.c: is it compiled with the options "
                   "of lab/configs? (no CHECK line for it)")
    return warnings(output)


def lint():
    """Every report, as lines."""
    series, problems = Series(), []
    tree = kernel.source_tree("pghot")
    if series.patches:
        with lock("series"):
            gitseries.write_series(draft=True)
        problems += check_patches(tree)
    problems += check_sources(tree)
    return problems + [f"{path}: in no Adds: line of patches/" for path in series.strays()]

# SPDX-License-Identifier: GPL-2.0
"""What every measurement needs: places, preconditions, a clean way to end."""
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build"
BENCH = BUILD / "bench"
WORKLOADS = HERE / "workload"
OURS = re.compile(r"CONFIG_(PGHOT|AMD_IBS_|KUNIT)")


class Fail(Exception):
    """A precondition is missing or a run broke: one line, exit status 2."""


def main(function):
    """Run FUNCTION; its result is the exit status: 0 thresholds hold, 1 not."""
    try:
        status = function()
    except Fail as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        status = 2
    except KeyboardInterrupt:
        status = 130
    sys.stdout.flush()
    sys.exit(status)


def need_kernels(*names):
    """Bring kernels up to date: what is measured is what the tree holds."""
    try:
        status = subprocess.call([ROOT / "lab/base/build", *names], stdout=subprocess.DEVNULL)
    except OSError as error:
        raise Fail(f"cannot run lab/base/build: {error.strerror}")
    if status:
        raise Fail(f"cannot build the kernels: run make {' '.join(f'kernel-{n}' for n in names)}")


def config(kernel):
    """{option: value} of a built kernel."""
    path = BUILD / "out" / kernel / ".config"
    if not path.is_file():
        raise Fail(f"kernel '{kernel}' is not built: run make kernel-{kernel}")
    return dict(line.split("=", 1) for line in path.read_text().splitlines()
                if line.startswith("CONFIG_"))


def other_options(one, other):
    """Options in which two configurations differ, but for those of pghot and its tests."""
    return sorted(name for name in one.keys() | other.keys()
                  if one.get(name) != other.get(name) and not OURS.match(name))


def need_same_config(a, b):
    """Kernels are only compared if pghot is all that is different."""
    others = other_options(config(a), config(b))
    if others:
        raise Fail(f"kernels '{a}' and '{b}' differ in {others[0]}: "
                   f"run make kernel-{a} kernel-{b}")


def compile_workload(name):
    """Build build/bench/NAME from workload/NAME.c and what it shares."""
    BENCH.mkdir(parents=True, exist_ok=True)
    program = BENCH / name
    shared = ("mem.c", "sys.c")
    sources = [WORKLOADS / f"{name}.c"] + [WORKLOADS / p for p in shared]
    inputs = sources + list(WORKLOADS.glob("*.h"))
    if program.exists() and all(p.stat().st_mtime < program.stat().st_mtime for p in inputs):
        return program
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-static", "-pthread",
               "-o", f"{program}.{os.getpid()}", *map(str, sources)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise Fail("there is no gcc: run make setup")
    if done.returncode:
        raise Fail(f"cannot build {name}: {(done.stderr.splitlines() or ['?'])[0]}")
    os.rename(f"{program}.{os.getpid()}", program)
    return program


def kernel_key(*names):
    """Changes when one of the kernels is built anew."""
    images = [BUILD / "out" / name / "arch/x86/boot/bzImage" for name in names]
    return [(str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in images if p.exists()]


def load():
    """(1-minute load, CPUs): above 0.5 per CPU, times are not to be trusted."""
    return os.getloadavg()[0], os.cpu_count()


def load_note():
    now, cpus = load()
    if now <= 0.5 * cpus:
        return f"load {now:.1f} on {cpus} CPUs at the start"
    return f"LOADED MACHINE: load {now:.1f} on {cpus} CPUs at the start; host times are noisy"


def rel(path):
    return os.path.relpath(path, ROOT)

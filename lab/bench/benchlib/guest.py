# SPDX-License-Identifier: GPL-2.0
"""Run a command in a guest and read the JSON lines it prints."""
import json
import subprocess
from collections import namedtuple

from .core import ROOT, Fail

SPLAT = 99

# lines: what is not JSON; said: what lab/vm/run had to say.
Run = namedtuple("Run", "status events lines said")


def parse(line):
    """The object a line holds, or None."""
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None


def run(kernel, command, topology="2dram+cxl", programs=(), icount=False, append="",
        timeout=120, on_event=None):
    """Boot KERNEL, run COMMAND (a string for sh -c); call ON_EVENT as events come."""
    argv = [str(ROOT / "lab/vm/run"), "--kernel", kernel, "--topology", topology,
            "--timeout", str(timeout)]
    for program in programs:
        argv += ["--with", str(program)]
    if icount:
        argv.append("--icount")
    if append:
        argv += ["--append", append]
    argv += ["--", "sh", "-c", command]
    events, lines = [], []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors="replace") as proc:
        for line in proc.stdout:
            event = parse(line)
            if event is None:
                lines.append(line.rstrip("\n"))
                continue
            events.append(event)
            if on_event:
                on_event(event)
        status = proc.wait()
    said = [line for line in lines if line.startswith("vm: ")]
    return Run(status, events, [line for line in lines if line not in said], said)


def checked(kernel, command, **options):
    """Like run(), but a guest that did not end well is an error."""
    done = run(kernel, command, **options)
    if done.status:
        why = (done.said + done.lines[-1:] or ["no message"])
        raise Fail(f"kernel '{kernel}': status {done.status}: {'; '.join(why)}")
    return done

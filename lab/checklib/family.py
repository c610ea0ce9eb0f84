# SPDX-License-Identifier: GPL-2.0
"""Children that end when we end, whatever ends us.

An orphan of ours becomes our child (subreaper), so that what is below us can be
found and ended. A direct child gets SIGTERM when we die; lab/vm/run takes its
QEMU along then.
"""
import ctypes
import os
import signal
import subprocess
import threading
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None)


class Stopped(BaseException):
    """A signal asked us to end."""


def _stop(number, _frame):
    raise Stopped(number)


def lead():
    """Be the head of all processes below; end by Stopped on a signal."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:      # as under nohup
            signal.signal(number, _stop)


def die_with(parent, number=signal.SIGTERM):
    """Get a signal when the process PARENT, which started us, has ended."""
    _libc.prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os.kill(os.getpid(), number)


def children(pid):
    """Process ids; those that end meanwhile are not missed."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as f:
                found += [int(word) for word in f.read().split()]
    except OSError:
        pass
    return found


def below(pid):
    """Every process below PID."""
    found = []
    for child in children(pid):
        found += [child] + below(child)
    return found


def _send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass


def _alive(pids):
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except OSError:
            pass
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


def end_all(patience=5):
    """End every process below us: gently, then not."""
    mine = os.getpid()
    _send(children(mine), signal.SIGTERM)
    limit = time.monotonic() + patience
    while _alive(below(mine)) and time.monotonic() < limit:
        time.sleep(0.05)
    while _alive(below(mine)):
        _send(below(mine), signal.SIGKILL)
        time.sleep(0.05)


class Child:
    """A command whose output is read line by line while it runs.

    Its standard error goes to the file object LOG, or along with the output if
    that is None. After TIMEOUT seconds it is ended; timed_out tells.
    """

    def __init__(self, argv, log=None, timeout=None, env=None):
        parent = os.getpid()
        self.timed_out, self.status = False, None
        self.proc = subprocess.Popen(
            [str(word) for word in argv], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT if log is None else log,
            text=True, errors="replace", env=env, preexec_fn=lambda: die_with(parent))
        self.timer = threading.Timer(timeout, self._late) if timeout else None
        if self.timer:
            self.timer.daemon = True
            self.timer.start()

    def _late(self):
        self.timed_out = True
        pids = [self.proc.pid] + below(self.proc.pid)
        _send([self.proc.pid], signal.SIGTERM)
        time.sleep(5)
        _send([pid for pid in pids if os.path.exists(f"/proc/{pid}")], signal.SIGKILL)

    def lines(self):
        """The lines without their ends; sets status when they are over."""
        for line in self.proc.stdout:
            yield line.rstrip("\n")
        self.status = self.proc.wait()
        if self.timer:
            self.timer.cancel()

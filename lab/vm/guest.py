"""One QEMU process: start it, relay its output, see it end.

The guest speaks over two channels.  Its kernel log goes from the first serial
port to a file, written by QEMU itself.  The agent's frames (see agent.c) come
over a virtio port into a pipe.  The initial RAM disk and the pipe are passed
as descriptors, so there is nothing to clean up afterwards, and QEMU dies with
this process whatever kills it.
"""

import ctypes
import os
import select
import signal
import struct
import subprocess
import tempfile
import time
from collections import namedtuple

PR_SET_PDEATHSIG = 1
FRAME = struct.Struct("<cI")

# status: the command's, or None; booted: the agent ran; timed_out: QEMU was
# killed for it; error: what QEMU said.
Result = namedtuple("Result", "status booted timed_out qemu_status error "
                              "boot_s total_s")

CONSOLE = ("console=ttyS0,115200 earlyprintk=serial,ttyS0,115200 "
           "ignore_loglevel printk.devkmsg=on panic=-1 oops=panic "
           "no_timer_check rdinit=/init "
           "random.trust_cpu=on")

_libc = ctypes.CDLL(None)


def _die_with(parent):
    def setup():
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        # ^C is for the parent to handle.
        os.setpgid(0, 0)
    return setup


def escape(value):
    """A value inside a QEMU option list."""
    return str(value).replace(",", ",,")


def qemu_args(kernel, initrd_fd, pipe_fd, log, append, share):
    args = ["-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-M", "q35,hmat=on", "-cpu", "max,la57=off",
            "-kernel", kernel, "-initrd", f"/dev/fd/{initrd_fd}",
            "-append", f"{CONSOLE} {append}".strip(),
            "-chardev", f"file,id=log,path={escape(log)}",
            "-serial", "chardev:log",
            "-add-fd", f"fd={pipe_fd},set=1",
            "-chardev", "file,id=frames,path=/dev/fdset/1,append=on",
            # Handled where the guest kicks the queue, not by another thread
            # some time later: --icount depends on it.
            "-device", "virtio-serial-pci,max_ports=2,ioeventfd=off",
            "-device", "virtserialport,chardev=frames,nr=1"]
    if share:
        args += ["-fsdev", f"local,id=share,path={escape(share)},"
                           "security_model=none,multidevs=remap",
                 "-device", "virtio-9p-pci,fsdev=share,mount_tag=share"]
    return args


def memory_file(data):
    fd = os.memfd_create("initrd")
    with os.fdopen(os.dup(fd), "wb") as f:
        f.write(data)
    return fd


def copy_out(fd, data, deadline):
    """Write to one of our own outputs; TimeoutError if its reader stalls.
    A pipe that selects as writable takes PIPE_BUF bytes without blocking."""
    while data:
        left = max(0.0, deadline - time.monotonic())
        if not select.select([], [fd], [], left)[1]:
            raise TimeoutError
        data = data[os.write(fd, data[:select.PIPE_BUF]):]


class Frames:
    """Takes the agent's byte stream apart.  write(1 or 2, bytes) gets the
    command's output as it comes."""

    def __init__(self, write):
        self.write = write
        self.buf = b""
        self.booted_at = None
        self.status = None

    def feed(self, data):
        self.buf += data
        while len(self.buf) >= FRAME.size:
            kind, size = FRAME.unpack_from(self.buf)
            if len(self.buf) < FRAME.size + size:
                return
            body = self.buf[FRAME.size:FRAME.size + size]
            self.buf = self.buf[FRAME.size + size:]
            self._take(kind, body)

    def _take(self, kind, body):
        if kind == b"h":
            self.booted_at = time.monotonic()
        elif kind == b"x":
            self.status = struct.unpack("<I", body)[0]
        elif kind in b"oe":
            self.write(1 if kind == b"o" else 2, body)


def _relay(proc, pipe, frames, deadline):
    """Feed frames until QEMU ended; False if time ran out."""
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        if not select.select([pipe], [], [], left)[0]:
            return False
        data = os.read(pipe, 1 << 16)
        if not data:
            break
        try:
            frames.feed(data)
        except TimeoutError:
            return False
    try:
        proc.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def run(qemu, machine, kernel, initrd, log, append="", share=None,
        timeout=120, quiet=False):
    """Boot a guest and wait for its end.  machine: more QEMU options; quiet:
    drop the command's output, which otherwise goes to ours."""
    begin = time.monotonic()
    deadline = begin + timeout
    initrd_fd = memory_file(initrd)
    pipe, pipe_w = os.pipe()
    cmd = [qemu] + qemu_args(kernel, initrd_fd, pipe_w, log, append,
                             share) + machine
    frames = Frames((lambda fd, data: None) if quiet else
                    (lambda fd, data: copy_out(fd, data, deadline)))
    with tempfile.TemporaryFile() as said:
        proc = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=said,
                                stderr=said, pass_fds=(initrd_fd, pipe_w),
                                preexec_fn=_die_with(os.getpid()))
        try:
            os.close(pipe_w)
            os.close(initrd_fd)
            in_time = _relay(proc, pipe, frames, deadline)
        finally:
            proc.kill()
            proc.wait()
            os.close(pipe)
        said.seek(0)
        error = said.read().decode("utf-8", "replace").strip()
    boot_s = frames.booted_at and frames.booted_at - begin
    return Result(frames.status, frames.booted_at is not None, not in_time,
                  proc.returncode, error, boot_s, time.monotonic() - begin)

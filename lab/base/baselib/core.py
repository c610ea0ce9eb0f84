# SPDX-License-Identifier: GPL-2.0
"""What every tool of lab/base shares: paths, errors, files, locks."""
import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BASE = ROOT / "lab" / "base"
CONFIGS = ROOT / "lab" / "configs"
PATCHES = ROOT / "patches"
BUILD = ROOT / "build"
SRC = BUILD / "src"
STATE = BUILD / "state"
STOCK = SRC / "stock"

APT_EXHAUSTED = 3   # exit status: no Debian suite has a released 7.3 any more


class Fail(Exception):
    """An error the user can act upon: one line, and an exit status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def main(function):
    """Run a tool; errors become one line on stderr and an exit status."""
    tool = Path(sys.argv[0]).name
    try:
        sys.exit(function() or 0)
    except Fail as err:
        print(f"{tool}: {err}", file=sys.stderr)
        sys.exit(err.status)
    except OSError as err:
        print(f"{tool}: {err}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print(f"{tool}: interrupted", file=sys.stderr)
        sys.exit(130)


def run(argv, what, **options):
    """Run a command, its output captured; Fail with its last line."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    try:
        done = subprocess.run([str(a) for a in argv], **options)
    except FileNotFoundError:
        raise Fail(f"{argv[0]} is not installed: run lab/base/setup") from None
    if done.returncode:
        lines = ((done.stderr or b"") + b"\n" + (done.stdout or b"")).split(b"\n")
        said = [l.decode(errors="replace").strip() for l in lines if l.strip()]
        detail = next((l for l in said if l.startswith(("E:", "error:", "fatal:"))),
                      said[0] if said else f"exit status {done.returncode}")
        raise Fail(f"{what}: {detail}")
    return done.stdout


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def sha256_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def write_atomic(path, data, mode=0o644):
    """Write a file so that it is there whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temp = path.parent / f".{path.name}.{os.getpid()}.tmp"
    try:
        temp.write_bytes(data)
        temp.chmod(mode)
        os.replace(temp, path)
    finally:
        temp.unlink(missing_ok=True)


@contextlib.contextmanager
def lock(name):
    """One holder at a time, across processes; freed when the holder dies."""
    STATE.mkdir(parents=True, exist_ok=True)
    with open(STATE / f"{name}.lock", "w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another run that holds '{name}'", file=sys.stderr)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def rel(path):
    """A path as the user would type it in the repository's root."""
    try:
        return str(Path(path).relative_to(ROOT))
    except ValueError:
        return str(path)

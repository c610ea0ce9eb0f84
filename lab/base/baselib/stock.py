# SPDX-License-Identifier: GPL-2.0
"""The stock tree: found, unpacked whole or not at all, and recorded."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import aptsource
from .core import APT_EXHAUSTED, BASE, BUILD, STATE, STOCK, SRC, Fail, run, sha256, \
    sha256_file, write_atomic
from .listing import listing

PACKAGE = "linux-source-7.3"
SUITES = ("trixie-backports", "sid", "experimental")
STAMP = STATE / "stock.json"


def released(version):
    """(7, 3, y) of a Debian version of a released 7.3.y, else None."""
    match = re.match(r"7\.3(?:\.(\d+))?-", version.split(":")[-1])
    return (7, 3, int(match[1] or 0)) if match else None


def newest(versions):
    """The newest released 7.3.y; a release candidate is not one."""
    found = [(released(v), v) for v in versions if released(v)]
    return max(found)[1] if found else None


def tarball_from_debian():
    aptsource.update("kernel", SUITES)
    version = newest(aptsource.versions("kernel", PACKAGE))
    if not version:
        raise Fail(f"no suite of {', '.join(SUITES)} has a released {PACKAGE}: "
                   "set LINUX_SOURCE to a kernel tarball or tree", APT_EXHAUSTED)
    kept = BUILD / "apt" / f"{PACKAGE}_{version}.tar.xz"
    if not kept.exists():
        print(f"fetch: downloading {PACKAGE} {version}", file=sys.stderr)
        deb = aptsource.download("kernel", PACKAGE, version)
        extract_tarball(deb, kept)
        deb.unlink()
    return kept


def extract_tarball(deb, target):
    """Take the kernel's tarball out of a .deb."""
    folder = deb.parent / "unpacked"
    shutil.rmtree(folder, ignore_errors=True)
    run(["dpkg-deb", "-x", deb, folder], f"cannot unpack {deb.name}")
    found = list(folder.glob(f"usr/src/{PACKAGE}.tar.*"))
    if len(found) != 1:
        raise Fail(f"{deb.name} holds no {PACKAGE}.tar.xz: set LINUX_SOURCE")
    os.replace(found[0], target)
    shutil.rmtree(folder)


def tree_version(tree):
    """The kernel version a tree's Makefile states, e.g. 7.3.4."""
    try:
        text = (Path(tree) / "Makefile").read_text(errors="replace")
    except OSError:
        raise Fail(f"{tree} is not a kernel tree: no Makefile there") from None
    parts = dict(re.findall(r"(?m)^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)"
                            r"[ \t]*=[ \t]*(\S*)$", text))
    if not parts.get("VERSION"):
        raise Fail(f"{tree} is not a kernel tree: its Makefile states no version")
    version = f"{parts['VERSION']}.{parts.get('PATCHLEVEL')}"
    if parts.get("SUBLEVEL", "0") != "0":
        version += "." + parts["SUBLEVEL"]
    return version + parts.get("EXTRAVERSION", "")


def tested():
    """(version, sha256) of the base last tested."""
    lines = (BASE / "tested").read_text().splitlines()
    words = next(l for l in lines if l and not l.startswith("#")).split()
    return words[0], words[1]


def read_stamp():
    """What the stock tree is, or None where none can be trusted."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return None
    return stamp if STOCK.is_dir() else None


def identify(source):
    """A key which changes when the source does."""
    if source.is_dir():
        text = "".join(f"{p} {v}\n" for p, v in sorted(listing(source).items()))
        return "tree:" + sha256(text.encode())
    return "sha256:" + sha256_file(source)


def unpack(source, folder):
    """Unpack a tarball, or copy a tree, as the new FOLDER."""
    folder.mkdir(parents=True)
    if source.is_dir():
        run(["rsync", "-a", "--exclude=/.git", f"{source}/", f"{folder}/"],
            f"cannot copy {source}")
        return
    run(["tar", "-x", "--strip-components=1", "-f", source, "-C", folder],
        f"cannot unpack {source}")


def install(source, key):
    """Make SOURCE the stock tree; the stamp comes last."""
    STAMP.unlink(missing_ok=True)
    fresh = SRC / f".stock.{os.getpid()}.tmp"
    old = SRC / f".stock.{os.getpid()}.old"
    for left in list(SRC.glob(".stock.*.tmp")) + list(SRC.glob(".stock.*.old")):
        shutil.rmtree(left)
    print(f"fetch: unpacking {source.name}", file=sys.stderr)
    try:
        unpack(source, fresh)
        version = tree_version(fresh)
        if STOCK.exists():
            os.replace(STOCK, old)
        os.replace(fresh, STOCK)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    stamp = {"key": key, "version": version, "source": source.name}
    write_atomic(STAMP, json.dumps(stamp, indent=1).encode() + b"\n")
    return stamp


def warn_untested(stamp):
    version, digest = tested()
    if stamp["key"] == "sha256:" + digest:
        return
    if stamp["version"] == version:
        print(f"fetch: warning: this {version} is not the tarball last tested "
              "(lab/base/tested)", file=sys.stderr)
    else:
        print(f"fetch: warning: Linux {stamp['version']} is not the one last tested, "
              f"{version} (lab/base/tested)", file=sys.stderr)


def ensure(look_again=False):
    """The stock tree in place; returns its stamp.

    LINUX_SOURCE decides if set. Otherwise a tree that is there stays, and
    Debian is asked only when there is none, or LOOK_AGAIN is set.
    """
    stamp = read_stamp()
    named = os.environ.get("LINUX_SOURCE")
    if not named and stamp and not look_again:
        return stamp
    if named:
        source = Path(named).resolve()
        if not source.exists():
            raise Fail(f"LINUX_SOURCE names {named}, which does not exist")
    else:
        source = tarball_from_debian()
    key = identify(source)
    if not stamp or stamp["key"] != key:
        SRC.mkdir(parents=True, exist_ok=True)
        stamp = install(source, key)
        warn_untested(stamp)
    return stamp

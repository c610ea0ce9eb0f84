# SPDX-License-Identifier: GPL-2.0
"""A patched tree under build/src: what should be there, what is, the difference.

The tree is stock plus the files the series touches, and only those whose
content differs are ever written: compilers and make go by times. What was
written is recorded, so that an edit made in the tree is seen and never lost.
"""
import json
import os
import shutil
import sys
from pathlib import Path

from . import stock
from .assemble import MAINTAINERS, File, Series
from .core import BUILD, ROOT, SRC, STATE, STOCK, Fail, rel, run, sha256, write_atomic
from .listing import listing

SOURCE_LIKE = (".c", ".h", ".S", ".rst", ".py", ".sh", "Makefile", "Kconfig", "Kbuild")


def look(path):
    """What stands at PATH: [kind, detail], comparable with an entry."""
    if path.is_symlink():
        target = os.path.normpath(path.parent / os.readlink(path))
        if Path(target).is_relative_to(ROOT) and not Path(target).is_relative_to(SRC):
            return ["link", os.path.relpath(target, ROOT)]
        return ["symlink", os.readlink(path)]
    if path.is_file():
        return ["file", sha256(path.read_bytes())]
    return ["absent", ""]


def entry(path, file):
    """What should stand at PATH for an assembled File, or None."""
    if file is None:
        return ["absent", ""]
    if file.whole:
        return ["link", path]
    return ["file", sha256(file.data)]


class Tree:
    def __init__(self, name="pghot"):
        self.name, self.root = name, SRC / name
        self.state_path = STATE / f"tree-{name}.json"
        self.patches = BUILD / "quilt" / name
        try:
            self.state = json.loads(self.state_path.read_text())
        except (OSError, ValueError):
            self.state = {}

    # --- what is recorded -------------------------------------------------

    @property
    def at(self):
        """The number of the patch the tree stops at; None: the whole series."""
        return self.state.get("at")

    @property
    def recorded(self):
        return self.state.get("files", {})

    def assembled(self, path):
        """The entry of what make tree put at PATH."""
        return self.recorded.get(path) or look(STOCK / path)

    def is_current(self, series, at):
        stamp = stock.read_stamp() or {}
        return (self.root.is_dir() and not self.state.get("pending")
                and self.state.get("stock") == stamp.get("key")
                and self.state.get("digest") == series.digest() and self.at == at)

    def save(self, **changes):
        self.state.update(changes)
        write_atomic(self.state_path, json.dumps(self.state, indent=1).encode() + b"\n")

    # --- edits ------------------------------------------------------------

    def edits(self, series, states):
        """{path: kind} of what differs from the record and from the series.

        Kinds: 'edit', 'broken-link', 'new'. Content that the series itself
        would put there is no edit, whoever wrote it.
        """
        there, base = listing(self.root), listing(STOCK)
        suspects = {p for p in there.keys() | base.keys() if there.get(p) != base.get(p)}
        now = states[self.index_of(series)]
        found = {}
        for path in sorted(suspects | self.recorded.keys()):
            kind = self.judge(path, now, base)
            if kind:
                found[path] = kind
        return found

    def index_of(self, series):
        """The state the tree stands at; the whole series if that is gone."""
        try:
            return series.index(self.at)
        except Fail:
            return series.index(None)

    def judge(self, path, now, base):
        actual = look(self.root / path)
        accepted = [self.recorded.get(path), self.state.get("pending", {}).get(path)]
        if path in now:
            accepted.append(entry(path, now[path]))
        if path not in self.recorded:
            accepted.append(look(STOCK / path))
        if actual in accepted:
            return None
        links = [e for e in accepted if e and e[0] == "link"]
        if links and actual[0] == "file":
            whole = ROOT / path
            same = whole.is_file() and sha256(whole.read_bytes()) == actual[1]
            return None if same else "broken-link"
        if actual[0] == "absent" and links:
            return None         # nothing of the developer's is in a removed link
        if path not in base and path not in self.recorded and path not in now:
            made_here = actual[0] == "file" and path.endswith(SOURCE_LIKE)
            return "new" if made_here else None
        return "edit"

    # --- writing ----------------------------------------------------------

    def create(self):
        """The tree as a copy of stock, whole or not at all."""
        key = stock.read_stamp()["key"]
        if self.root.is_dir() and self.state and self.state.get("stock") != key:
            aside = self.root.with_name(f"{self.name}.{os.getpid()}.old")
            os.replace(self.root, aside)
            print(f"tree: the stock kernel changed: the tree before is kept in {rel(aside)}",
                  file=sys.stderr)
            self.state_path.unlink(missing_ok=True)
            self.state = {}
        if self.root.is_dir():
            return
        self.state_path.unlink(missing_ok=True)
        self.state = {}
        for left in SRC.glob(f".{self.name}.*.tmp"):
            shutil.rmtree(left)
        fresh = SRC / f".{self.name}.{os.getpid()}.tmp"
        try:
            run(["cp", "-a", STOCK, fresh], f"cannot copy {rel(STOCK)}")
            os.replace(fresh, self.root)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def sync(self, series, states, at, carry=()):
        """Bring the tree to patch AT with as few writes as possible.

        CARRY: edited paths to leave alone; Fails if the series wants them
        changed.
        """
        index = series.index(at)
        wanted = self.wanted(series, states[index])
        entries = {path: entry(path, file) for path, file in wanted.items()}
        for path in carry:
            if path in entries and entries[path] != self.assembled(path):
                raise Fail(f"{path} has edits and the series changes it too: make refresh "
                           "first, or make tree DISCARD=1 to drop them")
        # Pending: after an interruption old and new content are both ours.
        self.save(pending=entries, files=self.recorded)
        for path, file in sorted(wanted.items()):
            if path not in carry:
                self.put(path, file, entries[path])
        self.write_quilt(series, states, index)
        self.state.pop("pending", None)
        self.save(at=at, digest=series.digest(), files=entries,
                  top=series.patches[index - 1].name if index else None,
                  stock=stock.read_stamp()["key"])

    def wanted(self, series, state):
        """{path: File or None} of all the series or the record touches."""
        wanted = dict(state)
        for path in self.recorded.keys() - wanted.keys():
            wanted[path] = stock_file(path)
        return wanted

    def put(self, path, file, want):
        target = self.root / path
        have = look(target)
        if have == want:
            return
        before = target.read_bytes() if have[0] in ("file", "link") and target.exists() else None
        if want[0] == "absent":
            target.unlink()
            self.prune(target.parent)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if want[0] == "file":
            write_atomic(target, file.data, file.mode)
            return
        temp = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        temp.unlink(missing_ok=True)
        temp.symlink_to(os.path.relpath(ROOT / path, target.parent))
        os.replace(temp, target)
        if before is not None and before != file.data:
            # make sees the time of the file behind the link, which may be
            # older than what was built from the content before.
            os.utime(ROOT / path)

    def prune(self, folder):
        """Remove folders that emptied and are not stock's."""
        while folder != self.root and not (STOCK / folder.relative_to(self.root)).exists():
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent

    # --- quilt ------------------------------------------------------------

    def added(self, patch_name):
        """Files that quilt has under PATCH_NAME."""
        folder = self.root / ".pc" / patch_name
        return {str(p.relative_to(folder)) for p in folder.rglob("*")
                if p.is_file() and p.name != ".timestamp"}

    def write_quilt(self, series, states, index):
        """quilt's view: the hunks of upstream files only, applied up to INDEX."""
        names = [patch.name for patch in series.patches]
        top = names[index - 1] if index else None
        kept = self.added(top) if top else set()
        if (self.root / ".pc").exists() and not self.recorded and not self.patches.exists():
            os.replace(self.root / ".pc", STATE / f"pc-{self.name}-before")
        shutil.rmtree(self.patches, ignore_errors=True)
        self.patches.mkdir(parents=True)
        (self.patches / "series").write_text("".join(n + "\n" for n in names))
        fresh = self.root / ".pc.tmp"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        (fresh / ".version").write_text("2\n")
        (fresh / ".quilt_patches").write_text(f"{self.patches}\n")
        (fresh / ".quilt_series").write_text("series\n")
        (fresh / "applied-patches").write_text("".join(n + "\n" for n in names[:index]))
        for number, patch in enumerate(series.patches):
            upstream = {p: s for p, s in patch.sections.items() if not series.is_ours(p)}
            text = b"".join(section.text for section in upstream.values())
            (self.patches / patch.name).write_bytes(text)
            if number < index:
                backed = set(upstream)
                if patch.name == top:
                    backed |= {p for p in kept if not series.is_ours(p)}
                backup(fresh / patch.name, backed, states[number])
        shutil.rmtree(self.root / ".pc", ignore_errors=True)
        os.replace(fresh, self.root / ".pc")


def backup(folder, paths, state):
    """quilt's copies of files before a patch; an empty one: no such file."""
    folder.mkdir()
    for path in paths:
        file = state[path] if path in state else stock_file(path)
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(file.data if file else b"")
    (folder / ".timestamp").write_text("")


def stock_file(path):
    source = STOCK / path
    if not source.is_file():
        return None
    return File(source.read_bytes(), 0o755 if source.stat().st_mode & 0o100 else 0o644)


def describe(path, kind, name):
    """One line that says what is wrong with an edit and what to do."""
    tree = rel(SRC / name)
    if path == MAINTAINERS:
        return (f"{tree}/MAINTAINERS has edits: make them in the repository's MAINTAINERS, "
                "then make tree DISCARD=1")
    if kind == "broken-link":
        return (f"{tree}/{path} is no longer a link to the repository's file and differs "
                f"from it: mv {tree}/{path} {path}, then make tree")
    return f"{tree}/{path} has edits that are not in patches/: make refresh"


def report_new(edits, name):
    """Say that files were made in the tree; they are left where they are."""
    new = [path for path, kind in edits.items() if kind == "new"]
    if new:
        more = f" and {len(new) - 1} more" if len(new) > 1 else ""
        print(f"note: {rel(SRC / name)}/{new[0]}{more} in no patch: a new file belongs in the "
              "repository, at its kernel path, and in an Adds: line", file=sys.stderr)


def update(name="pghot", at=None, discard=False, soft=False):
    """Assemble the tree NAME up to patch AT; refuse to lose edits.

    SOFT: keep the patch it stands at, and leave edits alone unless the
    series changed for the edited files.
    """
    stock.ensure()
    tree, series = Tree(name), Series()
    if soft:
        at = tree.at
        if tree.is_current(series, at):
            return tree
    states, carry = series.states(), ()
    if tree.root.is_dir() and tree.state.get("stock") in (None, stock.read_stamp()["key"]):
        edits = tree.edits(series, states)
        report_new(edits, name)
        edits = {p: k for p, k in edits.items() if k != "new"}
        if edits and soft and not tree.state:
            print(f"note: {rel(tree.root)} was not made by make tree: used as it is",
                  file=sys.stderr)
            return tree
        if edits and discard:
            drop(tree, edits)
        elif soft:
            carry = edits.keys()
        elif edits:
            path, kind = next(iter(edits.items()))
            more = f" ({len(edits) - 1} more like it)" if len(edits) > 1 else ""
            raise Fail(describe(path, kind, name) + more)
    tree.create()
    tree.sync(series, states, at, carry)
    strays = series.strays()
    if strays:
        more = f" and {len(strays) - 1} more" if len(strays) > 1 else ""
        print(f"note: {strays[0]}{more} in no Adds: line of patches/", file=sys.stderr)
    return tree


def drop(tree, edits):
    """Put back what the record says, for edits the user discards."""
    for path in edits:
        target = tree.root / path
        if path in tree.recorded:
            target.unlink(missing_ok=True)      # sync writes it anew
        else:
            file = stock_file(path)
            target.unlink(missing_ok=True)
            if file:
                write_atomic(target, file.data, file.mode)

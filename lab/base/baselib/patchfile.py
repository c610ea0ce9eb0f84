# SPDX-License-Identifier: GPL-2.0
"""A file of patches/: commit message, Adds: lines, hunks by file.

The hunks of one file are a section, and its text is kept as it was read:
rewriting one section never disturbs another.
"""
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .core import Fail, rel, write_atomic

HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
NEW_MODE = re.compile(rb"(?m)^new file mode 100(\d+)$")


@dataclass
class Section:
    """The change of one file."""
    path: str
    text: bytes
    creates: bool = False
    deletes: bool = False
    mode: int = 0o644       # of a created file


@dataclass
class Patch:
    path: Path
    message: str            # all before the '---' line, Adds: lines included
    sections: dict = field(default_factory=dict)

    @property
    def name(self):
        return self.path.name

    @property
    def adds(self):
        found = re.findall(r"(?m)^Adds:(.*)$", self.message)
        return [path for line in found for path in line.split()]

    @property
    def header(self):
        """The From:, Date: and Subject: fields, and the body without Adds:."""
        head, _, body = self.message.partition("\n\n")
        fields = {}
        for match in re.finditer(r"(?m)^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", head):
            fields[match[1].lower()] = re.sub(r"\n[ \t]+", " ", match[2]).strip()
        body = re.sub(r"(?m)^Adds:.*\n?", "", body + "\n")
        return fields, body.strip("\n")

    @property
    def subject(self):
        text = self.header[0].get("subject", "")
        return re.sub(r"^\[PATCH[^]]*\]\s*", "", text)

    def content(self):
        """The file's bytes."""
        parts = [self.message.rstrip("\n").encode(), b"\n---\n"]
        parts += [section.text for section in self.sections.values()]
        return b"".join(parts)

    def save(self):
        write_atomic(self.path, self.content())


def read(path):
    """Parse a patch file; a malformed one Fails with what is wrong."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise Fail(f"patches/series names {path.name}, which does not exist") from None
    message, separator, diff = (b"\n" + data).partition(b"\n---\n")
    if not separator:
        raise Fail(f"{rel(path)}: no '---' line ends its commit message: add one")
    patch = Patch(path, message.decode().lstrip("\n") + "\n")
    for section in parse_sections(diff, rel(path)):
        if section.path in patch.sections:
            raise Fail(f"{rel(path)}: two sections change {section.path}: merge them")
        patch.sections[section.path] = section
    return patch


def parse_sections(diff, where):
    """Split a unified diff by file; text between sections is dropped."""
    lines = diff.splitlines(keepends=True)
    at, head = 0, []
    while at < len(lines):
        line = lines[at]
        if line.startswith((b"rename ", b"copy ", b"GIT binary", b"Binary files", b"old mode")):
            raise Fail(f"{where}: a rename, mode change or binary patch is not "
                       "supported: write plain hunks")
        if line.startswith(b"--- ") and lines[at + 1:at + 2] and \
                lines[at + 1].startswith(b"+++ "):
            end = end_of_hunks(lines, at + 2, where)
            yield make_section(head, lines[at:end], where)
            at, head = end, []
            continue
        if line.startswith(b"@@ -"):
            raise Fail(f"{where}: a hunk without '---' and '+++' lines before it")
        if line.startswith(b"diff --git "):
            head = [line]
        elif head and re.match(rb"(index|new file mode|deleted file mode) ", line):
            head.append(line)
        at += 1


def end_of_hunks(lines, at, where):
    """The index after the last hunk which starts at AT."""
    start = at
    while at < len(lines) and (match := HUNK.match(lines[at])):
        old = int(match[1] or 1)
        new = int(match[2] or 1)
        at += 1
        while old > 0 or new > 0:
            if at >= len(lines) or lines[at][:1] not in b" +-\\\n":
                raise Fail(f"{where}: a hunk is cut short: its counts do not "
                           "match its lines")
            mark = lines[at][:1]
            old -= mark in (b" ", b"-", b"\n")
            new -= mark in (b" ", b"+", b"\n")
            at += 1
        if old or new:
            raise Fail(f"{where}: the counts of a hunk do not match its lines")
        if at < len(lines) and lines[at].startswith(b"\\"):
            at += 1
    if at == start:
        raise Fail(f"{where}: a '---' and '+++' pair without hunks")
    return at


def make_section(head, body, where):
    old, new = (strip_name(line, where) for line in body[:2])
    path = new or old
    if not path:
        raise Fail(f"{where}: a section names no file")
    text = b"".join(head) + b"".join(body)
    section = Section(path, text, creates=old is None, deletes=new is None)
    if match := NEW_MODE.search(b"".join(head)):
        section.mode = int(match[1], 8)
    return section


def strip_name(line, where):
    """The path of a '--- a/path' or '+++ b/path' line; None for /dev/null."""
    name = line[4:].rstrip(b"\n").split(b"\t")[0].decode()
    if name == "/dev/null":
        return None
    path = name.partition("/")[2]
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise Fail(f"{where}: cannot use the file name '{name}': write a/PATH and b/PATH")
    return path


def apply(section, before):
    """Apply a section to BEFORE (None: no file), strictly: without fuzz.

    Returns the new content (None: deleted). Raises ValueError with what
    does not apply. A line offset is accepted: it changes nothing.
    """
    if section.creates and before is not None:
        raise ValueError("creates a file that exists already")
    if not section.creates and before is None:
        raise ValueError("changes a file that does not exist")
    with tempfile.TemporaryDirectory(prefix="pghot-") as folder:
        target = Path(folder) / "file"
        if before is not None:
            target.write_bytes(before)
        done = subprocess.run(
            ["patch", "--fuzz=0", "--force", "--no-backup-if-mismatch",
             "--reject-file=-", "file"],
            cwd=folder, input=section.text, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        if done.returncode:
            failed = re.findall(rb"Hunk #(\d+) FAILED at (\d+)", done.stdout)
            if failed:
                raise ValueError("hunk {} (line {}) does not apply without fuzz".format(
                    *(word.decode() for word in failed[0])))
            raise ValueError(done.stdout.decode(errors="replace").strip().split("\n")[0])
        if section.deletes:
            if target.exists() and target.stat().st_size:
                raise ValueError("deletes a file, but lines are left over")
            return None
        return target.read_bytes()


def diff(path, before, after, mode=0o644):
    """The section that turns BEFORE into AFTER (None: no file)."""
    with tempfile.TemporaryDirectory(prefix="pghot-") as folder:
        names = []
        for name, data in (("old", before), ("new", after)):
            (Path(folder) / name).write_bytes(data or b"")
            names.append(name)
        old = "/dev/null" if before is None else f"a/{path}"
        new = "/dev/null" if after is None else f"b/{path}"
        done = subprocess.run(
            ["diff", "-up", "--label", old, "--label", new, *names], cwd=folder,
            stdout=subprocess.PIPE)
    text = f"diff --git a/{path} b/{path}\n".encode()
    if before is None:
        text += f"new file mode 100{mode:o}\n".encode()
    elif after is None:
        text += b"deleted file mode 100644\n"
    return Section(path, text + done.stdout, before is None, after is None, mode)


def merge3(ours, base, theirs):
    """The change from BASE to THEIRS made to OURS; None on a conflict."""
    with tempfile.TemporaryDirectory(prefix="pghot-") as folder:
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            (Path(folder) / name).write_bytes(data)
        done = subprocess.run(["git", "merge-file", "-p", "-q", "ours", "base", "theirs"],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout if done.returncode == 0 else None

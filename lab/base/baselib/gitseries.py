# SPDX-License-Identifier: GPL-2.0
"""The series as mails for git am, and the proof that they make our tree.

git am looks at nothing but the files a mail touches, so a repository of
just those files, as stock has them, stands for the whole kernel.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from . import stock
from .assemble import MAINTAINERS, Series
from .core import BUILD, PATCHES, ROOT, Fail, rel, run

REPOSITORY = BUILD / "series-git"
OUTPUT = BUILD / "series"
DRAFT = BUILD / "series-draft"
EPOCH = "2000-01-01T00:00:00+00:00"


class Git:
    """A throw-away repository, deaf to the user's configuration."""

    def __init__(self, folder):
        self.folder = Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self("init", "-q", "-b", "series")

    def __call__(self, *arguments, **extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        env.update(GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null",
                   GIT_AUTHOR_NAME="pghot", GIT_AUTHOR_EMAIL="pghot@localhost",
                   GIT_COMMITTER_NAME="pghot", GIT_COMMITTER_EMAIL="pghot@localhost",
                   GIT_AUTHOR_DATE=EPOCH, GIT_COMMITTER_DATE=EPOCH)
        env.update(extra.pop("env", {}))
        return run(["git", "-c", "core.abbrev=12", "-c", "gc.auto=0", "-c",
                    "core.autocrlf=false", "-c", "apply.whitespace=nowarn", *arguments],
                   f"git {arguments[0]} in {rel(self.folder)}", cwd=self.folder, env=env,
                   **extra)

    def put(self, state):
        """Make the working tree hold STATE, and stage it."""
        for path, file in state.items():
            target = self.folder / path
            if file is None:
                target.unlink(missing_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.data)
            target.chmod(file.mode)
        self("add", "-A", "-f")

    def head_files(self):
        """{path: (bytes, mode)} of the last commit."""
        out = self("ls-tree", "-r", "-z", "--format=%(objectmode) %(path)", "HEAD")
        files = {}
        for row in out.decode().split("\0")[:-1]:
            mode, path = row.split(" ", 1)
            files[path] = (self("cat-file", "blob", f"HEAD:{path}"), int(mode[-3:], 8))
        return files


def author(patch):
    """(name, mail, date) of a patch's From: and Date:."""
    fields, _ = patch.header
    match = re.match(r"(.+?)\s*<([^>]+)>$", fields.get("from", ""))
    if not match:
        raise Fail(f"{rel(patch.path)}: no 'From: Name <mail>' line")
    return match[1].strip('"'), match[2], fields.get("date") or last_change(patch.path)


def last_change(path):
    """When the repository last changed PATH: stable, unlike the time of day."""
    done = subprocess.run(["git", "log", "-1", "--format=%aI", "--", str(path)], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode().strip() or EPOCH


def check_message(patch):
    _, body = patch.header
    if not patch.subject:
        raise Fail(f"{rel(patch.path)}: no Subject: line")
    if not re.search(r"(?m)^Signed-off-by: .+ <.+>$", body):
        raise Fail(f"{rel(patch.path)}: no Signed-off-by: line")


def commit_all(series, states, git):
    git.put(states[0])
    git("commit", "-q", "--allow-empty", "-m", "stock: the files which the series touches")
    git("tag", "base")
    for index, patch in enumerate(series.patches):
        check_message(patch)
        git.put(states[index + 1])
        if not git("status", "--porcelain"):
            raise Fail(f"{rel(patch.path)} changes nothing")
        name, mail, date = author(patch)
        message = f"{patch.subject}\n\n{patch.header[1]}\n"
        git("commit", "-q", "--cleanup=verbatim", "-F", "-", input=message.encode(),
            env={"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": mail, "GIT_AUTHOR_DATE": date})


def cover_letter():
    """(subject, body) of patches/cover-letter: a Subject: line, then text."""
    path = PATCHES / "cover-letter"
    if not path.exists():
        raise Fail("no patches/cover-letter: write 'Subject: …', a blank line and the text")
    head, _, body = path.read_text().partition("\n\n")
    match = re.search(r"(?m)^Subject:[ \t]*(.*(?:\n[ \t].*)*)", head)
    if not match:
        raise Fail("patches/cover-letter does not start with a Subject: line")
    return re.sub(r"\s+", " ", match[1]), body.strip("\n")


def format_mails(git, folder, draft):
    """Mails and cover letter in FOLDER; a draft has no cover letter."""
    name, mail, _ = git("log", "-1", "--format=%an%n%ae%n").decode().split("\n")[:3]
    git("format-patch", "-q", "--cover-letter", "--no-signature", "--no-renames",
        "--minimal", "-o", folder, "base..HEAD",
        env={"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": mail})
    cover = next(folder.glob("0000-*"))
    if draft:
        cover.unlink()
        return
    subject, body = cover_letter()
    text = cover.read_text()
    text = text.replace("*** SUBJECT HERE ***", subject, 1)
    text = text.replace("*** BLURB HERE ***", body, 1)
    cover.write_text(text)


def prove(series, states, folder):
    """git am on stock gives the assembled tree, byte for byte."""
    git = Git(BUILD / "series-check")
    git.put(states[0])
    git("commit", "-q", "--allow-empty", "-m", "stock")
    mails = sorted(p for p in folder.glob("*.patch") if not p.name.startswith("0000-"))
    git("am", "-q", "--whitespace=nowarn", *mails)
    found = git.head_files()
    wanted = {p: (f.data, f.mode) for p, f in states[-1].items() if f}
    for path in sorted(found.keys() | wanted.keys()):
        if found.get(path) != wanted.get(path):
            raise Fail(f"after git am {path} is not what make tree assembles")
    for path in series.adds:
        if path != MAINTAINERS and found[path][0] != (ROOT / path).read_bytes():
            raise Fail(f"after git am {path} is not the repository's file")
    shutil.rmtree(git.folder)


def check_strays(series):
    strays = series.strays()
    if strays:
        raise Fail(f"{strays[0]} stands in no Adds: line of patches/"
                   f"{f' ({len(strays) - 1} more)' if len(strays) > 1 else ''}: add it to the "
                   "last patch that touches it")


def write_series(draft=False):
    """Write build/series; returns (number of patches, version of stock).

    A draft goes to build/series-draft, and may lack files and a cover letter.
    """
    stamp = stock.ensure()
    series = Series()
    if not series.patches:
        raise Fail("patches/series names no patch: nothing to write")
    if not draft:
        check_strays(series)
    states = series.states()
    git = Git(REPOSITORY)
    commit_all(series, states, git)
    target = DRAFT if draft else OUTPUT
    fresh = BUILD / f".series.{os.getpid()}.tmp"
    for left in BUILD.glob(".series.*.tmp"):
        shutil.rmtree(left)
    try:
        fresh.mkdir()
        format_mails(git, fresh, draft)
        prove(series, states, fresh)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return len(series.patches), stamp["version"]

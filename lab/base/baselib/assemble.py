# SPDX-License-Identifier: GPL-2.0
"""The series: read, checked, and assembled in memory.

Only the files the series touches are looked at. Each commit gives a state:
for every such path, its bytes, or None where there is no such file yet. A
file of ours is, from its Adds: on, the repository's whole file.
"""
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from . import maintainers, patchfile
from .core import PATCHES, ROOT, STOCK, Fail, rel, sha256

MAINTAINERS = "MAINTAINERS"
NUMBERED = re.compile(r"(\d{4})-[\w.+-]+\.patch$")


@dataclass(frozen=True)
class File:
    """A file's content at one commit."""
    data: bytes
    mode: int = 0o644
    whole: bool = False     # the repository's own file: a link in a tree


class Series:
    def __init__(self, patches=PATCHES, root=ROOT, stock=STOCK):
        self.root, self.stock, self.folder = Path(root), Path(stock), Path(patches)
        self.patches = [patchfile.read(self.folder / name) for name in self.names()]
        self.adds = self.read_adds()
        self.check_sections()

    def names(self):
        """The patch files in order; comments and blank lines are skipped."""
        path = self.folder / "series"
        lines = path.read_text().splitlines() if path.exists() else []
        names = [line.split("#")[0].strip() for line in lines]
        names = [name for name in names if name]
        for earlier, name in zip(["0000-"] + names, names):
            if not NUMBERED.match(name):
                raise Fail(f"patches/series: '{name}' is not named NNNN-subject.patch")
            if name[:4] <= earlier[:4]:
                raise Fail(f"patches/series: {name} does not follow {earlier} in number")
        return names

    def read_adds(self):
        """{path: index of the patch that adds it whole}."""
        adds = {}
        for index, patch in enumerate(self.patches):
            for path in patch.adds:
                if path in adds:
                    raise Fail(f"{path} stands in two Adds: lines, of "
                               f"{self.patches[adds[path]].name} and {patch.name}")
                if not (self.root / path).is_file():
                    raise Fail(f"{patch.name}: Adds: {path}, which is not a file "
                               "of the repository")
                if path != MAINTAINERS and (self.stock / path).exists():
                    raise Fail(f"{patch.name}: Adds: {path}, which stock has: "
                               "write hunks for it")
                adds[path] = index
        return adds

    def check_sections(self):
        for index, patch in enumerate(self.patches):
            for path in patch.sections:
                if path == MAINTAINERS:
                    raise Fail(f"{patch.name}: hunks for MAINTAINERS: it is merged "
                               "from the repository's by Adds: MAINTAINERS")
                if path in self.adds and index >= self.adds[path]:
                    raise Fail(f"{patch.name}: hunks for {path}, which is whole from "
                               f"{self.patches[self.adds[path]].name} on: move its "
                               "Adds: to the last patch that touches it")

    def index(self, number):
        """How many patches are applied at AT=NUMBER; None means all."""
        if number is None:
            return len(self.patches)
        wanted = str(number).zfill(4)
        for index, patch in enumerate(self.patches):
            if patch.name[:4] == wanted or patch.name == number:
                return index + 1
        if wanted == "0000":
            return 0
        raise Fail(f"no patch {number} in patches/series")

    def touched(self):
        """Every path that some patch touches."""
        paths = set(self.adds)
        for patch in self.patches:
            paths.update(patch.sections)
        return paths

    def is_ours(self, path):
        """Is PATH a file of ours alone, rather than one stock has?"""
        return path != MAINTAINERS and not (self.stock / path).exists()

    def stock_state(self):
        state = {}
        for path in self.touched():
            source = self.stock / path
            if source.exists():
                mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
                state[path] = File(source.read_bytes(), mode)
            else:
                state[path] = None
        return state

    def step(self, state, index):
        """The state after patch INDEX, from that before it."""
        patch, after = self.patches[index], dict(state)
        for path, section in patch.sections.items():
            before = state[path]
            try:
                data = patchfile.apply(section, before and before.data)
            except ValueError as err:
                raise Fail(f"{rel(patch.path)}: {path}: {err}") from None
            mode = before.mode if before else section.mode
            after[path] = None if data is None else File(data, mode)
        for path in patch.adds:
            after[path] = self.whole(path, state[path])
        return after

    def whole(self, path, before):
        source = self.root / path
        if path == MAINTAINERS:
            kernel = before.data if before else b""
            return File(maintainers.merge(kernel, source.read_bytes()))
        mode = 0o755 if source.stat().st_mode & 0o100 else 0o644
        return File(source.read_bytes(), mode, whole=True)

    def states(self):
        """[state before the first patch, after it, after the second, …]."""
        states = [self.stock_state()]
        for index in range(len(self.patches)):
            states.append(self.step(states[-1], index))
        return states

    def digest(self):
        """Changes when a tree assembled from the series would."""
        parts = []
        for patch in self.patches:
            sections = {path: sha256(s.text) for path, s in sorted(patch.sections.items())}
            parts.append([patch.name, sorted(patch.adds), sections])
        if MAINTAINERS in self.adds:
            parts.append(sha256((self.root / MAINTAINERS).read_bytes()))
        return sha256(json.dumps(parts).encode())

    def strays(self):
        """Files of the repository at a kernel path which no Adds: names."""
        out = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        paths = {path for path in out.decode().split("\0") if "/" in path}
        paths = {p for p in paths if (self.stock / p.split("/")[0]).is_dir()}
        return sorted(p for p in paths if p not in self.adds and (self.root / p).is_file())

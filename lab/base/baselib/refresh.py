# SPDX-License-Identifier: GPL-2.0
"""Write edits made in the tree back to the patch on top of it."""
from . import patchfile, stock
from .assemble import MAINTAINERS, Series, File
from .core import Fail, rel
from .worktree import Tree, describe, entry, report_new, stock_file


def refresh(name="pghot", add=False, files=(), stay=False):
    """Returns a line which says what was done."""
    stock.ensure()
    tree, series = Tree(name), Series()
    if not tree.root.is_dir():
        raise Fail(f"no {rel(tree.root)}: make tree")
    states = series.states()
    edits = chosen_edits(tree, series, states, files)
    if not edits:
        return "nothing to refresh"
    index = series.index(tree.at)
    if not index:
        raise Fail('no patch is applied to write to: lab/base/new-patch "SUBJECT"')
    top = series.patches[index - 1]
    check_unmoved(tree, top, edits, states[index])
    check_added(tree, series, top, edits, add)
    rewrite(top, edits, states[index - 1], tree)
    rest = reapply(series, states, index, top)
    left = remaining(tree, series, states, edits)
    at = tree.at if stay else None
    for patch in rest + [top]:
        patch.save()
    series = Series()
    tree.sync(series, series.states(), at, carry=left)
    also = f"; rebased {', '.join(p.name for p in rest)}" if rest else ""
    return f"{rel(top.path)}: {', '.join(sorted(edits))}{also}"


def check_unmoved(tree, top, edits, state):
    """An edit is a difference to what the tree was assembled from.

    So that must still be what the series gives for the edited files; what
    it gives for others may have changed since.
    """
    if tree.state.get("pending"):
        raise Fail("the last make tree was interrupted: run it again first")
    moved = [p for p in edits if p in state and tree.assembled(p) != entry(p, state[p])]
    if tree.state.get("top") not in (None, top.name):
        moved = list(edits)
    if moved:
        raise Fail(f"patches/ changed since make tree, for {moved[0]} too: save your edits "
                   "(lab/base/quilt diff), make tree DISCARD=1, and make them again")


def chosen_edits(tree, series, states, files):
    """{path: new File or None}, of FILES only where that is given."""
    found = tree.edits(series, states)
    report_new(found, tree.name)
    chosen = {}
    for path, kind in found.items():
        if kind == "new" or (files and path not in files):
            continue
        if kind == "broken-link" or path == MAINTAINERS:
            raise Fail(describe(path, kind, tree.name))
        chosen[path] = read_edited(tree, path)
    for path in files:
        if path not in chosen:
            raise Fail(f"{rel(tree.root)}/{path} has no edits to refresh")
    return chosen


def remaining(tree, series, states, edits):
    return [path for path, kind in tree.edits(series, states).items()
            if kind != "new" and path not in edits]


def read_edited(tree, path):
    target = tree.root / path
    if not target.exists():
        return None
    return File(target.read_bytes(), 0o755 if target.stat().st_mode & 0o100 else 0o644)


def check_added(tree, series, top, edits, add):
    """An upstream file must be quilt's before it is edited, or ADD given."""
    known = tree.added(top.name)
    strange = [p for p in edits if not series.is_ours(p) and p not in known]
    if strange and not add:
        raise Fail(f"{strange[0]} was edited without lab/base/quilt add"
                   f"{f' ({len(strange) - 1} more)' if len(strange) > 1 else ''}: "
                   "make refresh ADD=1 takes all edits into "
                   f"{top.name}, FILES='…' some")


def rewrite(top, edits, before, tree):
    """Replace the sections of edited files; the others stay as they are."""
    for path, file in edits.items():
        old = before.get(path) if path in before else stock_file(path)
        if (old and old.data) == (file and file.data):
            top.sections.pop(path, None)
            continue
        mode = file.mode if file else 0o644
        top.sections[path] = patchfile.diff(path, old and old.data, file and file.data, mode)


def reapply(series, old_states, index, top):
    """Check that the patches after TOP apply; returns those to rewrite.

    A patch whose hunks no longer apply strictly is rebased by a three-way
    merge; a conflict refuses the whole refresh.
    """
    state = series.stock_state()
    for number in range(index):
        state = series.step(state, number)
    changed = []
    for number in range(index, len(series.patches)):
        patch = series.patches[number]
        try:
            state = series.step(state, number)
        except Fail:
            rebase(patch, state, old_states[number], old_states[number + 1], top)
            changed.append(patch)
            state = series.step(state, number)
    return changed


def rebase(patch, before, old_before, old_after, top):
    """Rewrite each section of PATCH for its new context."""
    for path, section in list(patch.sections.items()):
        try:
            patchfile.apply(section, before[path] and before[path].data)
            continue
        except ValueError as err:
            sides = (before.get(path), old_before.get(path), old_after.get(path))
            merged = None
            if all(sides):
                merged = patchfile.merge3(*(side.data for side in sides))
            if merged is None:
                raise Fail(f"{patch.name}: {path}: {err}, and merging it conflicts with the "
                           f"new {top.name}: nothing was written") from None
        patch.sections[path] = patchfile.diff(path, before[path].data, merged,
                                              before[path].mode)

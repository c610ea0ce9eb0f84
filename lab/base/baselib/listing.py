# SPDX-License-Identifier: GPL-2.0
"""A tree's files at a glance: quick enough to run before every command."""
from .core import run


def listing(tree):
    """{path: (type, size, mtime)} of all that is not a directory."""
    out = run(["find", tree, "(", "-name", ".pc", "-o", "-name", ".git", ")", "-prune",
               "-o", "!", "-type", "d", "-printf", r"%P\t%y\t%s\t%T@\0"],
              f"cannot list {tree}")
    files = {}
    for row in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        path, kind, size, mtime = row.split("\t")
        files[path] = (kind, size, mtime)
    return files

# SPDX-License-Identifier: GPL-2.0
"""Merge the repository's MAINTAINERS, which holds our entry only."""
import re

from .core import Fail

# An entry is a title line followed by a line of its fields.
ENTRY = re.compile(rb"(?m)^(?![A-Z]:\t)(\S[^\n]*)\n(?=[A-Z]:[ \t])")


def sort_key(title):
    """As scripts/parse-maintainers.pl sorts: by byte, case folded."""
    return title.strip().lower()


def position(titles, title):
    """The index at which TITLE breaks the order least.

    The kernel's list is sorted by hand, with a hundred entries out of
    place: the first larger title may stand far from where ours belongs.
    """
    last = len(titles) - (titles[-1:] == [b"THE REST"])
    key = sort_key(title)
    larger = [sort_key(other) > key for other in titles[:last]]
    misplaced = larger.count(False)     # at index 0: smaller ones after it
    best, index = misplaced, 0
    for at, is_larger in enumerate(larger, 1):
        misplaced += 1 if is_larger else -1
        if misplaced < best:
            best, index = misplaced, at
    return index


def entries(ours):
    """(title, text) of each entry, blank lines and comments dropped."""
    starts = list(ENTRY.finditer(ours))
    if not starts:
        raise Fail("MAINTAINERS holds no entry: a title line, then lines like M:, L:, F:")
    ends = [match.start() for match in starts[1:]] + [len(ours)]
    for match, end in zip(starts, ends):
        text = ours[match.start():end].rstrip(b"\n") + b"\n"
        yield match[1], re.sub(rb"(?m)^#.*\n", b"", text)


def merge(kernel, ours):
    """The kernel's MAINTAINERS with our entries in alphabetical position."""
    for title, text in entries(ours):
        # The entries start after the list's heading; before it stand
        # descriptions of fields which look like entries.
        heading = re.search(rb"(?m)^Maintainers List\n-+\n", kernel)
        first = heading.end() if heading else 0
        found = list(ENTRY.finditer(kernel, first))
        titles = [match[1] for match in found]
        if title in titles:
            raise Fail(f"the kernel's MAINTAINERS has '{title.decode()}' already")
        index = position(titles, title)
        if index < len(found):
            at = found[index].start()
            kernel = kernel[:at] + text + b"\n" + kernel[at:]
        else:
            kernel = kernel.rstrip(b"\n") + b"\n\n" + text
    return kernel

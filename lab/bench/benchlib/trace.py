# SPDX-License-Identifier: GPL-2.0
"""Migrations and waits for them, read from a kernel trace in TSC ticks of 1 ns."""
import re
from collections import namedtuple

Chunk = namedtuple("Chunk", "begin end pages")
Wait = namedtuple("Wait", "begin end")

LINE = re.compile(r"\s*\S.*\s\[\d+\]\s+\S+\s+(\d+): (\w+): (.*)")


def parse(lines):
    """(chunks, waits) in the order of their ends."""
    chunks, waits, begin = [], [], None
    for line in lines:
        match = LINE.match(line)
        if not match:
            continue
        now, event = int(match[1]), match[2]
        if event == "kmigrated_batch":
            fields = dict(f.split("=") for f in match[3].split())
            chunks.append(Chunk(now - 1000 * int(fields["us"]), now, int(fields["pages"])))
        elif event == "wait":
            begin = now
        elif event == "waited" and begin is not None:
            waits.append(Wait(begin, now))
            begin = None
    return chunks, waits


def overlap(a, b):
    return min(a.end, b.end) - max(a.begin, b.begin)


def cause(wait, chunks):
    """The chunk that was moving for most of a wait, None if none was."""
    best = max(chunks, key=lambda c: overlap(wait, c), default=None)
    return best if best and overlap(wait, best) > 0 else None

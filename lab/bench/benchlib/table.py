# SPDX-License-Identifier: GPL-2.0
"""One table, as plain text and as markdown."""


def text(header, rows):
    lines = [header] + [["" if c is None else str(c) for c in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip()
                     for line in lines)


def markdown(header, rows):
    lines = [header, ["---"] * len(header)]
    lines += [["" if c is None else str(c) for c in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

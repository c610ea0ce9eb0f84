# SPDX-License-Identifier: GPL-2.0
"""Medians and spreads of a handful of numbers. None stands for "did not happen"."""
import statistics
from collections import namedtuple

# n: how many numbers; missing: how many there should have been besides.
Summary = namedtuple("Summary", "median low high n missing")


def summary(values):
    known = [v for v in values if v is not None]
    missing = len(values) - len(known)
    if not known:
        return Summary(None, None, None, 0, missing)
    return Summary(statistics.median(known), min(known), max(known), len(known), missing)


def ratio(a, b):
    """a / b, None if either did not happen; 0 against 0 is no difference."""
    if a is None or b is None:
        return None
    if b == 0:
        return 1.0 if a == 0 else None
    return a / b


def ratios(above, below):
    return [ratio(a, b) for a, b in zip(above, below)]


def control(values):
    """Each run against the one before it: what is noise in ratios()."""
    return ratios(values[1:], values[:-1])

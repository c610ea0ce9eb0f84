# SPDX-License-Identifier: GPL-2.0
"""What the check's parts share: places, results, the preconditions of a part."""
import os
from collections import namedtuple
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "check"

PASS, FAIL, SKIP = "ok", "FAIL", "skip"

# name: "KIND WHERE TEST"; detail: lines that say why.
Outcome = namedtuple("Outcome", "name status seconds detail", defaults=((),))


class Fail(Exception):
    """Something is missing or broken, in one line."""


def rel(path):
    return os.path.relpath(path, ROOT)


def log_path(name):
    """Where the output of a part goes."""
    LOGS.mkdir(parents=True, exist_ok=True)
    return LOGS / (name.replace("/", "-").replace(" ", "-") + ".log")

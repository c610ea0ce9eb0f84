# SPDX-License-Identifier: GPL-2.0
"""Prints each result as it comes, counts, and says how it ended."""
import threading

from .core import FAIL, PASS, SKIP


class Report:
    def __init__(self, write=None):
        self.write = write or (lambda text: print(text, flush=True))
        self.lock = threading.Lock()
        self.outcomes = []

    def add(self, outcome):
        lines = [f"{outcome.status:4} {outcome.seconds:6.1f} s  {outcome.name}"]
        lines += [f"        {line}" for line in outcome.detail]
        with self.lock:
            self.outcomes.append(outcome)
            self.write("\n".join(lines))

    def count(self, status):
        return sum(outcome.status == status for outcome in self.outcomes)

    def end(self):
        """Name what is not well, then the closing line; returns the exit status."""
        for outcome in self.outcomes:
            if outcome.status != PASS:
                self.write(f"{outcome.status}: {outcome.name}")
        passed, failed, skipped = (self.count(s) for s in (PASS, FAIL, SKIP))
        self.write(f"{passed} passed, {failed} failed, {skipped} skipped")
        return 0 if passed and passed == len(self.outcomes) else 1

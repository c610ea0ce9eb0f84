# SPDX-License-Identifier: GPL-2.0
"""Runs jobs, some beside each other, in the order of a list.

A job starts when all it needs has passed. One whose need failed is a failure
itself: nothing is left out quietly.
"""
import threading
import traceback
from dataclasses import dataclass, field

from .core import FAIL, PASS, Fail, Outcome


@dataclass
class Job:
    """name: also what others need; run: yields outcomes."""
    name: str
    run: object
    needs: tuple = ()
    state: str = field(default="waiting")     # running, passed, failed


class Runner:
    """beside: how many jobs at a time."""

    def __init__(self, jobs, report, beside=2):
        self.jobs, self.report, self.beside = jobs, report, beside
        self.by_name = {job.name: job for job in jobs}
        self.changed = threading.Condition()
        for job in jobs:
            for need in job.needs:
                if need not in self.by_name:
                    raise ValueError(f"{job.name} needs {need}, which is no job")

    def broken(self, job):
        """A need of JOB that failed, or None."""
        return next((n for n in job.needs if self.by_name[n].state == "failed"), None)

    def next(self):
        """The first job that may start; None when nothing waits any more."""
        with self.changed:
            while True:
                waiting = [job for job in self.jobs if job.state == "waiting"]
                if not waiting:
                    return None
                for job in waiting:
                    if self.broken(job) or all(self.by_name[n].state == "passed"
                                               for n in job.needs):
                        job.state = "running"
                        return job
                self.changed.wait()

    def one(self, job):
        good, broken = True, self.broken(job)
        try:
            if broken:
                raise Fail(f"not run: it needs '{broken}', which failed")
            for outcome in job.run():
                good &= outcome.status == PASS
                self.report.add(outcome)
        except Fail as error:
            good = False
            self.report.add(Outcome(job.name, FAIL, 0, [str(error)]))
        except Exception as error:
            good = False
            why = traceback.format_exc().strip().splitlines()[-3:]
            self.report.add(Outcome(job.name, FAIL, 0, [repr(error)] + why))
        with self.changed:
            job.state = "passed" if good else "failed"
            self.changed.notify_all()

    def work(self):
        while job := self.next():
            self.one(job)

    def run(self):
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(self.beside)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

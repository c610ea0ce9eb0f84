"""Finds splats in a kernel log.

A message counts when it starts with one of the patterns below, once the time
stamp (and the caller, if printed) is taken off; case matters.  Anchoring keeps
text that merely mentions a bug from counting.  What user space writes to
/dev/kmsg is part of the log and counts as well: a program that pretends to be
an oops had better be noticed.
"""

import fnmatch
import re
from collections import namedtuple

Splat = namedtuple("Splat", "kind line text")

PREFIX = re.compile(r"\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? ")

# (kind, pattern).  The first that matches names the splat.
PATTERNS = [(kind, re.compile(p)) for kind, p in (
    ("KASAN", r"BUG: KASAN: "),
    ("KCSAN", r"BUG: KCSAN: "),
    ("KFENCE", r"BUG: KFENCE: "),
    ("UBSAN", r"UBSAN: "),
    ("soft lockup", r"(watchdog: )?BUG: soft lockup - "),
    ("hard lockup", r"(NMI )?(watchdog: )?(CPU\d+: )?"
                    r"Watchdog detected hard LOCKUP"),
    ("bad page", r"BUG: Bad page "),
    ("lockdep", r"\[ BUG: "),
    ("lockdep", r"WARNING: (possible |inconsistent lock|suspicious RCU|"
                r"bad (unlock|contention)|Nested lock|lock held|held lock|"
                r"chain_key|\S+/\d+ still has locks|\S+-safe -> )"),
    ("lockdep", r"INFO: trying to register non-static key"),
    ("lockdep", r"DEBUG_LOCKS_WARN_ON"),
    # Some subsystems put their name first.
    ("BUG", r"(?:[a-z][\w-]*: )?BUG[: ]"),
    ("BUG", r"kernel BUG at "),
    ("WARNING", r"WARNING: "),
    ("list corruption", r"list_(add|del|cut|splice)\S* corruption"),
    ("refcount", r"refcount_t: "),
    ("ODEBUG", r"ODEBUG: Out of memory"),
    ("bad page table", r"(\S+:\d+: )?bad (pgd|p4d|pud|pmd|pte)\b"),
    ("page poison", r"pagealloc: (memory corruption|single bit error)"),
    ("slab", r"FIX \S+: "),
    ("kmemleak", r"kmemleak: \d+ new suspected memory leaks"),
    ("kmemleak", r"kmemleak: (Found object|Cannot insert|Freeing unknown|"
                 r"Partially freeing|Trying to color|Updating unknown|"
                 r"Memory pool empty|Cannot allocate)"),
    ("RCU stall", r"(rcu: )?INFO: rcu\S* (self-)?detected"),
    ("RCU stall", r"(rcu: )?(INFO: )?rcu\S* kthread (starved|timer wakeup)"),
    ("hung task", r"INFO: task \S.* blocked "),
    ("CSD lock", r"smp: csd: Detected non-responsive CSD lock"),
    ("Oops", r"Oops: |general protection fault|double fault|invalid opcode"
             r"|divide error|stack segment|int3: |kernel stack overflow"
             r"|kernel tried to execute NX|Unable to handle kernel"
             r"|(traps: )?PANIC: "),
    ("panic", r"Kernel panic - not syncing"),
    ("MSR", r"unchecked MSR access error: "),
    ("NMI", r"Uhhuh\. NMI received for unknown reason"),
    ("irq", r"irq \d+: nobody cared"),
    ("registration", r"sysfs: cannot create duplicate|"
                     r"sysctl table check failed|"
                     r"kobject_add_internal failed"),
    ("cut here", r"-+\[ cut here \]-+"),
)]


class Known:
    """The list of splats that are not ours; see the file itself."""

    def __init__(self, path):
        self.entries = []
        with open(path) as f:
            for number, line in enumerate(f, 1):
                line = line.rstrip("\n")
                if not line or line.startswith("#"):
                    continue
                fields = line.split("\t")
                if len(fields) != 3 or not all(fields):
                    raise ValueError(f"{path}:{number}: want three fields, "
                                     "separated by one tab each")
                self.entries.append((fields[0], re.compile(fields[1])))

    def has(self, kernel, text):
        return any(fnmatch.fnmatchcase(kernel, glob) and pattern.match(text)
                   for glob, pattern in self.entries)


def classify(text):
    """The kind of splat that a message starts, or None."""
    for kind, pattern in PATTERNS:
        if pattern.match(text):
            return kind
    return None


def find(log, known=None, kernel=""):
    """Splats in a log (bytes), in order, as (kind, line number, message)."""
    found, cut = [], None
    for number, line in enumerate(log.split(b"\n"), 1):
        text = line.decode("utf-8", "replace").rstrip("\r")
        text = PREFIX.sub("", text, count=1)
        kind = classify(text)
        if kind == "cut here":
            cut = Splat(kind, number, text)
            continue
        if kind and not (known and known.has(kernel, text)):
            found.append(Splat(kind, number, text))
        if kind:
            cut = None
        elif cut and number - cut.line > 3:
            found.append(cut)
            cut = None
    return found + ([cut] if cut else [])

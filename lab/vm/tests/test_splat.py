#!/usr/bin/python3
"""splat.py: each kind is seen, and nothing else is."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import splat

# Kind, and the line that gives it away, as 7.3 prints it.
SAMPLES = (
    ("KASAN", "BUG: KASAN: slab-use-after-free in foo+0x12/0x40"),
    ("KCSAN", "BUG: KCSAN: data-race in a_func / b_func"),
    ("KFENCE", "BUG: KFENCE: use-after-free read in foo+0x12/0x40"),
    ("UBSAN", "UBSAN: array-index-out-of-bounds in mm/x.c:12:3"),
    ("soft lockup", "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [sh:7]"),
    ("hard lockup", "watchdog: CPU0: Watchdog detected hard LOCKUP on cpu 1"),
    ("bad page", "BUG: Bad page state in process sh  pfn:12345"),
    ("bad page", "BUG: Bad page map in process sh  pte:80000 pmd:9"),
    ("lockdep", "[ BUG: Invalid wait context ]"),
    ("lockdep", "WARNING: possible circular locking dependency detected"),
    ("lockdep", "WARNING: possible recursive locking detected"),
    ("lockdep", "WARNING: inconsistent lock state"),
    ("lockdep", "WARNING: suspicious RCU usage"),
    ("lockdep", "WARNING: bad unlock balance detected!"),
    ("lockdep", "WARNING: lock held when returning to user space!"),
    ("lockdep", "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected"),
    ("lockdep", "WARNING: sh/12 still has locks held!"),
    ("lockdep", "INFO: trying to register non-static key."),
    ("lockdep", "DEBUG_LOCKS_WARN_ON(1)"),
    ("slab", "FIX kmalloc-64: Restoring Poison 0x1-0x2=0x6b"),
    ("BUG", "BUG: kernel NULL pointer dereference, address: 0000000000000000"),
    ("BUG", "BUG: unable to handle page fault for address: ffff888000000000"),
    ("BUG", "BUG: sleeping function called from invalid context at mm/a.c:1"),
    ("BUG", "BUG: scheduling while atomic: sh/12/0x00000002"),
    ("BUG", "BUG: spinlock bad magic on CPU#0, sh/12"),
    ("BUG", "BUG: workqueue lockup - pool cpus=0 node=0 flags=0x0 nice=0"),
    ("BUG", "BUG: using __this_cpu_read() in preemptible [00000000] code: a/1"),
    ("BUG", "BUG: Bad rss-counter state mm:00000000c0ffee type:MM_ANONPAGES"),
    ("BUG", "BUG kmalloc-64 (Not tainted): Poison overwritten"),
    ("BUG", "kernel BUG at mm/pghot/core.c:123!"),
    ("WARNING", "WARNING: mm/a.c:7 at foo+0x1/0x9, CPU#0: sh/12"),
    ("WARNING", "WARNING: CPU: 0 PID: 12 at mm/a.c:7 foo+0x1/0x9"),
    ("list corruption", "list_del corruption. prev->next should be "
                        "ffff888000000000, but was 0000000000000000."),
    ("list corruption", "list_add corruption. next is NULL."),
    ("refcount", "refcount_t: underflow; use-after-free."),
    ("ODEBUG", "ODEBUG: Out of memory. ODEBUG disabled"),
    ("bad page table", "mm/pgtable-generic.c:50: bad pmd 00000000c0ffee(80e7)"),
    ("page poison", "pagealloc: memory corruption"),
    ("kmemleak", "kmemleak: 3 new suspected memory leaks (see /sys/kernel/"
                 "debug/kmemleak)"),
    ("kmemleak", "kmemleak: Cannot allocate a kmemleak_object structure"),
    ("RCU stall", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:"),
    ("RCU stall", "rcu: INFO: rcu_preempt self-detected stall on CPU"),
    ("RCU stall", "rcu: INFO: rcu_preempt detected expedited stalls on "
                  "CPUs/tasks: { 1-.... } 25 jiffies s: 1 root: 0x2/."),
    ("RCU stall", "rcu: rcu_preempt kthread starved for 5250 jiffies! g1 f0x0"),
    ("hung task", "INFO: task sh:12 blocked for more than 120 seconds."),
    ("hung task", "INFO: task sh:12 is blocked on a mutex likely owned by "
                  "task a:2."),
    ("CSD lock", "smp: csd: Detected non-responsive CSD lock (#1) on CPU#0"),
    ("Oops", "Oops: general protection fault, probably for non-canonical "
             "address 0xdead000000000100: 0000 [#1] SMP NOPTI"),
    ("Oops", "Oops: 0002 [#1] SMP NOPTI"),
    ("Oops", "PANIC: double fault, error_code: 0x0"),
    ("panic", "Kernel panic - not syncing: sysrq triggered crash"),
    ("MSR", "unchecked MSR access error: WRMSR to 0xc0011033 at rIP: 0x1"),
    ("NMI", "Uhhuh. NMI received for unknown reason 2d on CPU 0."),
    ("irq", "irq 16: nobody cared (try booting with the \"irqpoll\" option)"),
    ("registration", "sysfs: cannot create duplicate filename '/kernel/mm/x'"),
    ("cut here", "------------[ cut here ]------------"),
)

# Messages that look like trouble and are none of ours.
CLEAN = (
    "traps: prog[123] general protection fault ip:401136 sp:7ffc error:0",
    "prog[123]: segfault at 0 ip 0000000000401136 sp 00007ffc error 4",
    "perf: interrupt took too long (2503 > 2500), lowering rate to 79000",
    "INFO: NMI handler (perf_ibs_nmi_handler) took too long to run: 1.2 msecs",
    "kmemleak: Kernel memory leak detector initialized (mem pool available)",
    "kmemleak: Automatic memory scanning thread started",
    "ODEBUG: selftest passed",
    "rcu: Preemptible hierarchical RCU implementation.",
    "rcu: \tRCU lockdep checking is enabled.",
    "NMI watchdog: Enabled. Permanently consumes one hw-PMU counter.",
    "ACPI BIOS Error (bug): Could not resolve symbol",
    "[Firmware Bug]: TSC frequency mismatch",
    "workqueue: kmigrated hogged CPU for >10000us 4 times",
    "Memory cgroup out of memory: Killed process 12 (prog)",
    "page dumped because: migration failure",
    "mm: a warning: nothing, WARNING: not at the start",
    "test: expecting 'BUG: KASAN: ' here",
    "warning: lower case", "bug: lower case", "Bug: mixed case",
    "watchdog: Delayed init of the lockup detector failed: -19",
    "# BUG: a line of a test's output",
    "Bad things happen",
)


def stamped(text, caller=""):
    return f"[   12.345678]{caller} {text}"


def kinds(*lines, **kw):
    log = "\n".join(lines).encode()
    return [s.kind for s in splat.find(log, **kw)]


class Samples(unittest.TestCase):
    def test_each_kind(self):
        for kind, line in SAMPLES:
            for text in (line, stamped(line), stamped(line, "[   T12]"),
                         stamped(line, "[    C1]"), stamped(line) + "\r"):
                with self.subTest(text):
                    self.assertEqual(kinds(text), [kind])

    def test_every_pattern_has_a_sample(self):
        used = set()
        for _, line in SAMPLES:
            used.add(next(i for i, (_, p) in enumerate(splat.PATTERNS)
                          if p.match(line)))
        unused = [p.pattern for i, (_, p) in enumerate(splat.PATTERNS)
                  if i not in used]
        self.assertEqual(unused, [])

    def test_clean(self):
        for line in CLEAN:
            with self.subTest(line):
                self.assertEqual(kinds(line, stamped(line)), [])

    def test_anchored(self):
        for _, line in SAMPLES:
            with self.subTest(line):
                self.assertEqual(kinds(stamped("x " + line)), [])
                self.assertEqual(kinds(stamped(" " + line)), [])

    def test_case_matters(self):
        for _, line in SAMPLES:
            with self.subTest(line):
                self.assertEqual(kinds(stamped(line.swapcase())), [])

    def test_clean_log(self):
        with open(os.path.join(HERE, "samples", "stock.log"), "rb") as f:
            self.assertEqual(splat.find(f.read()), [])

    def test_clean_log_with_each_sample(self):
        with open(os.path.join(HERE, "samples", "stock.log"), "rb") as f:
            lines = f.read().split(b"\n")
        for kind, line in SAMPLES:
            with self.subTest(line):
                half = len(lines) // 2
                log = lines[:half] + [stamped(line).encode()] + lines[half:]
                found = splat.find(b"\n".join(log))
                self.assertEqual([(s.kind, s.line) for s in found],
                                 [(kind, half + 1)])

    def test_binary_in_log(self):
        self.assertEqual([s.kind for s in splat.find(
            b"\xff\xfe\0\n[    1.000000] WARNING: a\n")], ["WARNING"])


class KnownList(unittest.TestCase):
    def known(self, text):
        with tempfile.NamedTemporaryFile("w") as f:
            f.write(text)
            f.flush()
            return splat.Known(f.name)

    def test_known_splat_does_not_count(self):
        known = self.known("# why\n\nbase*\tWARNING: mm/a\\.c\tstock has it\n")
        lines = (stamped("------------[ cut here ]------------"),
                 stamped("WARNING: mm/a.c:7 at foo"))
        self.assertEqual(kinds(*lines, known=known, kernel="base"), [])
        self.assertEqual(kinds(*lines, known=known, kernel="pghot"),
                         ["WARNING"])
        other = stamped("WARNING: mm/b.c:7 at foo")
        self.assertEqual(kinds(*lines, other, known=known, kernel="base"),
                         ["WARNING"])

    def test_entry_needs_a_reason(self):
        for text in ("base\tWARNING: x\n", "base\tWARNING: x\t\n", "x\n"):
            with self.assertRaises(ValueError):
                self.known(text)

    def test_list_is_well_formed(self):
        splat.Known(os.path.join(os.path.dirname(HERE), "known-splats"))


if __name__ == "__main__":
    unittest.main()

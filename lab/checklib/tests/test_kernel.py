# SPDX-License-Identifier: GPL-2.0
"""What a selftest cannot see from inside: looked at from beside it."""
import os
import subprocess
import unittest

from checklib import selftests
from checklib.core import ROOT

KERNEL = os.environ.get("CHECK_KERNEL", "pghot")
# Fills 16 MiB of the slow node, has it promoted, switches balancing off.
PROMOTE = "pghot_counters -r counters.success >/dev/null 2>&1"

MAPS = r"""
t=/sys/kernel/tracing
echo 65536 > $t/buffer_size_kb
echo 'bytes_req == 32768 || bytes_req == 131072' > $t/events/kmem/kmalloc/filter
echo 1 > $t/events/kmem/kmalloc/enable
echo 1 > $t/events/kmem/kfree/enable
PROMOTE || echo failed
echo 0 > $t/tracing_on
awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^ptr=/) ptr = $i }
     / kmalloc: call_site=kmigrated_alloc/ { made++; there[ptr] = 1 }
     / kfree: / { delete there[ptr] }
     END { for (p in there) left++; print made + 0, left + 0 }' $t/trace
"""

SCHEDULER = r"""
PROMOTE & test=$!
most=0
while [ -d /proc/$test ]; do
	now=$(cat /proc/[0-9]*/task/*/sched 2>/dev/null |
		awk '/^numa_pages_migrated/ { n += $3 } END { print n + 0 }')
	[ $now -gt $most ] && most=$now
	usleep 50000
done
wait $test || echo failed
echo $most
"""


class Beside(unittest.TestCase):
    """Boots the kernel pghot once for each test."""

    def setUp(self):
        self.assertEqual(selftests.build(), [])

    def guest(self, script):
        program = os.path.join(selftests.runner.OUT, "pghot_counters")
        scale = selftests.runner.busy()
        script = script.replace("PROMOTE", f"PGHOT_TIME_SCALE={scale} {PROMOTE}")
        done = subprocess.run([ROOT / "lab/vm/run", "--kernel", KERNEL, "--timeout",
                               str(120 * scale), "--with", program, "--", "sh", "-c", script],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("failed", done.stdout)
        return [int(word) for word in done.stdout.split()]

    def test_every_map_is_freed(self):
        made, left = self.guest(MAPS)
        self.assertGreater(made, 0)
        self.assertEqual(left, 0, f"{left} of {made} maps are still there when pghot is off")

    def test_scheduler_hears_of_promotions(self):
        """Or it takes a promoted page for a failed migration, and scans on."""
        most, = self.guest(SCHEDULER)
        self.assertGreater(most, 1000)

# SPDX-License-Identifier: GPL-2.0
"""On a machine that cannot show anything a selftest fails, and says why."""
import copy
import os
import unittest

from checklib import selftests
from checklib.core import FAIL

KERNEL = os.environ.get("CHECK_KERNEL", "pghot")


class OneTier(unittest.TestCase):
    """Boots the kernel pghot once."""

    def test_fails_without_a_lower_tier(self):
        self.assertEqual(selftests.build(), [])
        plan = copy.copy(selftests.plan("boot@2dram+cxl"))
        plan.topology = "flat"
        found = list(selftests.run(plan, KERNEL, selftests.runner.busy()))
        self.assertGreater(len(found), 1)
        self.assertEqual({one.status for one in found}, {FAIL})
        for one in found:
            self.assertIn("precondition: not 1 lower-tier node", " ".join(one.detail))

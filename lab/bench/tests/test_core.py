# SPDX-License-Identifier: GPL-2.0
import unittest

from benchlib import core


class Config(unittest.TestCase):
    def test_options_of_pghot_are_no_difference(self):
        one = {"CONFIG_NUMA": "y"}
        other = dict(one, CONFIG_PGHOT="y", CONFIG_KUNIT="y")
        self.assertEqual(core.other_options(one, other), [])

    def test_other_options_are(self):
        self.assertEqual(core.other_options({"CONFIG_NUMA": "y"}, {"CONFIG_INET": "y"}),
                         ["CONFIG_INET", "CONFIG_NUMA"])

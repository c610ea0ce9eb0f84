# SPDX-License-Identifier: GPL-2.0
import unittest

from benchlib import guest, plot, stats, table


class Stats(unittest.TestCase):
    def test_summary_counts_what_did_not_happen(self):
        self.assertEqual(stats.summary([3, None, 1, 2]), (2, 1, 3, 3, 1))
        self.assertEqual(stats.summary([None]), (None, None, None, 0, 1))

    def test_ratio_of_nothing(self):
        self.assertEqual(stats.ratio(0, 0), 1.0)
        self.assertIsNone(stats.ratio(5, 0))
        self.assertIsNone(stats.ratio(None, 1))
        self.assertIsNone(stats.ratio(1, None))

    def test_control_pairs_neighbours(self):
        self.assertEqual(stats.control([1, 2, 4, 2]), [2, 2, 0.5])

    def test_ratios_stop_at_the_shorter(self):
        self.assertEqual(stats.ratios([1, 2], [1, 1, 1]), [1, 2])


class Lines(unittest.TestCase):
    def test_only_whole_objects_are_events(self):
        self.assertEqual(guest.parse('{"event":"end"}\n'), {"event": "end"})
        self.assertIsNone(guest.parse('{"event":"en'))
        self.assertIsNone(guest.parse("vm: BUG in log"))


class Output(unittest.TestCase):
    def test_table(self):
        rows = [["a", 1], ["long", None]]
        self.assertEqual(table.text(["x", "y"], rows), "x     y\na     1\nlong")
        self.assertEqual(table.markdown(["x", "y"], rows),
                         "| x | y |\n| --- | --- |\n| a | 1 |\n| long |  |")

    def test_plot_holds_its_data(self):
        text = plot.script("o.png", "t", "x", "y", (0, 1), [("a", [(0, 1)]), ("b", [(2, 3)])])
        self.assertIn("$data1 << EOD\n2 3\nEOD\n", text)
        self.assertIn('title "b"', text)

# SPDX-License-Identifier: GPL-2.0
"""make refresh and new-patch: edits go where they belong, or nowhere."""
import unittest

from fixture import Lab, numbers


class Refresh(Lab):
    def setUp(self):
        super().setUp()
        self.own("mm/own.h", "int b;\n")
        self.patch("0001-a.patch", self.diff("mm/own.h", None, "int a;\n"),
                   self.diff("mm/memory.c", numbers(), numbers(l10="ten")))
        self.patch("0002-b.patch",
                   self.diff("mm/memory.c", numbers(l10="ten"), numbers(l10="ten", l14="fourteen")),
                   adds="mm/own.h")

    def text(self, name):
        return (self.root / "patches" / name).read_text()

    def test_top_patch_takes_the_edit(self):
        self.tool("tree")
        message = self.text("0002-b.patch").split("\n---\n")[0]
        self.edit("mm/memory.c", "fourteen", "XIV")
        self.tool("refresh")
        self.assertIn("+XIV\n", self.text("0002-b.patch"))
        self.assertEqual(self.text("0002-b.patch").split("\n---\n")[0], message)
        self.tool("tree")
        self.assertEqual(self.tool("refresh").strip(), "nothing to refresh")

    def test_at_keeps_interim_hunks_and_reapplies_the_rest(self):
        self.tool("tree", "--at", "1")
        self.edit("mm/memory.c", "ten\n11\n", "ten\nelf\n")
        self.assertIn("rebased 0002-b.patch", self.tool("refresh"))
        self.assertIn("+int a;\n", self.text("0001-a.patch"))
        self.assertIn("+elf\n", self.text("0001-a.patch"))
        self.assertEqual((self.tree / "mm/memory.c").read_text(),
                         numbers(l10="ten", l11="elf", l14="fourteen"))
        self.assertTrue((self.tree / "mm/own.h").is_symlink())

    def test_stay(self):
        self.tool("tree", "--at", "1")
        self.edit("mm/memory.c", "ten", "X")
        self.tool("refresh", "--stay")
        self.assertEqual((self.tree / "mm/memory.c").read_text(), numbers(l10="X"))

    def test_interim_file_is_refreshed(self):
        self.tool("tree", "--at", "1")
        self.edit("mm/own.h", "int a", "int interim")
        self.tool("refresh")
        self.assertIn("+int interim;\n", self.text("0001-a.patch"))

    def test_conflict_with_a_later_patch_writes_nothing(self):
        self.tool("tree", "--at", "1")
        before = self.text("0001-a.patch")
        self.edit("mm/memory.c", "\n14\n", "\nXIV\n")
        self.refused("refresh", saying="0002-b.patch: mm/memory.c: .*conflicts.*nothing was written")
        self.assertEqual(self.text("0001-a.patch"), before)
        self.assertIn("XIV", (self.tree / "mm/memory.c").read_text())

    def test_file_quilt_does_not_know_is_refused(self):
        self.tool("tree")
        self.edit("mm/vmscan.c", "20", "twenty")
        self.refused("refresh", saying="mm/vmscan.c was edited without lab/base/quilt add")
        self.tool("refresh", "--add")
        self.assertIn("+twenty\n", self.text("0002-b.patch"))

    def test_quilt_add_then_edit(self):
        self.tool("tree")
        self.tool("quilt", "add", "mm/vmscan.c")
        self.edit("mm/vmscan.c", "20", "twenty")
        self.assertIn("+twenty", self.tool("quilt", "diff"))
        self.tool("refresh")
        self.assertIn("+twenty\n", self.text("0002-b.patch"))

    def test_undone_change_leaves_the_patch(self):
        self.tool("tree")
        self.edit("mm/memory.c", "fourteen", "14")
        self.tool("refresh")
        self.assertNotIn("mm/memory.c", self.text("0002-b.patch"))

    def test_only_some_files(self):
        self.tool("tree")
        self.edit("mm/vmscan.c", "20", "twenty")
        self.edit("mm/memory.c", "fourteen", "XIV")
        self.tool("refresh", "mm/memory.c")
        self.assertIn("+XIV\n", self.text("0002-b.patch"))
        self.assertNotIn("twenty", self.text("0002-b.patch"))
        self.assertIn("twenty", (self.tree / "mm/vmscan.c").read_text())

    def test_series_that_moved_is_refused(self):
        self.tool("tree")
        self.edit("mm/memory.c", "fourteen", "XIV")
        path = self.root / "patches/0001-a.patch"
        path.write_text(path.read_text().replace("+ten", "+TEN"))
        later = self.root / "patches/0002-b.patch"
        later.write_text(later.read_text().replace("ten", "TEN", 1).replace(" ten", " TEN"))
        self.refused("refresh", saying="patches/ changed since make tree")

    def test_patch_on_top_that_is_another_is_refused(self):
        self.tool("tree")
        self.edit("mm/memory.c", "fourteen", "XIV")
        self.patch("0003-c.patch", self.diff("mm/vmscan.c", numbers(), numbers(l1="one")))
        self.refused("refresh", saying="patches/ changed since make tree")

    def test_adds_may_change_meanwhile(self):
        self.tool("tree")
        self.edit("mm/memory.c", "fourteen", "XIV")
        self.own("mm/new.c", "int n;\n")
        path = self.root / "patches/0002-b.patch"
        path.write_text(path.read_text().replace("Adds: ", "Adds: mm/new.c "))
        self.tool("refresh")
        self.assertIn("+XIV\n", path.read_text())
        self.assertTrue((self.tree / "mm/new.c").is_symlink())

    def test_message_may_change_meanwhile(self):
        self.tool("tree")
        self.edit("mm/memory.c", "fourteen", "XIV")
        path = self.root / "patches/0002-b.patch"
        path.write_text(path.read_text().replace("Why.", "Because."))
        self.tool("refresh")
        self.assertIn("Because.", path.read_text())

    def test_links_never_enter_a_patch(self):
        self.tool("tree")
        self.own("mm/own.h", "int changed;\n")
        self.assertEqual(self.tool("refresh", "--add").strip(), "nothing to refresh")


class NewPatch(Lab):
    def test_a_tree_edited_by_hand_becomes_a_patch(self):
        stock = self.root / "build/src/stock"
        self.tool("tree")
        (self.root / "build/state/tree-pghot.json").unlink()
        self.edit("mm/memory.c", "\n10\n", "\nten\n")
        self.assertEqual(self.tool("new-patch", "mm: Some Thing").strip(),
                         "patches/0001-mm-some-thing.patch")
        self.assertIn("ten", (self.tree / "mm/memory.c").read_text())
        self.assertNotIn("ten", (stock / "mm/memory.c").read_text())
        self.tool("refresh", "--add")
        text = (self.root / "patches/0001-mm-some-thing.patch").read_text()
        self.assertIn("Subject: mm: Some Thing\n", text)
        self.assertIn("+ten\n", text)
        self.tool("tree")

    def test_between_two(self):
        self.patch("0010-a.patch", self.diff("mm/memory.c", numbers(), numbers(l1="one")))
        self.patch("0020-b.patch", self.diff("mm/vmscan.c", numbers(), numbers(l1="one")))
        self.tool("tree", "--at", "10")
        self.tool("new-patch", "mm: between")
        self.assertEqual((self.root / "patches/series").read_text().split(),
                         ["0010-a.patch", "0011-mm-between.patch", "0020-b.patch"])
        self.assertIn("0011", self.tool("quilt", "top"))

    def test_edits_of_the_patch_before_are_not_stolen(self):
        self.patch("0001-a.patch", self.diff("mm/memory.c", numbers(), numbers(l1="one")))
        self.tool("tree")
        self.edit("mm/memory.c", "one", "eins")
        self.refused("new-patch", "mm: next", saying="has edits for 0001-a.patch: make refresh")


if __name__ == "__main__":
    unittest.main()

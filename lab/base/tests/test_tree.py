# SPDX-License-Identifier: GPL-2.0
"""make tree: assembly, strictness, AT=, and never losing an edit."""
import os
import unittest

from fixture import Lab, numbers

KCONFIG1, KCONFIG2 = "config A\n", "config A\nconfig B\n"


class Assembly(Lab):
    def three_patches(self):
        self.own("mm/hot/Kconfig", KCONFIG2)
        self.own("mm/hot/core.c", "int core;\n")
        self.own("MAINTAINERS", "PGHOT\nM:\tP <p@example.org>\nF:\tmm/hot/\n")
        self.patch("0001-first.patch", self.diff("mm/hot/Kconfig", None, KCONFIG1),
                   self.diff("mm/memory.c", numbers(), numbers(l10="ten")))
        self.patch("0002-second.patch", adds="mm/hot/core.c MAINTAINERS")
        self.patch("0003-third.patch",
                   self.diff("mm/memory.c", numbers(l10="ten"), numbers(l10="ten", l30="thirty")),
                   adds="mm/hot/Kconfig")

    def test_whole_series(self):
        self.three_patches()
        self.tool("tree")
        self.assertEqual((self.tree / "mm/memory.c").read_text(),
                         numbers(l10="ten", l30="thirty"))
        for path in ("mm/hot/Kconfig", "mm/hot/core.c"):
            link = self.tree / path
            self.assertTrue(link.is_symlink())
            self.assertFalse(os.readlink(link).startswith("/"), "clones move")
            self.assertEqual(link.resolve(), (self.root / path).resolve())
        self.assertFalse((self.tree / "MAINTAINERS").is_symlink())

    def test_at_uses_interim_hunks(self):
        self.three_patches()
        self.tool("tree", "--at", "0001")
        kconfig = self.tree / "mm/hot/Kconfig"
        self.assertFalse(kconfig.is_symlink())
        self.assertEqual(kconfig.read_text(), KCONFIG1)
        self.assertFalse((self.tree / "mm/hot/core.c").exists())
        self.assertEqual((self.tree / "mm/memory.c").read_text(), numbers(l10="ten"))
        self.assertNotIn("PGHOT", (self.tree / "MAINTAINERS").read_text())
        self.tool("tree", "--at", "2")
        self.assertTrue((self.tree / "mm/hot/core.c").is_symlink())
        self.assertFalse(kconfig.is_symlink())
        self.tool("tree")
        self.assertTrue(kconfig.is_symlink())
        self.tool("tree", "--at", "0000")
        self.assertFalse((self.tree / "mm/hot").exists())
        self.assertEqual((self.tree / "mm/memory.c").read_text(), numbers())

    def test_maintainers_in_alphabetical_position(self):
        self.three_patches()
        self.tool("tree")
        text = (self.tree / "MAINTAINERS").read_text()
        order = [text.index(word) for word in ("AARDVARK", "\n\nPGHOT\nM:", "\n\nZEBRA\n")]
        self.assertEqual(order, sorted(order))
        self.assertIn("F:\tmm/hot/\n\nZEBRA", text)
        self.own("MAINTAINERS", "ZOO\nM:\tP <p@example.org>\n")
        self.tool("tree")
        text = (self.tree / "MAINTAINERS").read_text()
        self.assertNotIn("PGHOT", text)
        self.assertIn("F:\tz/\n\nZOO\nM:\tP <p@example.org>\n\nTHE REST", text)

    def test_unchanged_files_keep_their_times(self):
        self.three_patches()
        self.tool("tree")
        for path in ("mm/vmscan.c", "mm/memory.c"):
            os.utime(self.tree / path, (1e9, 1e9))
        self.patch("0004-more.patch", self.diff("mm/vmscan.c", numbers(), numbers(l1="one")))
        self.tool("tree")
        self.assertEqual((self.tree / "mm/memory.c").stat().st_mtime, 1e9)
        self.assertGreater((self.tree / "mm/vmscan.c").stat().st_mtime, 1e9)

    def test_file_behind_a_link_looks_new_after_its_interim(self):
        self.three_patches()
        self.tool("tree", "--at", "1")
        os.utime(self.root / "mm/hot/Kconfig", (1e9, 1e9))
        self.tool("tree")
        self.assertGreater((self.tree / "mm/hot/Kconfig").stat().st_mtime, 1e9)

    def test_quilt_sees_upstream_hunks_only(self):
        self.three_patches()
        self.tool("tree", "--at", "1")
        self.assertEqual(self.tool("quilt", "files").split(), ["mm/memory.c"])
        self.assertEqual(self.tool("quilt", "applied").split(), ["0001-first.patch"])
        self.assertEqual(self.tool("quilt", "unapplied").split(),
                         ["0002-second.patch", "0003-third.patch"])


class Strictness(Lab):
    def test_fuzz_is_refused(self):
        good = self.diff("mm/memory.c", numbers(), numbers(l10="ten"))
        self.patch("0001-fuzzy.patch", good.replace("\n 7\n", "\n seven\n"))
        self.refused("tree", saying="0001-fuzzy.patch: mm/memory.c: hunk 1 .*without fuzz")

    def test_offset_is_accepted(self):
        good = self.diff("mm/memory.c", numbers(), numbers(l10="ten"))
        self.patch("0001-offset.patch", good.replace("@@ -7,7 +7,7 @@", "@@ -9,7 +9,7 @@"))
        self.tool("tree")
        self.assertEqual((self.tree / "mm/memory.c").read_text(), numbers(l10="ten"))

    def test_cut_hunk_is_refused(self):
        good = self.diff("mm/memory.c", numbers(), numbers(l10="ten"))
        self.patch("0001-cut.patch", good[:-4])
        self.refused("tree", saying="0001-cut.patch: .*counts")

    def test_two_adds_are_refused(self):
        self.own("mm/own.c", "int a;\n")
        self.patch("0001-a.patch", adds="mm/own.c")
        self.patch("0002-b.patch", adds="mm/own.c")
        self.refused("tree", saying="mm/own.c stands in two Adds: lines")

    def test_hunks_after_adds_are_refused(self):
        self.own("mm/own.h", "int a;\n")
        self.patch("0001-a.patch", adds="mm/own.h")
        self.patch("0002-b.patch", self.diff("mm/own.h", "int a;\n", "int b;\n"))
        self.refused("tree", saying="0002-b.patch: hunks for mm/own.h")

    def test_adds_of_nothing_or_of_stock_is_refused(self):
        self.patch("0001-a.patch", adds="mm/none.c")
        self.refused("tree", saying="Adds: mm/none.c, which is not a file")
        self.own("mm/none.c", "")
        self.tool("tree")
        self.own("mm/memory.c", "")
        self.patch("0002-b.patch", adds="mm/memory.c")
        self.refused("tree", saying="Adds: mm/memory.c, which stock has")

    def test_unknown_number(self):
        self.refused("tree", "--at", "7", saying="no patch 7 in patches/series")


class Edits(Lab):
    def setUp(self):
        super().setUp()
        self.own("mm/own.c", "int a;\n")
        self.patch("0001-a.patch", self.diff("mm/memory.c", numbers(), numbers(l10="ten")),
                   adds="mm/own.c")
        self.tool("tree")

    def test_dirty_tree_is_refused_and_kept(self):
        for path, old in (("mm/memory.c", "ten"), ("mm/vmscan.c", "20")):
            self.edit(path, old, "edited")
            self.refused("tree", saying=f"{path} has edits that are not in patches/: make refresh")
            self.refused("tree", "--at", "0", saying="make refresh")
            self.assertIn("edited", (self.tree / path).read_text())
            self.tool("tree", "--discard")
            self.assertNotIn("edited", (self.tree / path).read_text())

    def test_build_keeps_edits_when_the_series_moves_elsewhere(self):
        self.edit("mm/memory.c", "ten", "edited")
        self.patch("0002-b.patch", self.diff("mm/vmscan.c", numbers(), numbers(l1="one")))
        self.tool("tree", "--soft")
        self.assertIn("edited", (self.tree / "mm/memory.c").read_text())
        self.assertIn("one", (self.tree / "mm/vmscan.c").read_text())
        self.refused("tree", saying="mm/memory.c has edits")

    def test_build_refuses_when_the_series_moves_under_an_edit(self):
        self.edit("mm/memory.c", "ten", "edited")
        self.patch("0002-b.patch", self.diff("mm/memory.c", numbers(l10="ten"),
                                             numbers(l10="ten", l1="one")))
        self.refused("tree", "--soft", saying="mm/memory.c has edits and the series changes it")
        self.assertIn("edited", (self.tree / "mm/memory.c").read_text())

    def test_removed_file_is_an_edit(self):
        (self.tree / "mm/vmscan.c").unlink()
        self.refused("tree", saying="mm/vmscan.c has edits")

    def test_build_tolerates_edits(self):
        self.edit("mm/memory.c", "ten", "edited")
        self.tool("tree", "--soft")
        self.assertIn("edited", (self.tree / "mm/memory.c").read_text())

    def test_link_that_became_a_file(self):
        link = self.tree / "mm/own.c"
        link.unlink()
        link.write_text("int b;\n")
        self.refused("tree", saying="mm/own.c is no longer a link.*mv ")
        link.rename(self.root / "mm/own.c")
        self.tool("tree")
        self.assertTrue(link.is_symlink())
        self.assertEqual(link.read_text(), "int b;\n")

    def test_file_made_in_the_tree_is_reported_and_kept(self):
        self.write(self.tree / "mm/new.c", "int new;\n")
        self.assertRegex(self.tool("tree"), "mm/new.c in no patch")
        self.assertTrue((self.tree / "mm/new.c").exists())

    def test_interrupted_sync_is_repaired(self):
        state = self.root / "build/state/tree-pghot.json"
        before = state.read_text()
        self.patch("0002-b.patch", self.diff("mm/vmscan.c", numbers(), numbers(l1="one")))
        self.tool("tree")
        state.write_text(before)    # as if it died before the record
        self.tool("tree")
        self.assertIn("0002", self.tool("quilt", "top"))


class Stock(Lab):
    def test_interrupted_unpack_is_not_trusted(self):
        self.tool("fetch")
        stamp = self.root / "build/state/stock.json"
        stamp.unlink()
        (self.root / "build/src/stock/mm/memory.c").unlink()
        self.write(self.root / "build/src/.stock.1.tmp/half", "")
        self.tool("fetch")
        self.assertTrue((self.root / "build/src/stock/mm/memory.c").exists())
        self.assertFalse((self.root / "build/src/.stock.1.tmp").exists())

    def test_killed_unpack_leaves_no_stamp(self):
        self.tool("fetch")
        self.write(self.linux / "mm/vmscan.c", numbers(l2="two"))
        killer = self.home / "bin/rsync"
        self.write(killer, "#!/bin/sh\nkill -9 $PPID\n")
        killer.chmod(0o755)
        self.tool("fetch", status=-9, PATH=f"{killer.parent}:{os.environ['PATH']}")
        self.assertFalse((self.root / "build/state/stock.json").exists())
        self.tool("fetch")
        self.assertIn("two", (self.root / "build/src/stock/mm/vmscan.c").read_text())

    def test_broken_tarball_leaves_nothing(self):
        tarball = self.home / "linux.tar"
        tarball.write_bytes(b"no tar")
        out = self.tool("fetch", status=1, LINUX_SOURCE=str(tarball))
        self.assertIn("cannot unpack", out)
        self.assertEqual(list((self.root / "build/src").iterdir()), [])
        self.assertFalse((self.root / "build/state/stock.json").exists())

    def test_other_version_warns(self):
        makefile = self.linux / "Makefile"
        makefile.write_text(makefile.read_text().replace("= 4", "= 9"))
        self.assertRegex(self.tool("fetch"), "warning: Linux 7.3.9 is not the one last tested")

    def test_missing_source(self):
        out = self.tool("fetch", status=1, LINUX_SOURCE="/nonexistent")
        self.assertIn("LINUX_SOURCE names /nonexistent, which does not exist", out)

    def test_new_stock_makes_a_new_tree_and_keeps_the_old(self):
        self.tool("tree")
        self.edit("mm/memory.c", "10\n", "edited\n")
        self.write(self.linux / "mm/vmscan.c", numbers(l2="two"))
        self.tool("tree")
        self.assertIn("two", (self.tree / "mm/vmscan.c").read_text())
        kept = list((self.root / "build/src").glob("pghot.*.old/mm/memory.c"))
        self.assertIn("edited", kept[0].read_text())


if __name__ == "__main__":
    unittest.main()

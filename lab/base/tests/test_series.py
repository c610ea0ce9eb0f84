# SPDX-License-Identifier: GPL-2.0
"""make series, and the parts that need no kernel to be tested."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from fixture import BASE, Lab, numbers

sys.path.insert(0, str(BASE))
from baselib import aptsource, core, kernel, lint, maintainers, stock  # noqa: E402


class Mails(Lab):
    def setUp(self):
        super().setUp()
        self.own("mm/own.h", "int b;\n")
        self.own("mm/run.sh", "#!/bin/sh\n")
        (self.root / "mm/run.sh").chmod(0o755)
        self.own("MAINTAINERS", "PGHOT\nM:\tP <p@example.org>\n")
        self.patch("0001-a.patch", self.diff("mm/own.h", None, "int a;\n"),
                   self.diff("mm/memory.c", numbers(), numbers(l10="ten")))
        self.patch("0002-b.patch", adds="mm/own.h mm/run.sh MAINTAINERS")
        self.own("patches/cover-letter", "Subject: mm: pages\n\nThe reason.\n")

    def test_git_am_gives_the_tree(self):
        self.tool("series")
        mails = sorted((self.root / "build/series").iterdir())
        self.assertEqual([m.name for m in mails],
                         ["0000-cover-letter.patch", "0001-mm-a.patch", "0002-mm-b.patch"])
        self.assertIn("Subject: [PATCH 0/2] mm: pages\n\nThe reason.\n", mails[0].read_text())
        self.assertNotIn("Adds:", mails[2].read_text())
        # By other means than the tool's own proof.
        fresh = self.home / "fresh"
        shutil.copytree(self.linux, fresh)
        git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "stock"],
                        ["am", "-q", *mails[1:]]):
            subprocess.run(git + command, cwd=fresh, check=True)
        self.assertEqual((fresh / "mm/own.h").read_text(), "int b;\n")
        self.assertTrue(os.access(fresh / "mm/run.sh", os.X_OK))
        self.assertEqual((fresh / "mm/memory.c").read_text(), numbers(l10="ten"))
        self.assertIn("PGHOT", (fresh / "MAINTAINERS").read_text())

    def test_same_bytes_again(self):
        self.tool("series")
        first = (self.root / "build/series/0002-mm-b.patch").read_bytes()
        self.tool("series")
        self.assertEqual((self.root / "build/series/0002-mm-b.patch").read_bytes(), first)

    def test_file_in_no_adds_is_refused(self):
        self.own("mm/stray.c", "int s;\n")
        self.refused("series", saying="mm/stray.c stands in no Adds: line")

    def test_unsigned_is_refused(self):
        path = self.root / "patches/0001-a.patch"
        path.write_text(path.read_text().replace("Signed-off-by", "Seen-by"))
        self.refused("series", saying="0001-a.patch: no Signed-off-by: line")

    def test_no_cover_letter(self):
        (self.root / "patches/cover-letter").unlink()
        self.refused("series", saying="no patches/cover-letter")

    def test_failure_keeps_the_last_good_series(self):
        self.tool("series")
        self.own("mm/stray.c", "int s;\n")
        self.tool("series", status=1)
        self.assertTrue((self.root / "build/series/0001-mm-a.patch").exists())


class Tools(Lab):
    def test_missing_tool(self):
        tools = self.home / "bin"
        tools.mkdir()
        for name in ("find", "cp", "rsync", "git"):
            (tools / name).symlink_to(shutil.which(name))
        out = self.tool("quilt", "top", status=1)
        self.assertIn("run make tree first", out)
        (tools / "find").unlink()
        out = self.tool("tree", status=1, PATH=str(tools))
        self.assertIn("find is not installed: run lab/base/setup", out)

    def test_setup_names_what_is_missing(self):
        tools = self.home / "bin"
        tools.mkdir()
        self.write(tools / "dpkg-query", '#!/bin/sh\n[ "$4" = quilt ] || echo installed\n')
        self.write(tools / "id", "#!/bin/sh\necho 1000\n")
        for path in tools.iterdir():
            path.chmod(0o755)
        path = f"{tools}:{os.environ['PATH']}"
        out = self.tool("setup", status=1, PATH=path)
        self.assertIn("not root and missing: quilt; install them as root", out)

    def test_setup_is_silent_when_all_is_there(self):
        tools = self.home / "bin"
        self.write(tools / "dpkg-query", "#!/bin/sh\necho installed\n")
        (tools / "dpkg-query").chmod(0o755)
        self.assertEqual(self.tool("setup", PATH=f"{tools}:{os.environ['PATH']}"), "")

    def test_unknown_kernel(self):
        self.refused("build", "nosuch", saying="no kernel 'nosuch': one of base", status=2)


class NoSuite(Lab):
    """Debian answers, but no suite has a released 7.3 any more."""

    def setUp(self):
        super().setUp()
        for name, text in (("apt-get", ""), ("dpkg-query", "echo installed"),
                           ("apt-cache", "echo 'x | 7.3~rc7-1~exp1 | y'")):
            self.write(self.home / "bin" / name, f"#!/bin/sh\n{text}\n")
            (self.home / "bin" / name).chmod(0o755)
        self.write(self.home / "etc/sources.list", "deb http://m/debian sid main\n")
        del self.env["LINUX_SOURCE"]
        self.env.update(PATH=f"{self.home}/bin:{os.environ['PATH']}",
                        APT_ETC=str(self.home / "etc"))
        self.write(self.root / "Makefile", "check:\n\t@echo source: $(LINUX_SOURCE)\n")
        shutil.copytree(BASE.parents[1] / ".ci", self.root / ".ci")

    def test_fetch_says_so(self):
        self.refused("fetch", saying="no suite of .* has a released .*LINUX_SOURCE", status=3)

    def test_ci_takes_the_kept_copy(self):
        self.refused("../../.ci/run", saying="no suite of", status=3)
        kept = self.home / "shared/linux-source-7.3.tar.xz"
        self.write(kept, "")
        self.assertIn(f"source: {kept}\n", self.tool("../../.ci/run"))

    def test_ci_stops_on_any_other_failure(self):
        self.write(self.home / "shared/linux-source-7.3.tar.xz", "")
        self.write(self.home / "bin/apt-get", "#!/bin/sh\necho 'E: no network' >&2\nexit 100\n")
        self.refused("../../.ci/run", saying="cannot read Debian's package lists.*E: no network")


class Parts(unittest.TestCase):
    def test_newest_release(self):
        found = ["7.3~rc7-1~exp1", "7.3.4-1~bpo13+1", "7.3.10-1", "7.3.9-2", "7.30.1-1", "7.2.13-1"]
        self.assertEqual(stock.newest(found), "7.3.10-1")
        self.assertEqual(stock.newest(["7.3-1"]), "7.3-1")
        self.assertIsNone(stock.newest(["7.3~rc7-1~exp1", "7.2.13-1"]))

    def mirror(self, name, text):
        with tempfile.TemporaryDirectory() as etc:
            (Path(etc) / "sources.list.d").mkdir()
            (Path(etc) / name).write_text(text)
            return aptsource.mirror(etc)

    def test_mirror_one_line(self):
        self.assertEqual(self.mirror("sources.list",
                                     "# deb http://no bookworm main\n"
                                     "deb http://other/x nodistro main\n"
                                     "deb [arch=amd64 signed-by=/k] http://sec bookworm-security main\n"
                                     "deb [arch=amd64] http://yes/debian bookworm main # c\n"),
                         "http://yes/debian")

    def test_mirror_deb822(self):
        self.assertEqual(self.mirror("sources.list.d/debian.sources",
                                     "Types: deb\nURIs: http://off\nSuites: sid\nEnabled: no\n\n"
                                     "Types: deb-src\nURIs: http://src\nSuites: sid\n\n"
                                     "Types: deb\n# a comment\nURIs: http://yes/debian\n"
                                     "Suites: bookworm bookworm-updates\nComponents: main\n"),
                         "http://yes/debian")

    def test_no_mirror(self):
        with self.assertRaisesRegex(core.Fail, "no Debian mirror"):
            self.mirror("sources.list", "deb http://x nodistro main\n")

    def test_option_that_did_not_stick_is_named(self):
        final = kernel.parse_config("CONFIG_A=y\n# CONFIG_B is not set\n")
        kernel.verify(final, {"A": "y", "B": "n", "C": "n"})
        for options, name in (({"B": "y"}, "CONFIG_B=y"), ({"A": "n"}, "CONFIG_A=n"),
                              ({"C": "y"}, "CONFIG_C=y")):
            with self.assertRaisesRegex(core.Fail, name):
                kernel.verify(final, options)

    def test_option_of_ours_may_come_later_in_the_series(self):
        kernel.verify({}, {"PGHOT_PRECISE": "y"}, kernel.OURS)
        with self.assertRaises(core.Fail):
            kernel.verify({}, {"NUMA": "y"}, kernel.OURS)
        with self.assertRaises(core.Fail):
            kernel.verify({"PGHOT": "n"}, {"PGHOT": "y"}, kernel.OURS)

    def test_a_seed_is_copied_without_stamps_and_with_its_new_path(self):
        with tempfile.TemporaryDirectory() as folder:
            here = Path(folder)
            seed, out = here / "seed", here / "out"
            files = {kernel.IMAGE: "image", ".stock": "key", ".fragments": "f",
                     "mm/.a.o.cmd": f"{seed}/x", "tools/o/.b.o.cmd": f"cc {seed}/b.c"}
            for name, text in files.items():
                (seed / name).parent.mkdir(parents=True, exist_ok=True)
                (seed / name).write_text(text)
            with mock.patch.object(stock, "read_stamp", lambda: {"key": "other"}):
                kernel.sow(seed, out)
            self.assertFalse(out.exists(), "a seed of another stock kernel")
            with mock.patch.object(stock, "read_stamp", lambda: {"key": "key"}):
                kernel.sow(seed, out)
            self.assertEqual((out / "tools/o/.b.o.cmd").read_text(), f"cc {out}/b.c")
            self.assertEqual((out / kernel.IMAGE).read_text(), "image")
            self.assertFalse((out / ".stock").exists() or (out / ".fragments").exists())

    def test_maintainers_amid_misplaced_entries(self):
        body = b"".join(b"%s\nM:\tx\n\n" % t for t in (b"A", b"Z", b"B", b"C", b"Q", b"R"))
        merged = maintainers.merge(body, b"P\nM:\tp\n")
        self.assertIn(b"C\nM:\tx\n\nP\nM:\tp\n\nQ\n", merged)

    def test_maintainers_twice(self):
        with self.assertRaisesRegex(core.Fail, "has 'P' already"):
            maintainers.merge(b"P\nM:\tx\n", b"P\nM:\tx\n")

    def test_lint_sees_a_file_that_was_not_checked(self):
        output = "  CHECK   ../x/mm/pghot/core.c\n  CC      mm/pghot/record.o\n"
        self.assertEqual(lint.unchecked(output, ["mm/pghot/core.o", "mm/pghot/record.o"]),
                         ["mm/pghot/record.o"])


if __name__ == "__main__":
    unittest.main()

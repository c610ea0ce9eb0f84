# SPDX-License-Identifier: GPL-2.0
"""build and bisect, with a make that only pretends."""
import os
import unittest

from fixture import Lab, numbers

# Writes down each target; the config is the fragments, but for CONFIG_LOST.
MAKE = """\
#!/bin/sh
for word; do
	case "$word" in
	O=*) out=${word#O=} ;;
	esac
	target=$word
done
echo "$target" >> "$out/../targets"
case "$target" in
allnoconfig) sed /CONFIG_LOST/d "$out/fragments.config" > "$out/.config" ;;
bzImage)
	if grep -q BROKEN "$2/mm/memory.c" 2>/dev/null; then
		echo "mm/memory.c:10:1: error: unknown type name 'BROKEN'"
		exit 2
	fi
	mkdir -p "$out/arch/x86/boot" && : > "$out/arch/x86/boot/bzImage" ;;
esac
"""
RUN = '#!/bin/sh\n! grep -q HANGS build/src/bisect/mm/memory.c || exit 124\n'


class Kernels(Lab):
    def setUp(self):
        super().setUp()
        self.script(self.home / "bin/make", MAKE)
        self.env["PATH"] = f"{self.home}/bin:{os.environ['PATH']}"
        self.own("lab/configs/base.config", "CONFIG_NUMA=y\n# CONFIG_EXPERT is not set\n")
        self.own("lab/configs/pghot.config", "CONFIG_PGHOT=y\n")
        self.patch("0001-a.patch", self.diff("mm/memory.c", numbers(), numbers(l10="ten")))

    def script(self, path, text):
        self.write(path, text)
        path.chmod(0o755)

    def targets(self):
        path = self.root / "build/out/targets"
        words = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return words


class Build(Kernels):
    def test_configures_only_when_a_fragment_changed(self):
        self.assertIn("build/out/pghot/arch/x86/boot/bzImage", self.tool("build", "pghot"))
        self.assertEqual(self.targets(), ["allnoconfig", "bzImage"])
        self.tool("build", "pghot")
        self.assertEqual(self.targets(), ["bzImage"])
        self.own("lab/configs/pghot.config", "CONFIG_PGHOT=y\nCONFIG_KUNIT=y\n")
        self.tool("build", "pghot")
        self.assertEqual(self.targets(), ["allnoconfig", "bzImage"])
        self.own("mm/pghot/Kconfig", "config NEW\n")
        self.tool("build", "pghot")
        self.assertEqual(self.targets(), ["allnoconfig", "bzImage"])

    def test_lost_option_is_named_each_time(self):
        self.own("lab/configs/base.config", "CONFIG_LOST=y\n")
        for _ in range(2):
            self.refused("build", "base", saying="CONFIG_LOST=y is asked for by lab/configs")

    def test_another_fragment_wins_when_it_comes_later(self):
        self.own("lab/configs/pghot.config", "CONFIG_NUMA=n\n")
        self.tool("build", "pghot")
        config = (self.root / "build/out/pghot/.config").read_text()
        self.assertEqual(config, "# CONFIG_NUMA is not set\n# CONFIG_EXPERT is not set\n")

    def test_compile_error_is_shown(self):
        self.tool("build", "pghot")
        self.edit("mm/memory.c", "ten", "BROKEN")
        self.refused("build", "pghot", saying="error: unknown type name 'BROKEN'\n"
                                              ".*failed: see build/out/pghot.log")

    def test_new_stock_empties_the_output(self):
        self.tool("build", "base")
        left = self.root / "build/out/base/old.o"
        left.write_text("")
        self.tool("build", "base")
        self.assertTrue(left.exists())
        self.write(self.linux / "mm/vmscan.c", numbers(l2="two"))
        self.tool("build", "base")
        self.assertFalse(left.exists())

    def test_missing_fragment(self):
        self.refused("build", "debug", saying="no lab/configs/debug.config")


class Bisect(Kernels):
    def setUp(self):
        super().setUp()
        self.script(self.root / "lab/vm/run", RUN)

    def second(self, word):
        self.patch("0002-b.patch", self.diff("mm/memory.c", numbers(l10="ten"),
                                             numbers(l10="ten", l20=word)))

    def test_every_commit(self):
        self.second("fine")
        out = self.tool("bisect")
        self.assertRegex(out, "0001: builds and boots\n(?s:.*)0002: builds and boots")
        self.assertNotIn("0001", self.tool("bisect", "--from", "2"))

    def test_commit_that_does_not_build_or_boot_is_named(self):
        self.second("BROKEN")
        self.refused("bisect", saying="at 0002: make bzImage failed")
        (self.root / "patches/series").write_text("0001-a.patch\n")
        self.second("HANGS")
        self.refused("bisect", saying="at 0002: the kernel does not boot .*status 124")


if __name__ == "__main__":
    unittest.main()

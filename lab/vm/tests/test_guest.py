#!/usr/bin/python3
"""run, with real guests on the stock kernel.

Boots some twenty guests, a few seconds each.  LAB_KERNEL names another kernel
than `base`.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
VM = os.path.dirname(HERE)
sys.path.insert(0, VM)

import topology

RUN = os.path.join(VM, "run")
CACHE = os.path.join(os.path.dirname(os.path.dirname(VM)), "build", "vm")
KERNEL = os.environ.get("LAB_KERNEL", "base")
LKDTM = "/sys/kernel/debug/provoke-crash/DIRECT"


def vm(*command, opts=(), **kw):
    return subprocess.run([RUN, "--kernel", KERNEL, *opts, "--", *command],
                          capture_output=True, **kw)


class Usage(unittest.TestCase):
    def refused(self, argv, *words):
        r = subprocess.run([RUN, *argv], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout), (125, ""), argv)
        self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
        for w in words:
            self.assertIn(w, r.stderr)

    def test_refusals(self):
        base = ["--kernel", KERNEL]
        self.refused([], "no command")
        self.refused(base + ["true"], "--")
        self.refused(["--bad", "--", "true"], "--bad")
        self.refused(["--kernel", "nosuch", "--", "true"], "make kernel-nosuch")
        self.refused(base + ["--topology", "x", "--", "true"],
                     "unknown topology", "2dram+cxl-big")
        self.refused(base + ["--cpu", "ibs", "--", "true"], "make qemu")
        self.refused(base + ["--cpu", "x", "--", "true"], "memprof")
        self.refused(base + ["--qemu", "/nosuch", "--", "true"], "/nosuch")
        self.refused(base + ["--with", "/nosuch", "--", "true"], "/nosuch")
        self.refused(base + ["--share", "/nosuch", "--", "true"], "/nosuch")
        self.refused(base + ["--timeout", "x", "--", "true"], "--timeout")
        self.refused(base + ["--qemu", "/bin/false", "--", "true"], "QEMU")


class Command(unittest.TestCase):
    def test_streams_and_status(self):
        r = vm("sh", "-c", "echo out; echo err >&2; exit 7")
        self.assertEqual((r.returncode, r.stdout), (7, b"out\n"))
        self.assertIn(b"err\n", r.stderr)

    def test_binary_and_large(self):
        script = "head -c 3000000 /dev/zero | tr '\\0' '\\377'; printf '\\0\\r\\n'"
        r = vm("sh", "-c", script)
        self.assertEqual(r.returncode, 0)
        self.assertEqual(len(r.stdout), 3000003)
        self.assertEqual(set(r.stdout[:3000000]), {255})
        self.assertEqual(r.stdout[3000000:], b"\0\r\n")

    def test_words_stay_words(self):
        r = vm("printf", "%s|", "a b", "$HOME", "", "'\"")
        self.assertEqual(r.stdout, b"a b|$HOME||'\"|")

    def test_one_word_may_be_a_script(self):
        self.assertEqual(vm("echo a; echo b | tr b c").stdout, b"a\nc\n")

    def test_not_found(self):
        self.assertEqual(vm("nosuch").returncode, 127)

    def test_killed_by_signal(self):
        self.assertEqual(vm("sh", "-c", "kill -9 $$").returncode, 137)

    def test_daemon_left_behind(self):
        r = vm("sh", "-c", "sleep 1000 & echo started", timeout=60)
        self.assertEqual((r.returncode, r.stdout), (0, b"started\n"))

    def test_root_and_mounts(self):
        r = vm("id -u; stat -f -c %T /proc /sys/kernel/debug /sys/fs/cgroup "
               "/sys/kernel/tracing /tmp /dev/shm; ls /dev/null")
        self.assertEqual(r.stdout.split()[0], b"0")
        self.assertEqual(r.returncode, 0, r)
        self.assertIn(b"tmpfs", r.stdout)

    def test_share(self):
        with tempfile.TemporaryDirectory(prefix="a,b ") as d:
            with open(os.path.join(d, "in"), "w") as f:
                f.write("hello")
            r = vm("cat /share/in; echo back > /share/out",
                   opts=("--share", d))
            self.assertEqual((r.returncode, r.stdout), (0, b"hello"))
            with open(os.path.join(d, "out")) as f:
                self.assertEqual(f.read(), "back\n")

    def test_with(self):
        with tempfile.TemporaryDirectory() as d:
            os.mkdir(os.path.join(d, "tree"))
            for name, mode in (("tree/data", 0o644), ("tree/prog", 0o755),
                               ("plain", 0o644), ("mine", 0o755)):
                path = os.path.join(d, name)
                with open(path, "w") as f:
                    f.write("#!/bin/bash\necho ${BASH_VERSION:+bash} " + name)
                os.chmod(path, mode)
            opts = []
            for name in ("tree", "plain", "mine"):
                opts += ["--with", os.path.join(d, name)]
            r = vm("mine && /with/tree/prog && grep -c tree /with/tree/data "
                   "&& test -f /with/plain", opts=opts)
        self.assertEqual((r.returncode, r.stdout),
                         (0, b"bash mine\nbash tree/prog\n1\n"), r)


class End(unittest.TestCase):
    def test_timeout(self):
        begin = time.monotonic()
        r = vm("sleep", "1000", opts=("--timeout", "8"))
        self.assertEqual(r.returncode, 124, r)
        self.assertLess(time.monotonic() - begin, 10)

    def test_dies(self):
        self.assertEqual(vm("reboot -f; sleep 100").returncode, 98)

    def test_fails_to_boot(self):
        r = vm("true", opts=("--append", "rdinit=/bin/false"))
        self.assertEqual(r.returncode, 99, r)    # init died: a panic

    def test_kmsg_counts(self):
        r = vm("echo 'WARNING: pretended' > /dev/kmsg")
        self.assertEqual(r.returncode, 99)
        self.assertIn(b"pretended", r.stderr)

    def test_splat_wins_over_timeout(self):
        r = vm(f"echo WARNING > {LKDTM}; sleep 100", opts=("--timeout", "10"))
        self.assertEqual(r.returncode, 99, r)

    def test_splat_wins_over_status_on_a_quiet_console(self):
        r = vm(f"dmesg -n 1; echo WARNING > {LKDTM}; exit 3",
               opts=("--append", "quiet loglevel=1"))
        self.assertEqual(r.returncode, 99, r)

    def test_panic(self):
        r = vm("echo c > /proc/sysrq-trigger; sleep 100")
        self.assertEqual(r.returncode, 99, r)
        self.assertIn(b"sysrq", r.stderr)

    def test_signal_leaves_nothing(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            p = subprocess.Popen([RUN, "--kernel", KERNEL, "--", "sleep", "99"],
                                 stderr=subprocess.DEVNULL)
            qemu = self.child_of(p.pid)
            p.send_signal(number)
            p.wait(10)
            self.assertTrue(self.gone(qemu), f"signal {number}")

    def child_of(self, pid):
        end = time.monotonic() + 15
        while time.monotonic() < end:
            time.sleep(0.1)
            with open(f"/proc/{pid}/task/{pid}/children") as f:
                for child in f.read().split():
                    if "qemu" in os.readlink(f"/proc/{child}/exe"):
                        return int(child)
        self.fail("no QEMU")

    def gone(self, pid):
        for _ in range(50):
            if not os.path.exists(f"/proc/{pid}"):
                return True
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
            time.sleep(0.1)
        return False

    def test_icount_repeats(self):
        logs = []
        for _ in range(2):
            r = vm("cat /proc/vmstat", opts=("--icount", "--verbose"))
            self.assertEqual(r.returncode, 0, r)
            with open(r.stderr.split()[-1], "rb") as f:
                logs.append((r.stdout, f.read()))
        self.assertEqual(logs[0], logs[1])

    def test_two_at_once(self):
        cmd = [RUN, "--kernel", KERNEL, "--verbose", "--", "cat",
               "/proc/sys/kernel/random/boot_id"]
        both = [subprocess.Popen(cmd, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for _ in range(2)]
        outs = [p.communicate() for p in both]
        self.assertEqual([p.returncode for p in both], [0, 0], outs)
        self.assertEqual(len({o for o, _ in outs}), 2)
        self.assertTrue(os.path.exists(os.path.join(CACHE, "last.log")))


class Provoked(unittest.TestCase):
    """Real splats of a real kernel."""

    def provoke(self, what, word):
        r = vm(f"echo {what} > {LKDTM}; sleep 2", opts=("--timeout", "60"))
        self.assertEqual(r.returncode, 99, (what, r))
        self.assertIn(word, r.stderr)

    def test_warning(self):
        self.provoke("WARNING", b"WARNING: ")

    def test_warning_with_message(self):
        self.provoke("WARNING_MESSAGE", b"WARNING: ")

    def test_bug(self):
        self.provoke("BUG", b"kernel BUG at ")

    def test_oops(self):
        self.provoke("EXCEPTION", b"BUG: kernel NULL pointer")

    def test_panic(self):
        self.provoke("PANIC", b"Kernel panic")

    def test_soft_lockup(self):
        r = vm("echo 1 > /proc/sys/kernel/watchdog_thresh; "
               f"echo SOFTLOCKUP > {LKDTM}", opts=("--timeout", "25"))
        self.assertEqual(r.returncode, 99, r)
        self.assertIn(b"soft lockup", r.stderr)

    def test_hung_task(self):
        r = vm("echo 2 > /proc/sys/kernel/hung_task_timeout_secs; "
               f"echo HUNG_TASK > {LKDTM} & sleep 8")
        self.assertEqual(r.returncode, 99, r)
        self.assertIn(b"hung task", r.stderr)


class Topology(unittest.TestCase):
    SHOW = ("cd /sys/devices/system/node; "
            "echo memory $(cat has_memory); "
            "for n in node*; do echo cpus ${n#node} $(cat $n/cpulist); done; "
            "for t in /sys/devices/virtual/memory_tiering/memory_tier*; do "
            "echo tier ${t##*tier} $(cat $t/nodelist); done")

    @staticmethod
    def spread(text):
        out = []
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            out += range(int(first), int(last or first) + 1)
        return out

    def show(self, name):
        r = vm(self.SHOW, opts=("--topology", name))
        self.assertEqual(r.returncode, 0, r)
        out = r.stdout.decode()
        memory = self.spread(re.search(r"^memory (\S*)", out, re.M)[1])
        cpus = {int(n): len(self.spread(c)) for n, c in
                re.findall(r"^cpus (\d+) ?(\S*)$", out, re.M)}
        tiers = {int(t): self.spread(n) for t, n in
                 re.findall(r"^tier (\d+) ?(\S*)$", out, re.M)}
        return memory, cpus, {t: n for t, n in tiers.items() if n}

    def check(self, name):
        nodes = topology.TABLE[name]
        speed = topology.expected_tiers(name)
        memory, cpus, tiers = self.show(name)
        self.assertEqual(memory, sorted(speed))
        self.assertEqual(cpus, {i: n.cpus for i, n in enumerate(nodes)})
        want = {4: [n for n in speed if speed[n] == "fast"],
                450: [n for n in speed if speed[n] == "slow"]}
        self.assertEqual(tiers, {t: n for t, n in want.items() if n})

    def test_every_topology(self):
        for name in topology.names():
            with self.subTest(name):
                self.check(name)


if __name__ == "__main__":
    unittest.main()

"""Which accelerator a guest gets: KVM where it is known to work, else TCG.

A /dev/kvm that opens and then hangs its guest in the firmware exists, so a
probe guest must boot within PROBE_S.  The answer is kept for this boot of this
machine and this QEMU, and asked again otherwise.
"""

import fcntl
import hashlib
import os

PROBE_S = 10

TCG = ["-accel", "tcg,thread=multi"]
KVM = ["-accel", "kvm"]
# One thread, time counted in instructions, nothing taken from the host.
ICOUNT = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off",
          "-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]


def _read(path):
    try:
        with open(path) as f:
            return f.read().strip()
    except OSError:
        return ""


def _place(qemu):
    st = os.stat(qemu)
    key = " ".join((_read("/proc/sys/kernel/random/boot_id"),
                    _read("/etc/machine-id"), os.path.abspath(qemu),
                    str(st.st_size), str(st.st_mtime_ns)))
    return hashlib.sha256(key.encode()).hexdigest()[:16]


def kvm_works(cache, qemu, boots):
    """boots(seconds) starts a KVM guest and says whether it came up."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    path = os.path.join(cache, f"kvm-{_place(qemu)}")
    with open(os.path.join(cache, "kvm.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = _read(path)
        if answer not in ("yes", "no"):
            answer = "yes" if boots(PROBE_S) else "no"
            with open(path, "w") as f:
                f.write(answer + "\n")
    return answer == "yes"

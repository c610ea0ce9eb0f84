# SPDX-License-Identifier: GPL-2.0
"""What instruction counting needs to be near a real machine's proportions.

QEMU counts each round of `rep movsb` as an instruction: at 1 ns each, a copy by
it runs at 1 GB/s, and 2 MiB take 2.1 ms. Without these two CPU features the
kernel copies with a loop of moves instead, some 3.5 GB/s: nearer to what a core
reads from CXL memory.
"""
APPEND = "clearcpuid=erms,fsrm"
NOTE = f"{APPEND}, as QEMU counts one instruction for each byte of rep movsb"

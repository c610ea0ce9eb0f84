"""The machines a guest can be: NUMA nodes, their CPUs, memory and speed.

A topology is a table entry, nothing else; qemu_args() turns one into QEMU
options and kernel_args() into what the guest's command line needs.  What the
options must look like was found out the hard way:

 - one memory backend per node, or the kernel rejects the HMAT and sees one
   tier;
 - each CPU node in its own socket, or topology_sane() warns;
 - an HMAT latency and bandwidth for every initiator/target pair.
"""

from collections import namedtuple

# size in MiB; cpus: how many; slow: a lower-tier node; hidden: the kernel is
# not given the memory; near: for a node without CPUs, the CPU node beside it.
Node = namedtuple("Node", "size cpus slow hidden near")


def dram(size, cpus=1, hidden=False):
    return Node(size, cpus, False, hidden, None)


def plain(size, near=0):
    """Memory as fast as DRAM on a node that has no CPU."""
    return Node(size, 0, False, False, near)


def cxl(size, near=0):
    return Node(size, 0, True, False, near)


TABLE = {
    "2dram+cxl": (dram(1024), dram(1024), cxl(1024)),
    "2dram+cxl-big": (dram(3072), dram(2048), cxl(2048)),
    "dram+cxl": (dram(1024, cpus=2), cxl(1024)),
    "2dram+2cxl": (dram(1024), dram(1024), cxl(1024), cxl(1024, near=1)),
    # The third node has no CPU and yet is no lower tier: lacking CPUs is not
    # what makes memory slow.
    "flat": (dram(1024), dram(1024), plain(1024)),
    "memoryless": (dram(1024), dram(1024, hidden=True), cxl(1024)),
}

DEFAULT = "2dram+cxl"

# Nanoseconds, and bytes a second, from a CPU to memory.
LOCAL = (10, "10G")
REMOTE = (20, "5G")
SLOW = (100, "1G")


def names():
    return sorted(TABLE)


def _speed(nodes, initiator, target):
    if nodes[target].slow:
        return SLOW
    if target == initiator or nodes[target].near == initiator:
        return LOCAL
    return REMOTE


def _distance(nodes, a, b):
    """SLIT distance: 20 between CPU nodes, 30 to the memory beside a CPU
    node, 40 to another's, 50 between two nodes without CPUs."""
    if a == b:
        return 10
    bare = [n for n in (a, b) if not nodes[n].cpus]
    if not bare:
        return 20
    if len(bare) == 2:
        return 50
    return 30 if nodes[bare[0]].near in (a, b) else 40


def _layout(nodes):
    """[(start, size)] of each node's memory in bytes.  q35 puts 2 GiB below
    the PCI hole when there are 2.75 GiB or more, everything otherwise; a node
    across the hole has no single range and gets None."""
    total = sum(n.size for n in nodes) << 20
    low = 0x80000000 if total >= 0xb0000000 else 0xb0000000
    out, at = [], 0
    for n in nodes:
        size = n.size << 20
        if at < low < at + size:
            out.append(None)
        else:
            out.append((at if at < low else at - low + (1 << 32), size))
        at += size
    return out


def _nodes(name):
    nodes = TABLE[name]
    args, cpu = [], 0
    for i, n in enumerate(nodes):
        args += ["-object", f"memory-backend-ram,id=m{i},size={n.size}M"]
        opt = f"node,nodeid={i},memdev=m{i}"
        if n.cpus:
            last = cpu + n.cpus - 1
            opt += f",cpus={cpu}" + (f"-{last}" if last > cpu else "")
            cpu = last + 1
        opt += f",initiator={i if n.cpus else n.near}"
        args += ["-numa", opt]
    return args


def _pairs(name):
    nodes, args = TABLE[name], []
    for a in range(len(nodes)):
        for b in range(len(nodes)):
            if a != b:
                d = _distance(nodes, a, b)
                args += ["-numa", f"dist,src={a},dst={b},val={d}"]
    for a in (i for i, n in enumerate(nodes) if n.cpus):
        for b in range(len(nodes)):
            lat, bw = _speed(nodes, a, b)
            lb = f"hmat-lb,initiator={a},target={b},hierarchy=memory"
            args += ["-numa", f"{lb},data-type=access-latency,latency={lat}",
                     "-numa", f"{lb},data-type=access-bandwidth,bandwidth={bw}"]
    return args


def qemu_args(name):
    nodes = TABLE[name]
    cpus = sum(n.cpus for n in nodes)
    sockets = sum(1 for n in nodes if n.cpus)
    return (["-smp", f"{cpus},sockets={sockets}",
             "-m", f"{sum(n.size for n in nodes)}M"]
            + _nodes(name) + _pairs(name))


def kernel_args(name):
    nodes = TABLE[name]
    return [f"memmap={size:#x}${start:#x}"
            for n, (start, size) in _hidden(nodes)]


def _hidden(nodes):
    where = _layout(nodes)
    return [(n, w) for n, w in zip(nodes, where) if n.hidden]


def expected_tiers(name):
    """{node: 'fast' or 'slow'} of the nodes the kernel sees memory on."""
    return {i: "slow" if n.slow else "fast"
            for i, n in enumerate(TABLE[name]) if not n.hidden}

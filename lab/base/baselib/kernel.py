# SPDX-License-Identifier: GPL-2.0
"""Out-of-tree kernel builds: build/out/NAME, from a tree and config fragments."""
import os
import re
import shutil
import subprocess
import sys

from . import stock, worktree
from .core import BUILD, CONFIGS, ROOT, SRC, Fail, lock, rel, run, sha256, write_atomic

OUT = BUILD / "out"
IMAGE = "arch/x86/boot/bzImage"

# NAME: (tree under build/src, fragments of lab/configs in order; later wins)
KERNELS = {
    "base": ("stock", ["base"]),
    "pghot": ("pghot", ["base", "pghot"]),
    "pghot-precise": ("pghot", ["base", "pghot", "precise"]),
    "pghot-off": ("pghot", ["base"]),
    "debug": ("pghot", ["base", "pghot", "debug"]),
    "kcsan": ("pghot", ["base", "pghot", "kcsan"]),
    "stock-debug": ("stock", ["base", "debug"]),
    "stock-kcsan": ("stock", ["base", "kcsan"]),
    "lint": ("pghot", ["base", "pghot"]),
}

# Kernels that begin as a copy of another one of the same tree: kbuild then
# compiles only what depends on an option in which they differ.
SEEDS = {"pghot-precise": "pghot", "pghot-off": "pghot"}

# Options of ours, which earlier commits of the series do not have yet.
OURS = re.compile(r"(PGHOT|AMD_IBS_HWHINT|AMD_IBS_MEMPROF)(_|$)")

ENVIRONMENT = {
    "CCACHE_BASEDIR": str(ROOT),
    "CCACHE_NOHASHDIR": "1",
    # What a miss costs counts: a preprocessor run for each would make the first
    # build longer by a quarter.  Kernels of one tree share by SEEDS instead.
    "CCACHE_DEPEND": "1",
    "CCACHE_MAXSIZE": "8G",
    "CCACHE_SLOPPINESS": "time_macros",
    "KBUILD_BUILD_TIMESTAMP": "2000-01-01 00:00:00 UTC",
    "KBUILD_BUILD_VERSION": "1",
    "KBUILD_BUILD_USER": "pghot",
    "KBUILD_BUILD_HOST": "lab",
    "LC_ALL": "C",
}


def fragment_options(names):
    """{option: value} of fragments; 'n' where one says 'is not set'."""
    options = {}
    for name in names:
        path = CONFIGS / f"{name}.config"
        if not path.exists():
            raise Fail(f"no {rel(path)}: it is a fragment that this kernel needs")
        options.update(parse_config(path.read_text()))
    return options


def parse_config(text):
    """{option: value} of a .config or a fragment."""
    options = {}
    pattern = r"(?m)^(?:CONFIG_(\w+)=(.*?)|# CONFIG_(\w+) is not set)[ \t]*$"
    for match in re.finditer(pattern, text):
        options[match[1] or match[3]] = match[2] if match[1] else "n"
    return options


def config_text(options):
    lines = [f"# CONFIG_{name} is not set\n" if value == "n" else f"CONFIG_{name}={value}\n"
             for name, value in options.items()]
    return "".join(lines).encode()


def environment():
    env = {k: v for k, v in os.environ.items()
           if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "O", "ARCH", "CROSS_COMPILE")}
    env.update(ENVIRONMENT)
    return env


def make(tree, out, log, *arguments):
    """Run kbuild, its output to LOG; on failure show the lines that matter."""
    command = ["make", "-C", str(tree), f"O={out}", f"-j{os.cpu_count()}",
               "CC=ccache gcc", "HOSTCC=ccache gcc", *arguments]
    with open(log, "ab") as stream:
        status = subprocess.call(command, stdout=stream, stderr=subprocess.STDOUT,
                                 stdin=subprocess.DEVNULL, env=environment())
    if status:
        show_error(log)
        raise Fail(f"make {' '.join(arguments)} failed: see {rel(log)}")


def show_error(log):
    lines = log.read_text(errors="replace").splitlines()
    telling = [l for l in lines if re.search(r"\berror\b|undefined reference|\*\*\*", l, re.I)]
    for line in (telling or lines)[:20]:
        print(line, file=sys.stderr)


def configure(tree, out, log, options, missing_ok=None):
    """A .config with the fragments on top of allnoconfig, made when needed.

    Every option must come out as asked, or the name of it is the error.
    MISSING_OK: a pattern of options the tree may not know yet.
    """
    text = config_text(options)
    stamp, config = out / ".fragments", out / ".config"
    key = sha256(text + str(missing_ok).encode()).encode()
    known = stamp.exists() and config.exists() and stamp.read_bytes() == key
    if known and not kconfig_changed(tree, stamp):
        return
    stamp.unlink(missing_ok=True)
    write_atomic(out / "fragments.config", text)
    make(tree, out, log, f"KCONFIG_ALLCONFIG={out}/fragments.config", "allnoconfig")
    verify(parse_config(config.read_text()), options, missing_ok)
    write_atomic(stamp, key)


def kconfig_changed(tree, stamp):
    """Did any Kconfig file change since? It may know an option that it did not."""
    places = [tree] + [ROOT / part for part in ("mm", "arch") if (ROOT / part).is_dir()]
    return bool(run(["find", *places, "-name", "Kconfig*", "-newer", stamp, "-print", "-quit"],
                    "cannot look for changed Kconfig files"))


def verify(final, options, missing_ok=None):
    for name, value in options.items():
        if final.get(name, "n") == value:
            continue
        if missing_ok and missing_ok.match(name) and name not in final:
            continue
        raise Fail(f"CONFIG_{name}={value} is asked for by lab/configs, but the kernel's "
                   f"configuration gives {final.get(name, 'n')}: a dependency is missing, "
                   "or the name is wrong")


def of_this_stock(out):
    """Files of a new release may be older than objects built before."""
    stamp = out / ".stock"
    return stamp.exists() and stamp.read_bytes() == stock.read_stamp()["key"].encode()


def prepare_out(name):
    """The output folder; emptied when another stock kernel came in."""
    out = OUT / name
    if of_this_stock(out):
        return out
    if out.exists():
        shutil.rmtree(out)
    if name in SEEDS:
        sow(OUT / SEEDS[name], out)
    out.mkdir(parents=True, exist_ok=True)
    write_atomic(out / ".stock", stock.read_stamp()["key"].encode())
    return out


def sow(seed, out):
    """Copy a finished build, but for its stamps, and tell the copy its path."""
    with lock(f"build-{seed.name}"):
        if not (of_this_stock(seed) and (seed / IMAGE).exists()):
            return
        run(["rsync", "-a", "--exclude=/.stock", "--exclude=/.fragments",
             f"{seed}/", out], f"cannot copy {rel(seed)}")
    # Commands of tools/ name the folder; another objtool would recompile all.
    for command in (out / "tools").rglob(".*.cmd"):
        command.write_text(command.read_text().replace(f"{seed}/", f"{out}/"))


def source_tree(tree_name):
    """The path of a tree, assembled if the series changed since."""
    with lock("stock"):
        if tree_name == "stock":
            stock.ensure()
            return SRC / "stock"
        with lock(f"tree-{tree_name}"):
            tree = worktree.update(tree_name, soft=True)
    if tree.at:
        print(f"note: {rel(tree.root)} stands at {tree.at}", file=sys.stderr)
    return tree.root


def build(name):
    """Build kernel NAME; returns the path of its bzImage."""
    if name not in KERNELS:
        raise Fail(f"no kernel '{name}': one of {', '.join(KERNELS)}", 2)
    tree_name, fragments = KERNELS[name]
    return build_tree(name, source_tree(tree_name), fragment_options(fragments))


def build_tree(name, tree, options, missing_ok=None):
    with lock(f"build-{name}"):
        out = prepare_out(name)
        log = OUT / f"{name}.log"
        log.write_bytes(b"")
        configure(tree, out, log, options, missing_ok)
        make(tree, out, log, "bzImage")
        image = out / IMAGE
        if not image.exists():
            raise Fail(f"the build made no {rel(image)}: see {rel(log)}")
        return image

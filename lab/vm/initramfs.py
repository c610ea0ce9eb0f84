"""The guest's root: a base archive, built once, and what one run adds.

The kernel unpacks archives laid end to end in order, so the base (busybox, the
agent, init) is kept under build/vm/ and each run only packs its own files.
The tree is merged as Debian's is: /bin, /sbin, /usr/bin and /usr/sbin are one
directory, and so are the lib directories.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))

DIRS = ("bin", "lib", "lib64", "usr", "etc", "root", "tmp", "var", "var/tmp",
        "run", "dev", "proc", "sys", "mnt", "share", "with", "lab")
LINKS = {"sbin": "bin", "usr/bin": "../bin", "usr/sbin": "../bin",
         "usr/lib": "../lib", "usr/lib64": "../lib64", "usr/share": "../share"}
FILES = {
    "etc/passwd": b"root:x:0:0:root:/root:/bin/sh\n"
                  b"nobody:x:65534:65534:nobody:/:/bin/sh\n",
    "etc/group": b"root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": b"127.0.0.1 localhost\n",
    "etc/fstab": b"proc /proc proc defaults 0 0\n"
                 b"sysfs /sys sysfs defaults 0 0\n"
                 b"devtmpfs /dev devtmpfs defaults 0 0\n"
                 b"debugfs /sys/kernel/debug debugfs defaults 0 0\n"
                 b"tracefs /sys/kernel/tracing tracefs defaults 0 0\n"
                 b"cgroup2 /sys/fs/cgroup cgroup2 defaults 0 0\n"
                 b"tmpfs /tmp tmpfs mode=1777 0 0\n",
}


class Error(Exception):
    """Told to the user as one line."""


class Archive:
    """A cpio archive, `newc`, with fixed owner and times: the same content
    gives the same bytes."""

    def __init__(self):
        self.parts = []
        self.seen = set()
        self.inode = 0

    def _entry(self, name, mode, data=b"", rdev=(0, 0)):
        if name in self.seen:
            return
        self.seen.add(name)
        self.inode += 1
        raw = os.fsencode(name) + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, len(data), 0, 0, *rdev,
                  len(raw), 0)
        head = b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        self.parts += [head, bytes(-len(head) % 4), data,
                       bytes(-len(data) % 4)]

    def dir(self, name):
        if name in self.seen or not name:
            return
        self.dir(os.path.dirname(name))
        self._entry(name, stat.S_IFDIR | 0o755)

    def link(self, name, to):
        self._entry(name, stat.S_IFLNK | 0o777, os.fsencode(to))

    def device(self, name, major, minor):
        self._entry(name, stat.S_IFCHR | 0o600, rdev=(major, minor))

    def bytes(self, name, data, mode=0o644):
        self.dir(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data)

    def file(self, name, path):
        with open(path, "rb") as f:
            self.bytes(name, f.read(), stat.S_IMODE(os.stat(path).st_mode))

    def finish(self):
        self._entry("TRAILER!!!", 0)
        data = b"".join(self.parts)
        return data + bytes(-len(data) % 512)


# --- base -------------------------------------------------------------------

def _busybox():
    path = shutil.which("busybox", path="/bin:/usr/bin:/usr/local/bin")
    if not path:
        raise Error("busybox is missing: install busybox-static")
    with open(path, "rb") as f:
        if b"/ld-linux" in f.read(4096):
            raise Error(f"{path} is not static: install busybox-static")
    return path


def _build_agent(out):
    src = os.path.join(HERE, "agent.c")
    cmd = ["gcc", "-O2", "-Wall", "-static", "-o", out, src]
    try:
        done = subprocess.run(cmd, capture_output=True, text=True)
    except FileNotFoundError:
        raise Error("gcc is missing: install gcc and libc6-dev")
    if done.returncode:
        raise Error("cannot build the agent, is libc6-dev installed? "
                    + done.stderr.strip().split("\n")[-1])


def _pack_base(busybox, agent):
    a = Archive()
    for d in DIRS:
        a.dir(d)
    for name, to in LINKS.items():
        a.link(name, to)
    for name, data in FILES.items():
        a.bytes(name, data)
    a.device("dev/console", 5, 1)
    a.device("dev/null", 1, 3)
    a.file("bin/busybox", busybox)
    applets = subprocess.run([busybox, "--list"], capture_output=True,
                             text=True).stdout.split()
    for applet in applets:
        a.link("bin/" + applet, "busybox")
    a.file("lab/agent", agent)
    a.file("lab/finish", os.path.join(HERE, "finish"))
    a.file("init", os.path.join(HERE, "init"))
    return a.finish()


def _stamp(busybox):
    h = hashlib.sha256()
    for name in ("agent.c", "init", "finish", "initramfs.py"):
        with open(os.path.join(HERE, name), "rb") as f:
            h.update(f.read())
    st = os.stat(busybox)
    h.update(f"{busybox} {st.st_size} {st.st_mtime_ns}".encode())
    return h.hexdigest()[:16]


def base(cache):
    """The base archive, from the cache directory if its inputs are as they
    were.  Two runs may build it at once: each renames a file of its own."""
    busybox = _busybox()
    path = os.path.join(cache, f"base-{_stamp(busybox)}.cpio")
    if not os.path.exists(path):
        own = f"{path}.{os.getpid()}"
        try:
            _build_agent(own)
            data = _pack_base(busybox, own)
            with open(own, "wb") as f:
                f.write(data)
            os.rename(own, path)
        finally:
            if os.path.exists(own):
                os.unlink(own)
    with open(path, "rb") as f:
        return f.read()


# --- what a run adds --------------------------------------------------------

def _guest_path(path):
    """Where a host library stands in the merged tree."""
    return re.sub(r"^/usr/(?=(bin|sbin|lib|lib64)/)", "/", path).lstrip("/")


def _libraries(path):
    """Paths of the shared libraries and the loader that an ELF file needs."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "LC_ALL": "C"})
    missing = re.search(r"^\s*(\S+) => not found", done.stdout, re.M)
    if missing:
        raise Error(f"{path} needs {missing[1]}, which is not installed")
    return re.findall(r"(?:^\s*|=> )(/\S+) \(0x", done.stdout, re.M)


def _add_needs(a, path):
    """What a program needs beside itself: libraries, or its interpreter."""
    with open(path, "rb") as f:
        head = f.read(256)
    if head.startswith(b"\x7fELF"):
        for lib in _libraries(path):
            a.file(_guest_path(lib), lib)
    elif head.startswith(b"#!"):
        interpreter = head[2:].split(b"\n")[0].split()[0].decode()
        if os.path.basename(interpreter) in ("sh", "env"):
            return
        if os.path.exists(interpreter):
            a.file(_guest_path(interpreter), interpreter)
            _add_needs(a, interpreter)


def _add_file(a, path, name):
    a.file(name, path)
    if os.access(path, os.X_OK) or ".so" in os.path.basename(path):
        _add_needs(a, path)


def _add_tree(a, top):
    root = "with/" + os.path.basename(os.path.abspath(top))
    a.dir(root)
    for at, dirs, files in os.walk(top):
        rel = os.path.normpath(os.path.join(root, os.path.relpath(at, top)))
        dirs.sort()
        for d in [d for d in dirs if os.path.islink(os.path.join(at, d))]:
            files.append(d)
        a.dir(rel)
        for f in sorted(files):
            path, name = os.path.join(at, f), os.path.join(rel, f)
            if os.path.islink(path):
                a.link(name, os.readlink(path))
            elif os.path.isfile(path):
                _add_file(a, path, name)


def extra(command, paths, share):
    """Archive of one run: its command, its --with paths, whether to mount."""
    a = Archive()
    a.bytes("lab/command", b"".join(os.fsencode(w) + b"\0" for w in command))
    if share:
        a.bytes("lab/share", b"")
    for path in paths:
        if os.path.isdir(path):
            _add_tree(a, path)
        elif os.path.isfile(path):
            place = "bin/" if os.access(path, os.X_OK) else "with/"
            _add_file(a, path, place + os.path.basename(path))
        else:
            raise Error(f"--with {path}: no such file or directory")
    return a.finish()

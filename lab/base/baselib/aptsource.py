# SPDX-License-Identifier: GPL-2.0
"""Ask Debian through apt, with lists and a cache of our own under build/apt.

The machine's own lists stay as they are. The mirror is the one the machine
uses; signatures are apt's business, with Debian's archive keyring.
"""
import os
import re
import shutil
import subprocess
from pathlib import Path

from .core import BUILD, Fail, run

APT = BUILD / "apt"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ETC = Path(os.environ.get("APT_ETC", "/etc/apt"))
# The names a suite of Debian proper can have: not -security, which is
# another archive, and not those of third parties.
SUITE = re.compile(r"(buster|bullseye|bookworm|trixie|forky|duke|oldstable|stable"
                   r"|testing|unstable|sid|experimental)(-updates|-backports)?/?$")


def one_line_entries(text):
    """(uri, suites) of each active line of a sources.list."""
    for line in text.splitlines():
        line = re.sub(r"\[[^]]*\]", " ", line.split("#")[0])
        words = line.split()
        if len(words) >= 3 and words[0] == "deb":
            yield words[1], [words[2]]


def deb822_entries(text):
    """(uri, suites) of each active stanza of a .sources file."""
    text = re.sub(r"(?m)^#.*\n?", "", text)
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields = {}
        for match in re.finditer(r"(?m)^([\w-]+):((?:.*\n?)(?:[ \t].*\n?)*)", stanza):
            fields[match[1].lower()] = match[2].split()
        if "deb" not in fields.get("types", []):
            continue
        if fields.get("enabled", ["yes"])[0].lower() in ("no", "false"):
            continue
        for uri in fields.get("uris", []):
            yield uri, fields.get("suites", [])


def mirror(etc=None):
    """The URI of Debian's archive in the machine's own apt sources."""
    etc = Path(etc or ETC)
    entries = []
    lists = [etc / "sources.list"] + sorted((etc / "sources.list.d").glob("*"))
    for path in lists:
        if path.suffix == ".sources":
            entries += deb822_entries(path.read_text())
        elif path.suffix == ".list" and path.exists():
            entries += one_line_entries(path.read_text())
    for uri, suites in entries:
        if any(SUITE.match(suite) for suite in suites):
            return uri
    raise Fail(f"no Debian mirror in {etc}/sources.list*: add one, or set "
               "LINUX_SOURCE to a kernel tarball or tree")


def options(name):
    """apt options which confine it to build/apt/NAME."""
    home = APT / name
    pairs = {
        "Dir::Etc::sourcelist": home / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::Lists": home / "lists",
        "Dir::Cache": home / "cache",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
        "APT::Sandbox::User": "",
        "APT::Get::List-Cleanup": "true",
    }
    return [f"-o{key}={value}" for key, value in pairs.items()]


def update(name, suites, kind="deb"):
    """Fetch the package lists of SUITES; NAME is the private folder's."""
    if not Path(KEYRING).exists():
        raise Fail("debian-archive-keyring is not installed: run lab/base/setup")
    home = APT / name
    for folder in ("lists/partial", "cache/archives/partial"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    uri = mirror()
    lines = [f"{kind} [signed-by={KEYRING}] {uri} {suite} main\n" for suite in suites]
    (home / "sources.list").write_text("".join(lines))
    run(["apt-get", *options(name), "-oAPT::Update::Error-Mode=any", "-q", "update"],
        "cannot read Debian's package lists (is the network up? else set "
        "LINUX_SOURCE to a kernel tarball or tree)")


def versions(name, package):
    """Every version of PACKAGE in the private lists."""
    out = run(["apt-cache", *options(name), "madison", package], "apt-cache failed")
    rows = [line.split("|") for line in out.decode().splitlines()]
    return sorted({row[1].strip() for row in rows if len(row) == 3})


def download(name, package, version):
    """Download one .deb, checked by apt against the signed index."""
    folder = APT / name / "debs"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(["apt-get", *options(name), "-q", "download", f"{package}={version}"],
        f"cannot download {package} {version}", cwd=folder)
    return next(folder.glob("*.deb"))


def download_source(name, package):
    """Download and unpack a source package; returns its folder."""
    folder = APT / name / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(["apt-get", *options(name), "-q", "source", "--only-source", package],
        f"cannot get the source of {package}", cwd=folder,
        stderr=subprocess.STDOUT)
    return next(path for path in folder.iterdir() if path.is_dir())

# SPDX-License-Identifier: GPL-2.0
"""The machine code of a relocatable object, in a form that can be compared."""
import re
import struct

SHT_RELA, SHT_SYMTAB = 4, 2
SHF_EXECINSTR = 4

EHDR = struct.Struct("<16sHHIQQQIHHHHHH")
SHDR = struct.Struct("<IIQQQQIIQQ")
RELA = struct.Struct("<QQq")
SYM = struct.Struct("<IBBHQQ")


class Section:
    def __init__(self, image, header):
        (self.name_at, self.type, self.flags, _, offset, size,
         self.link, self.info, _, _) = header
        self.data = image[offset:offset + size] if self.type != 8 else b""


def c_string(table, at):
    return table[at:table.index(b"\0", at)].decode("utf-8", "replace")


def sections(image):
    """[(name, Section)] of an ELF64 file; empty if it is none."""
    if image[:5] != b"\x7fELF\x02":
        return []
    ehdr = EHDR.unpack_from(image)
    shoff, shentsize, shnum, shstrndx = ehdr[6], ehdr[11], ehdr[12], ehdr[13]
    found = [Section(image, SHDR.unpack_from(image, shoff + i * shentsize))
             for i in range(shnum)]
    names = found[shstrndx].data
    return [(c_string(names, s.name_at), s) for s in found]


def neutral(name):
    """Without the number that the compiler or __COUNTER__ gave to a local name."""
    return re.sub(r"[\d_.]+$", "", name)


def symbol_names(found, symtab):
    strings = found[symtab.link][1].data
    names = []
    for name_at, info, _, shndx, _, _ in SYM.iter_unpack(symtab.data):
        name = c_string(strings, name_at)
        if not name and shndx < len(found):
            name = found[shndx][0]
        names.append(neutral(name) if info >> 4 == 0 else name)
    return names


def relocations(found, section):
    """[(offset, type, symbol, addend)] of a SHT_RELA section."""
    names = symbol_names(found, found[section.link][1])
    return [(offset, info & 0xffffffff, names[info >> 32], addend)
            for offset, info, addend in RELA.iter_unpack(section.data)]


def code(image):
    """{section: (bytes, relocations)} of all that can be executed."""
    found = sections(image)
    result = {}
    for i, (name, section) in enumerate(found):
        if section.flags & SHF_EXECINSTR and section.data:
            relas = [s for _, s in found if s.type == SHT_RELA and s.info == i]
            result[name] = (section.data, [r for s in relas for r in relocations(found, s)])
    return result


def differences(one, other):
    """Names of the sections whose code is not the same."""
    a, b = code(one), code(other)
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))

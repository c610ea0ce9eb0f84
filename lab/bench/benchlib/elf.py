# SPDX-License-Identifier: GPL-2.0
"""The machine code of a relocatable object, in a form that can be compared."""
import re
import struct

SHT_RELA, SHT_SYMTAB = 4, 2
SHF_EXECINSTR = 4
STT_FUNC = 2

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


def symbols(found, symtab):
    """[(name, offset)]: a symbol that is defined here by its section, whether it
    is static or not, another by its name."""
    strings = found[symtab.link][1].data
    result = []
    for name_at, info, _, shndx, value, _ in SYM.iter_unpack(symtab.data):
        if 0 < shndx < len(found):
            result.append((neutral(found[shndx][0]), value))
        else:
            name = c_string(strings, name_at)
            result.append((neutral(name) if info >> 4 == 0 else name, 0))
    return result


def relocations(found, section):
    """[(offset, type, what, addend)] of a SHT_RELA section."""
    targets = symbols(found, found[section.link][1])
    result = []
    for offset, info, addend in RELA.iter_unpack(section.data):
        what, at = targets[info >> 32]
        result.append((offset, info & 0xffffffff, what, at + addend))
    return result


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


def functions(image, section_name, at):
    """The function at each of the offsets in a section, without repetition."""
    found = sections(image)
    index = [name for name, _ in found].index(section_name)
    symtab = next(s for _, s in found if s.type == SHT_SYMTAB)
    strings = found[symtab.link][1].data
    ranges = [(value, value + size, c_string(strings, name_at))
              for name_at, info, _, shndx, value, size in SYM.iter_unpack(symtab.data)
              if shndx == index and info & 15 == STT_FUNC]
    names = {name for begin, end, name in ranges for offset in at if begin <= offset < end}
    return sorted(names) or ["?"]


def changed_at(a, b):
    """Offsets at which the code of a section is not the same."""
    bytes_at = [i for i, (x, y) in enumerate(zip(a[0], b[0])) if x != y]
    return bytes_at + [r[0] for r in set(a[1]) ^ set(b[1])]


def explain(one, other):
    """'section: functions' for each section whose code is not the same."""
    a, b = code(one), code(other)
    result = []
    for name in differences(one, other):
        if name in a and name in b:
            result.append(f"{name}: {' '.join(functions(one, name, changed_at(a[name], b[name])))}")
        else:
            result.append(f"{name}: in one only")
    return result

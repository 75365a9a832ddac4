# SPDX-License-Identifier: Apache-2.0
"""Finds or builds a Level Zero loader that is new enough for SYCL's runtime.

SYCL's runtime calls functions that Debian 12's loader does not have, and crashes. The stand-in
built here exports every function of libze_cpu.so. It finds them by the names and positions in the
driver's own tables.
"""

import ctypes
import re
import subprocess
from pathlib import Path

from support_tree import ROOT

LIST = ROOT / "src" / "cpu_driver" / "border" / "tables.def"
LIBRARY = "libze_loader.so.1"

SOURCE = r"""
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static void *driver;

/* The driver's tables, one after the other. */
__attribute__((visibility("hidden"))) void *slots[COUNT][128];

unsigned zeLoaderInit(void) {
    static const char *const getters[COUNT] = {GETTERS};
    driver = dlopen("DRIVER", RTLD_NOW);
    for (int i = 0; driver && i < COUNT; i++) {
        unsigned (*get)(unsigned, void *) = dlsym(driver, getters[i]);
        if (!get || get(0x10012, slots[i]) != 0)
            return 0x78000001;
    }
    return driver ? 0 : 0x78000001;
}

struct component {
    char name[64];
    unsigned api;
    int version[3];
};

unsigned zelLoaderGetVersionsInternal(size_t *count, struct component *versions) {
    const struct component loader = {"loader", 0x10012, {1, 27, 0}};
    if (versions && *count)
        versions[0] = loader;
    *count = 1;
    return 0;
}

unsigned zelLoaderTranslateHandleInternal(int type, void *from, void **to) {
    (void)type;
    *to = from;
    return 0;
}

void *zeLoaderGetTracingHandle(void) { return NULL; }

unsigned zelGetTracerApiProcAddrTable(unsigned version, void *table) {
    (void)version, (void)table;
    return 0;
}
"""


def tables() -> dict[str, list[str]]:
    """The names of the functions in each table's order, by the name of the table's getter."""
    found = {}
    rows = LIST.read_text(encoding="utf-8")
    for getter, slots in re.findall(r"^ZE_CPU_TABLE\((\w+)\)$(.*?)^ZE_CPU_END$", rows, re.S | re.M):
        found[getter] = re.findall(r"ZE_CPU_\w+\(\d+, (\w+)\)", slots)
    return found


def build_stand_in(driver: Path, folder: Path) -> Path:
    """Build the stand-in and return its folder. Each exported function jumps to the address in its
    table slot.
    """
    found = tables()
    source = SOURCE.replace("COUNT", str(len(found))).replace("DRIVER", str(driver))
    (folder / "loader.c").write_text(source.replace("GETTERS", ",".join(f'"{name}"' for name in found)))
    jumps = [
        f".globl {name}\n{name}: jmp *slots+{8 * (128 * table + slot)}(%rip)\n"
        for table, names in enumerate(found.values())
        for slot, name in enumerate(names)
    ]
    # The static loader inside SYCL's runtime asks for every table, but takes the functions by their
    # names.
    tools = re.findall(r"ZE_CPU_EMPTY\((z\w+)\)", LIST.read_text())
    getters = [f".globl {name}\n{name}: xor %eax, %eax\n ret\n" for name in [*found, *tools]]
    end = '.section .note.GNU-stack,"",@progbits\n'
    (folder / "jumps.S").write_text("".join([*jumps, *getters, end]))
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(folder / LIBRARY), f"-Wl,-soname,{LIBRARY}"]
    subprocess.run([*command, str(folder / "loader.c"), str(folder / "jumps.S"), "-ldl"], check=True)
    return folder


def system_loader_is_new_enough() -> bool:
    """Whether the loader has zeInitDrivers, the youngest function that SYCL's runtime needs."""
    try:
        return hasattr(ctypes.CDLL(LIBRARY), "zeInitDrivers")
    except OSError:
        return False

# SPDX-License-Identifier: Apache-2.0
"""A Level Zero loader that is new enough for SYCL's runtime: the system's, or a stand-in that is built here.

SYCL's runtime calls functions that Debian 12's loader does not have, and crashes. The stand-in hands on every
function of libze_cpu.so, by the names and places that the driver's own tables list.
"""

import ctypes
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRIVER = ROOT / "src" / "cpu_driver"
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
        if (!get || get(0x10011, slots[i]) != 0)
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
    const struct component loader = {"loader", 0x10011, {1, 27, 0}};
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
    """Names of functions by the getter of their table, in the table's order."""
    text = "".join((DRIVER / name).read_text() for name in ["ddi_execution.cpp", "ddi_objects.cpp"])
    found = {}
    for getter, slots in re.findall(r"ZE_CPU_TABLE\((\w+), (.*?\))\)\n", text, re.S):
        found[getter] = re.findall(r"(?:HAS|LACKS)\(\d+, (\w+)\)", slots)
    return found


def build_stand_in(driver: Path, folder: Path) -> Path:
    """The folder that the library was put into. An exported function is a jump to what its slot holds."""
    found = tables()
    source = SOURCE.replace("COUNT", str(len(found))).replace("DRIVER", str(driver))
    (folder / "loader.c").write_text(source.replace("GETTERS", ",".join(f'"{name}"' for name in found)))
    jumps = [
        f".globl {name}\n{name}: jmp *slots+{8 * (128 * table + slot)}(%rip)\n"
        for table, names in enumerate(found.values())
        for slot, name in enumerate(names)
    ]
    # The static loader inside SYCL's runtime asks for every table, but fills them by the functions' names.
    tools = re.findall(r"ZE_CPU_EMPTY_TABLE\((z\w+)\)", (DRIVER / "ddi_tools.cpp").read_text())
    getters = [f".globl {name}\n{name}: xor %eax, %eax\n ret\n" for name in [*found, *tools]]
    end = '.section .note.GNU-stack,"",@progbits\n'
    (folder / "jumps.S").write_text("".join([*jumps, *getters, end]))
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(folder / LIBRARY), f"-Wl,-soname,{LIBRARY}"]
    subprocess.run([*command, str(folder / "loader.c"), str(folder / "jumps.S"), "-ldl"], check=True)
    return folder


def system_loader_is_new_enough() -> bool:
    """zeInitDrivers is the youngest function that SYCL's runtime needs."""
    try:
        return hasattr(ctypes.CDLL(LIBRARY), "zeInitDrivers")
    except OSError:
        return False

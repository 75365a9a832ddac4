# SPDX-License-Identifier: Apache-2.0
"""Build the SPIR-V of kernels.def.

build_kernels.py list KERNELS_DEF
    names of the kernels, one a line
build_kernels.py build KERNELS_DEF NAME OUT CLANG LLVM_SPIRV
    compile one kernel to OUT (and its dependencies to OUT.d)
build_kernels.py embed OUT FILE...
    C++ source with the files as arrays
"""

import re
import subprocess
import sys
from pathlib import Path

MATMUL = re.compile(r"^ZEMM_(XE_)?MATMUL\(([^)]*)\)", re.MULTILINE)
HELPER = re.compile(r"^ZEMM_HELPER\((\w+)\)", re.MULTILINE)


def kernels(definition: Path) -> dict[str, tuple[str, list[str]]]:
    """Name -> (source file, compiler options) of every row."""
    text = definition.read_text()
    rows: dict[str, tuple[str, list[str]]] = {}
    for match in MATMUL.finditer(text):
        fields = [f.strip() for f in match[2].split(",")]
        if match[1]:
            src, wei, dst, m, n, k, policy, lanes, group_x, *_ = fields
            rows_, owner = "8", "sub_group"
        else:
            src, wei, dst, m, n, k, policy, rows_, lanes, group_x, *_ = fields
            owner = "work_item"
        settings = {"TILE_M": m, "TILE_N": n, "TILE_K": k, "ROWS": rows_, "LANES": lanes}
        settings |= {"GROUP_X": group_x, "OWNER": f'"owner/{owner}.h"'}
        options = [f"-D{key}={value}" for key, value in settings.items()]
        options.append(f'-DPOLICY="policy/{policy}.h"')
        rows[f"matmul_{src}_{wei}_{dst}_{m}x{n}x{k}_{policy}"] = ("matmul.cl", options)
    for match in HELPER.finditer(text):
        rows[match[1]] = (f"{match[1]}.cl", [])
    return rows


def build(definition: Path, name: str, out: str, clang: str, llvm_spirv: str) -> None:
    source, options = kernels(definition)[name]
    folder = definition.parent
    bitcode = f"{out}.bc"
    # The device's compiler optimises, once the specialisation constants are known. clang's own passes would
    # leave instructions (freeze) that have no SPIR-V.
    command = [clang, "--target=spirv64", "-cl-std=CL3.0", "-O2", "-Xclang", "-disable-llvm-passes"]
    command += ["-emit-llvm", "-Xclang", "-finclude-default-header", "-Wall", "-Wextra", "-Werror"]
    command += ["-Wno-unused-parameter"]  # policies share their signatures
    command += [f"-I{folder}", *options, "-MD", "-MF", f"{out}.d", "-MT", out]
    subprocess.run([*command, "-c", str(folder / source), "-o", bitcode], check=True)
    # SPIR-V 1.2 is what the oldest supported GPU driver reads.
    # CPU policies call intrinsics of x86, which pass through SPIR-V by name.
    command = [
        llvm_spirv,
        "--spirv-max-version=1.2",
        "--spirv-ext=+all",
        "-spirv-allow-unknown-intrinsics=llvm.x86,llvm.prefetch",
    ]
    subprocess.run([*command, bitcode, "-o", out], check=True)


def embed(out: Path, files: list[Path]) -> None:
    lines = ['#include "kernels/spirv.hpp"', "", "namespace zemm::kernels {", "namespace {"]
    for i, file in enumerate(files):
        data = ",".join(str(b) for b in file.read_bytes())
        lines.append(f"alignas(4) const unsigned char spirv_{i}[] = {{{data}}};")
    lines += ["} // namespace", "", "const embedded_spirv spirv_table[] = {"]
    lines += [f'    {{"{file.stem}", spirv_{i}, sizeof(spirv_{i})}},' for i, file in enumerate(files)]
    lines += ["};", f"const unsigned spirv_count = {len(files)};", "} // namespace zemm::kernels", ""]
    out.write_text("\n".join(lines))


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "list":
        print("\n".join(kernels(Path(rest[0]))))
    elif command == "build":
        build(Path(rest[0]), *rest[1:])
    else:
        embed(Path(rest[0]), [Path(f) for f in rest[1:]])


if __name__ == "__main__":
    main()

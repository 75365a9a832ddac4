# SPDX-License-Identifier: Apache-2.0
"""Read kernels.def, write it as kernels.json for everybody else, and build the kernels' SPIR-V.

build_kernels.py json KERNELS_DEF KERNELS_JSON
    write the rows as JSON, one a line
build_kernels.py list KERNELS_JSON
    print the names of the kernels, one a line
build_kernels.py build KERNELS_JSON NAME OUT CLANG LLVM_SPIRV
    compile one kernel to OUT, and list the headers it includes in OUT.d
build_kernels.py embed OUT FILE...
    write a C++ source with the files as arrays, and their hashes

kernels.json has the rows in the order of dispatch. Each has a name, a kind (matmul or helper) and
a source. A matmul also has the columns of its macro, and those that MACROS adds. The column
`supports` becomes two: predicate, and feature, which the device must have (null: no particular
one).
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

Row = dict[str, Any]

# Columns that all rows of a macro share. The comment on the macro in kernels.def names its other
# columns. owner: who computes a tile.
MACROS: dict[str, Row] = {
    "ZEMM_MATMUL": {"kind": "matmul", "owner": "work_item", "group_y": 1, "grf": 0},
    "ZEMM_XE_MATMUL": {"kind": "matmul", "owner": "sub_group", "rows": 8, "wide_n": 0, "weights": "packed"},
    "ZEMM_HELPER": {"kind": "helper"},
    "ZEMM_PEAK": {"kind": "helper"},
    "ZEMM_PEAK_OF_TILES": {"kind": "helper", "source": "peak_tiles.cl"},
}
# Columns that a matmul is compiled with: numbers as -DTILE_M=<tile_m>, headers by their place as
# -DPOLICY="policy/<room>/<policy>.h".
NUMBERS = ("tile_m", "tile_n", "tile_k", "rows", "lanes")
HEADERS = ("owner", "policy")
# Those that only one owner reads. Sub-groups get the size of their work-group as an argument.
OWNER_NUMBERS = {"work_item": ("group_x",), "sub_group": ()}

FOLDER = Path(__file__).parent
COMMENT = re.compile(r"^// (ZEMM_\w+)\(([\w\s,/]*)\)", re.MULTILINE)
ROW = re.compile(r"^(ZEMM_\w+)\(([^()]*)\)$", re.MULTILINE)
SUPPORTS = re.compile(r"(\w+)(?:<(\w+)>)?")


def rows_of(definition: Path) -> list[Row]:
    """The rows of kernels.def. Ends the process with a message if a row cannot be read."""
    text = definition.read_text(encoding="utf-8")
    columns = {macro: re.findall(r"\w+", signature) for macro, signature in COMMENT.findall(text)}
    rows: list[Row] = []
    for match in ROW.finditer(text):
        macro, cells = match[1], [cell.strip() for cell in match[2].split(",")]
        where = f"{definition}:{text.count(chr(10), 0, match.start()) + 1}: {macro}"
        if macro not in MACROS or macro not in columns:
            sys.exit(f"{where} is not in MACROS of build_kernels.py, or no comment names its columns")
        if len(cells) != len(columns[macro]):
            sys.exit(f"{where} has {len(cells)} values for {len(columns[macro])} columns")
        values = {
            name: int(cell) if cell.isdigit() else cell
            for name, cell in zip(columns[macro], cells, strict=True)
        }
        row = MACROS[macro] | values
        rows.append(matmul(row, where) if row["kind"] == "matmul" else {"source": f"{row['name']}.cl"} | row)
    unread = len(re.findall(r"^ZEMM_", text, re.MULTILINE)) - len(rows)
    names = [row["name"] for row in rows]
    if unread or len(set(names)) < len(names):
        sys.exit(f"{definition}: {unread} rows cannot be read, or two have the same name")
    return [{"name": row.pop("name"), **row} for row in rows]


def matmul(row: Row, where: str) -> Row:
    """The row, with the columns that follow from others."""
    supports = SUPPORTS.fullmatch(row.pop("supports"))
    if not supports:
        sys.exit(f"{where}: supports is neither a predicate nor predicate<feature>")
    tile = f"{row['tile_m']}x{row['tile_n']}x{row['tile_k']}"
    return row | {
        "name": f"matmul_{row['src']}_any_any_{tile}_{row['policy']}",
        "source": "matmul.cl",
        "work_items": row["lanes"] if row["owner"] == "sub_group" else 1,
        "predicate": supports[1],
        "feature": supports[2],
    }


# Newer translators write more with --spirv-ext=+all, such as untyped pointers, than drivers read.
EXTENSIONS = ",".join(
    [
        "+SPV_INTEL_bfloat16_conversion",
        "+SPV_INTEL_subgroups",
        "+SPV_INTEL_vector_compute",
        "+SPV_KHR_no_integer_wrap_decoration",
    ]
)


def write_json(definition: Path, out: Path) -> None:
    lines = ",\n".join(json.dumps(row) for row in rows_of(definition))
    text = f"[\n{lines}\n]\n"
    # An unchanged file keeps its time: a new comment in the list must not recompile the kernels.
    if not out.exists() or out.read_text(encoding="utf-8") != text:
        out.write_text(text, encoding="utf-8")


def read_json(path: Path) -> dict[str, Row]:
    """The rows by name."""
    return {row["name"]: row for row in json.loads(path.read_text(encoding="utf-8"))}


def place(pattern: str) -> str:
    """The path of the one file of the kernels that has this name."""
    found = [path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob(pattern)]
    if len(found) != 1:
        sys.exit(f"{pattern} is {found or 'nowhere'} in {FOLDER}")
    return found[0]


def definitions(row: Row) -> list[str]:
    """The compiler options that define a row's numbers and headers."""
    if row["kind"] == "helper":
        instruction = [f'-DINSTRUCTION="{row["instruction"]}"'] if "instruction" in row else []
        return [f"-DPEAK={row['name']}", *instruction] if "adds" in row else []
    names = NUMBERS + OWNER_NUMBERS[row["owner"]]
    numbers = [f"-D{name.upper()}={row[name]}" for name in names]
    return numbers + [f'-D{name.upper()}="{place(f"{row[name]}.h")}"' for name in HEADERS]


def build(row: Row, out: str, clang: str, llvm_spirv: str) -> None:
    bitcode = f"{out}.bc"
    # The device's compiler optimises, once it knows the specialisation constants. clang's passes
    # would leave instructions (freeze) that SPIR-V does not have.
    command = [clang, "--target=spirv64", "-cl-std=CL3.0", "-O2", "-Xclang", "-disable-llvm-passes"]
    command += ["-emit-llvm", "-Xclang", "-finclude-default-header", "-Wall", "-Wextra", "-Werror"]
    command += ["-Wno-unused-parameter"]  # policies share their signatures
    command += [f"-I{FOLDER}", f"-I{FOLDER.parent}", *definitions(row), "-MD", "-MF", f"{out}.d", "-MT", out]
    subprocess.run([*command, "-c", str(FOLDER / place(row["source"])), "-o", bitcode], check=True)
    # The oldest supported GPU driver reads SPIR-V 1.2.
    # CPU policies call x86 intrinsics, which SPIR-V passes on by name.
    command = [
        llvm_spirv,
        "--spirv-max-version=1.2",
        "-spirv-allow-unknown-intrinsics=llvm.x86,llvm.prefetch",
        bitcode,
        "-o",
        out,
    ]
    done = subprocess.run([*command, f"--spirv-ext={EXTENSIONS}"], check=False, capture_output=True)
    if done.returncode:
        # Since LLVM 21 an intrinsic of AVX512_BF16 has a type of this extension. The OpenCL CPU runtime
        # refuses such a module, and the matmul takes the next row.
        subprocess.run([*command, f"--spirv-ext={EXTENSIONS},+SPV_KHR_bfloat16"], check=True)


def embed(out: Path, files: list[Path]) -> None:
    lines = ['#include "primitive/spirv.hpp"', "", "namespace zemm {", "namespace {"]
    table = []
    for i, file in enumerate(files):
        content = file.read_bytes()
        # A string literal, because GCC takes seven times as long for a list of numbers. sizeof
        # also counts its terminating zero.
        data = "".join(f"\\{b:03o}" for b in content)
        lines.append(f'alignas(4) const unsigned char spirv_{i}[] = "{data}";')
        digest = hashlib.sha256(content).hexdigest()[:32]
        table.append(f'    {{"{file.stem}", spirv_{i}, sizeof(spirv_{i}) - 1, "{digest}"}},')
    lines += ["} // namespace", "", "const embedded_spirv spirv_table[] = {", *table]
    lines += ["};", f"const unsigned spirv_count = {len(files)};", "} // namespace zemm", ""]
    out.write_text("\n".join(lines))


def main() -> None:
    command, *rest = sys.argv[1:]
    if command == "json":
        write_json(Path(rest[0]), Path(rest[1]))
    elif command == "list":
        print("\n".join(read_json(Path(rest[0]))))
    elif command == "build":
        build(read_json(Path(rest[0]))[rest[1]], *rest[2:])
    else:
        embed(Path(rest[0]), [Path(f) for f in rest[1:]])


if __name__ == "__main__":
    main()

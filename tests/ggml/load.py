# SPDX-License-Identifier: Apache-2.0
"""Load a backend into ggml as a program does that imports nothing of zemm, and go on: prints the names of the
devices. Arguments: the folder of ggml's libraries, the library of the backend."""

import ctypes
import sys
from pathlib import Path


def main(folder: str, backend: str) -> None:
    ggml = ctypes.CDLL(str(Path(folder) / "libggml.so"))
    for function in (ggml.ggml_backend_dev_get, ggml.ggml_backend_load):
        function.restype = ctypes.c_void_p
    ggml.ggml_backend_dev_name.restype = ctypes.c_char_p
    ggml.ggml_backend_dev_name.argtypes = [ctypes.c_void_p]
    ggml.ggml_backend_load_all_from_path(folder.encode())
    ggml.ggml_backend_load(backend.encode())
    count = ggml.ggml_backend_dev_count()
    print(*(ggml.ggml_backend_dev_name(ggml.ggml_backend_dev_get(i)).decode() for i in range(count)))


if __name__ == "__main__":
    main(*sys.argv[1:])

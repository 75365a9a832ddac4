# SPDX-License-Identifier: Apache-2.0
"""Build what the tests of zemm's backend for ggml need of llama.cpp:

    python build.py SOURCE BUILD [OPTION OF CMAKE]..

Backends are libraries, as in the packages of llama.cpp: only then all its programs load the one that
GGML_BACKEND_PATH names. A few minutes on two cores; what is built already stays.
"""

import subprocess
import sys
from pathlib import Path

TARGETS = ["ggml-cpu", "llama-bench", "llama-perplexity", "test-backend-ops"]
OFF = ["GGML_NATIVE", "LLAMA_BUILD_APP", "LLAMA_BUILD_EXAMPLES", "LLAMA_BUILD_SERVER", "LLAMA_OPENSSL"]
ON = ["GGML_BACKEND_DL", "LLAMA_BUILD_TESTS"]
# GGML_NATIVE cannot be set for backends that are libraries, so the compilers get its option.
FLAGS = f"-march=native -include '{Path(__file__).resolve().with_name('tile_configuration.h')}'"
SETTINGS = ["CMAKE_BUILD_TYPE=Release", f"CMAKE_C_FLAGS={FLAGS}", f"CMAKE_CXX_FLAGS={FLAGS}"]


def main(source: str, build: str, *more: str) -> None:
    settings = [*SETTINGS, *(f"{name}=OFF" for name in OFF), *(f"{name}=ON" for name in ON)]
    options = [f"-D{setting}" for setting in settings]
    subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", build, *options, *more], check=True)
    subprocess.run(["cmake", "--build", build, "--target", *TARGETS], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

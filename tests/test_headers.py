# SPDX-License-Identifier: Apache-2.0
"""The public headers: each compiles alone as C and as C++, and the enums have oneDNN's numbers."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

INCLUDE = Path(__file__).resolve().parent.parent / "include"
HEADERS = sorted(path.name for path in (INCLUDE / "zemm").glob("*.h"))
WARNINGS = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
LANGUAGES = {
    "c99": ["gcc", "-xc", "-std=c99"],
    "c11": ["gcc", "-xc", "-std=c11"],
    "c++11": ["g++", "-xc++", "-std=c++11"],
    "c++17": ["g++", "-xc++", "-std=c++17"],
}

# The values were copied by hand from the reference sheet (oneDNN 3.14). Names have no prefix here.
VALUES = {
    "status": (
        "success 0, out_of_memory 1, invalid_arguments 2, unimplemented 3, last_impl_reached 4, "
        "runtime_error 5, not_required 6, invalid_graph 7, invalid_graph_op 8, invalid_shape 9, "
        "invalid_data_type 10"
    ),
    "data type": (
        "data_type_undef 0, f16 1, bf16 2, f32 3, s32 4, s8 5, u8 6, f64 7, boolean 8, f8_e5m2 9, "
        "f8_e4m3 10, s4 11, u4 12, e8m0 13, f4_e2m1 14, f4_e3m0 15, s64 16, data_type_max 0x7fff"
    ),
    "format kind": (
        "format_kind_undef 0, format_kind_any 1, blocked 2, format_kind_opaque 3, format_kind_sparse 4, "
        "format_kind_host_scalar 5, format_kind_max 0x7fff"
    ),
    "sparse encoding": "sparse_encoding_undef 0, csr 1, packed 2, coo 3, grouped 4",
    "engine and stream": (
        "any_engine 0, cpu 1, gpu 2, stream_in_order 1, stream_out_of_order 2, stream_default_flags 1, "
        "stream_profiling 4, profiling_data_kind_undef 0, profiling_data_kind_time 1, "
        "profiling_data_kind_cycles 2"
    ),
    "fpmath mode": (
        "fpmath_mode_strict 0, fpmath_mode_bf16 1, fpmath_mode_f16 2, fpmath_mode_any 3, fpmath_mode_tf32 4"
    ),
    "accumulation mode": (
        "accumulation_mode_strict 0, accumulation_mode_relaxed 1, accumulation_mode_any 2, "
        "accumulation_mode_s32 3, accumulation_mode_f32 4, accumulation_mode_f16 5"
    ),
    "other modes": (
        "scratchpad_mode_library 0, scratchpad_mode_user 1, rounding_mode_environment 0, "
        "rounding_mode_stochastic 1, quantization_mode_undef 0, quantization_mode_static_sazp 1, "
        "quantization_mode_dynamic_mx 2, quantization_mode_dynamic_fp 3"
    ),
    "prop kind": (
        "prop_kind_undef 0, forward_training 64, forward 64, forward_inference 96, backward 128, "
        "backward_data 160, backward_weights 192, backward_bias 193"
    ),
    "primitive kind": (
        "undefined_primitive 0, reorder 1, shuffle 2, concat 3, sum 4, convolution 5, deconvolution 6, "
        "eltwise 7, lrn 8, batch_normalization 9, inner_product 10, rnn 11, gemm 12, binary 13, matmul 14, "
        "resampling 15, pooling 16, reduction 17, prelu 18, softmax 19, layer_normalization 20, "
        "group_normalization 21, primitive_kind_max 0x7fff"
    ),
    "eltwise": (
        "eltwise_relu 0x20, eltwise_tanh 0x21, eltwise_elu 0x22, eltwise_square 0x23, eltwise_abs 0x24, "
        "eltwise_sqrt 0x25, eltwise_linear 0x26, eltwise_soft_relu 0x27, eltwise_hardsigmoid 0x28, "
        "eltwise_logistic 0x29, eltwise_exp 0x2a, eltwise_gelu_tanh 0x2b, eltwise_swish 0x2c, "
        "eltwise_log 0x2d, eltwise_clip 0x2e, eltwise_clip_v2 0x2f, eltwise_pow 0x30, "
        "eltwise_gelu_erf 0x31, eltwise_round 0x32, eltwise_mish 0x33, eltwise_hardswish 0x34, "
        "eltwise_relu_use_dst_for_bwd 0x100, eltwise_tanh_use_dst_for_bwd 0x101, "
        "eltwise_elu_use_dst_for_bwd 0x102, eltwise_sqrt_use_dst_for_bwd 0x103, "
        "eltwise_logistic_use_dst_for_bwd 0x104, eltwise_exp_use_dst_for_bwd 0x105, "
        "eltwise_clip_v2_use_dst_for_bwd 0x106"
    ),
    "binary": (
        "binary_add 0x1fff0, binary_mul 0x1fff1, binary_max 0x1fff2, binary_min 0x1fff3, "
        "binary_div 0x1fff4, binary_sub 0x1fff5, binary_ge 0x1fff6, binary_gt 0x1fff7, binary_le 0x1fff8, "
        "binary_lt 0x1fff9, binary_eq 0x1fffa, binary_ne 0x1fffb, binary_select 0x1fffc"
    ),
    "reduction": (
        "reduction_max 0x2fff2, reduction_min 0x2fff3, reduction_sum 0x2fff4, reduction_mul 0x2fff5, "
        "reduction_mean 0x2fff6, reduction_norm_lp_max 0x2fff7, reduction_norm_lp_sum 0x2fff8, "
        "reduction_norm_lp_power_p_max 0x2fff9, reduction_norm_lp_power_p_sum 0x2fffa, "
        "softmax_accurate 0x30000, softmax_log 0x30001"
    ),
    "query": (
        "query_undef 0, query_engine 1, query_primitive_kind 2, query_num_of_inputs_s32 3, "
        "query_num_of_outputs_s32 4, query_time_estimate_f64 5, query_memory_consumption_s64 6, "
        "query_scratchpad_engine 7, query_impl_info_str 8, query_reorder_src_engine 9, "
        "query_reorder_dst_engine 10, query_prop_kind 11, query_cache_blob_id_size_s64 12, "
        "query_cache_blob_id 13, query_strides 14, query_dilations 15, query_padding_l 16, "
        "query_padding_r 17, query_epsilon_f32 18, query_flags 19, query_alg_kind 20, query_alpha_f32 21, "
        "query_beta_f32 22, query_axis_s32 23, query_local_size_s64 24, query_k_f32 25, query_p_f32 26, "
        "query_factors 27, query_cell_kind 28, query_direction 29, query_activation_kind 30, "
        "query_kernel 31, query_group_size_s64 32, query_some_md 128, query_src_md 129, "
        "query_diff_src_md 130, query_weights_md 131, query_diff_weights_md 132, query_dst_md 133, "
        "query_diff_dst_md 134, query_workspace_md 135, query_scratchpad_md 136, query_exec_arg_md 255, "
        "query_ndims_s32 256, query_dims 257, query_data_type 258, query_submemory_offset_s64 259, "
        "query_padded_dims 260, query_padded_offsets 261, query_format_kind 262, "
        "query_inner_nblks_s32 263, query_inner_blks 264, query_inner_idxs 265, query_sparse_encoding 266, "
        "query_nnz_s64 267, query_num_handles_s32 268, query_max 0x7fff"
    ),
    "plain tags": (
        "format_tag_undef 0, format_tag_any 1, a 2, ab 3, abc 4, abcd 5, abcde 6, abcdef 7, abcdefg 8, "
        "abcdefgh 9, abcdefghi 10, abcdefghij 11, abcdefghijk 12, abcdefghijkl 13, ba 14, acb 15, bac 16, "
        "bca 17, cab 18, cba 19, abdc 20, acbd 21, acdb 22, adbc 23, adcb 24, bacd 25, bcda 26, cdab 27, "
        "cdba 28, dcab 29, abced 30, abdec 31, acbde 32, acdeb 33, adecb 34, bacde 35, bcdea 36, cdeab 37, "
        "cdeba 38, decab 39, abcdfe 40, abdefc 41, abdfce 42, acbdef 43, adefcb 44, defcab 45, abcdegf 46, "
        "abcdefhg 47, abcdefgih 48, abcdefghji 49, abcdefghikj 50, abcdefghijlk 51, bcad 835, cabd 836, "
        "dabc 837, format_tag_last 875"
    ),
    "blocked tags": (
        "AB16b16a 237, BA16a16b2a 381, BA16a32b2a 382, BA16a48b2a 383, BA16a64b2a 384, BA16a16b4a 385, "
        "BA16a32b4a 386, BA16a48b4a 387, BA16a64b4a 388, BA16a16b 503, BA16a32b 504, BA16a48b 505, "
        "BA16a64b 506, aCB16b16c 521, aCB16b32c 522, aCB16b48c 523, aCB16b64c 524, aCB16b16c2b 525, "
        "aCB16b32c2b 526, aCB16b48c2b 527, aCB16b64c2b 528, aCB16b16c4b 529, aCB16b32c4b 530, "
        "aCB16b48c4b 531, aCB16b64c4b 532"
    ),
    "tag aliases": (
        "x 2, nc 3, oi 3, tn 3, cn 14, io 14, nt 14, ncw 4, oiw 4, tnc 4, nwc 15, owi 15, ntc 16, nchw 5, "
        "oihw 5, ldnc 5, nhwc 22, ohwi 22, ncdhw 6, ndhwc 33, NChw32n32c 77, nChw16c 78, OIhw16i16o 79, "
        "nCdhw16c 121, gOIhw2o8i16o4i 498"
    ),
    "arguments": (
        "ARG_UNDEF 0, ARG_SRC 1, ARG_SRC_0 1, ARG_FROM 1, ARG_SRC_1 2, ARG_SRC_2 3, ARG_SRC_3 4, "
        "ARG_DST 17, ARG_DST_0 17, ARG_TO 17, ARG_WEIGHTS 33, ARG_WEIGHTS_0 33, ARG_WEIGHTS_1 34, "
        "ARG_WEIGHTS_2 35, ARG_WEIGHTS_3 36, ARG_BIAS 41, ARG_REDUCE 42, ARG_WORKSPACE 64, "
        "ARG_SCRATCHPAD 80, ARG_HINT_MAX_GROUP_SIZE 384, ARG_ATTR_DROPOUT_OFFSET 507, "
        "ARG_ATTR_ROUNDING_SEED 508, ARG_ATTR_DROPOUT_MASK 509, ARG_ATTR_DROPOUT_PROBABILITY 510, "
        "ARG_ATTR_DROPOUT_SEED 511, ARG_ATTR_PRECOMPUTED_REDUCTIONS 512, ARG_MULTIPLE_SRC 1024, "
        "ARG_MULTIPLE_DST 2048, ARG_ATTR_SCALES 4096, ARG_ATTR_ZERO_POINTS 8192, "
        "ARG_ATTR_POST_OP_DW 16384, ARG_ATTR_MULTIPLE_POST_OP_BASE 32768, "
        "ARG_ATTR_MULTIPLE_POST_OP(0) 32768, ARG_ATTR_MULTIPLE_POST_OP(31) 1048576"
    ),
    "constants": (
        "MAX_NDIMS 12, RUNTIME_DIM_VAL -9223372036854775808, RUNTIME_S32_VAL -2147483648, RUNTIME_NONE 0, "
        "RUNTIME_SEQ 1, RUNTIME_OMP 2, RUNTIME_TBB 4, RUNTIME_THREADPOOL 8, RUNTIME_OCL 256, "
        "RUNTIME_SYCL 512, RUNTIME_ZE 1024"
    ),
}


def run(command: list[str], source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=source, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("header", HEADERS)
def test_compiles_alone(header: str, language: str) -> None:
    compiler = LANGUAGES[language]
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]}")
    if header == "zemm_ze.h":
        probe = run([*compiler, "-fsyntax-only", "-"], "#include <level_zero/ze_api.h>\n")
        if probe.returncode:
            pytest.skip("the Level Zero headers (libze-dev) are not installed or do not compile")
    result = run([*compiler, *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", "-"], f"#include <zemm/{header}>\n")
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def header_values(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The values that a C program sees, by name."""
    names = [item.split()[0] for group in VALUES.values() for item in group.split(", ")]
    spelled = {
        name: ("ZEMM_" if name.startswith(("ARG_", "MAX_", "RUNTIME_")) else "zemm_") + name for name in names
    }
    lines = [f'    printf("{name} %lld\\n", (long long){c_name});' for name, c_name in spelled.items()]
    source = "#include <stdio.h>\n#include <zemm/zemm.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n"
    program = tmp_path_factory.mktemp("headers") / "values"
    built = run(["gcc", "-xc", "-std=c99", f"-I{INCLUDE}", "-", "-o", str(program)], source)
    assert built.returncode == 0, built.stderr
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in (line.split() for line in printed.splitlines())}


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
@pytest.mark.parametrize("group", VALUES)
def test_values(group: str, header_values: dict[str, int]) -> None:
    expected = {name: int(value, 0) for name, value in (item.split() for item in VALUES[group].split(", "))}
    assert {name: header_values[name] for name in expected} == expected


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_runtime_placeholders(tmp_path: Path) -> None:
    source = """#include <stdio.h>
#include <string.h>
#include <zemm/zemm.h>
int main(void) {
    float f = ZEMM_RUNTIME_F32_VAL;
    unsigned bits;
    memcpy(&bits, &f, 4);
    printf("%x %zx %zx", bits, (size_t)ZEMM_RUNTIME_SIZE_VAL, (size_t)ZEMM_MEMORY_ALLOCATE);
    return ZEMM_MEMORY_NONE != NULL;
}
"""
    program = tmp_path / "placeholders"
    built = run(["gcc", "-xc", "-std=c99", f"-I{INCLUDE}", "-", "-o", str(program)], source)
    assert built.returncode == 0, built.stderr
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert printed == "7fc000d0 8000000000000000 ffffffffffffffff"

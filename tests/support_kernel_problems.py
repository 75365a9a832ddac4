# SPDX-License-Identifier: Apache-2.0
"""Problems that cover every type, layout class and flag of the matmul kernels."""

from support_problem import PostOp, Problem, Quant, zero_point

BINARY_ADD = PostOp("binary", "binary_add", mask=2)
PROBLEMS = {
    # types
    "f32": Problem((65, 70), (70, 33)),
    "f16": Problem((9, 66), (66, 34), "f16", "f16", "f16"),
    "bf16": Problem((9, 66), (66, 34), "bf16", "bf16", "bf16"),
    "f32_f16": Problem((9, 18), (18, 34), "f32", "f16", "f32"),
    "s8_s8_s32": Problem((66, 300), (300, 35), "s8", "s8", "s32"),
    "u8_u8_s32": Problem((7, 600), (600, 17), "u8", "u8", "s32"),
    "u8_s8_u8": Problem((9, 5), (5, 34), "u8", "s8", "u8"),
    "s8_u8_s8": Problem((9, 5), (5, 34), "s8", "u8", "s8"),
    "s8_s8_bf16": Problem((9, 40), (40, 34), "s8", "s8", "bf16"),
    "s8_s4_f32": Problem((9, 40), (40, 34), "s8", "s4", "f32"),
    "u8_u4_f16": Problem((9, 40), (40, 34), "u8", "u4", "f16"),
    "f32_s8": Problem((9, 40), (40, 34), "f32", "s8", "f32", fpmath=("strict", True)),
    "f16_u8": Problem((9, 40), (40, 34), "f16", "u8", "f16", fpmath=("f16", True)),
    "bf16_s4": Problem((9, 40), (40, 34), "bf16", "s4", "bf16", fpmath=("bf16", True)),
    "f16_u4": Problem((9, 40), (40, 34), "f16", "u4", "f32", fpmath=("any", True)),
    # layouts: unit stride along the row, along the column, along neither
    "src_k_outer": Problem((65, 70), (70, 33), "s8", "s8", "s32", src_order="ba"),
    "wei_k_unit": Problem((65, 70), (70, 33), "s8", "s8", "s32", wei_order="ba"),
    "int4_k_unit": Problem((9, 70), (70, 33), "s8", "u4", "s32", wei_order="ba"),
    "int4_k_unit_odd": Problem((9, 51), (51, 33), "u8", "s4", "s32", wei_order="ba"),
    "dst_column_major": Problem((65, 70), (70, 33), "u8", "u8", "s32", dst_order="ba"),
    "padded": Problem((65, 70), (70, 33), "u8", "s8", "f32", src_pad=3, wei_pad=5, dst_pad=7),
    "unit_nowhere": Problem((4, 9, 20), (4, 20, 33), src_order="bca", wei_order="bca", dst_order="bca"),
    "int4_unit_nowhere": Problem((4, 9, 20), (4, 20, 34), "s8", "s4", "s32", wei_order="bca"),
    "any_tags": Problem((9, 20), (20, 34), any_tags=True, bias_dt="f32"),
    # packed weights, with tails along K and N
    "packed_u8": Problem((5, 71), (71, 70), "s8", "u8", "s32", wei_tag="BA16a64b4a"),
    "packed_s8": Problem((7, 65), (65, 65), "s8", "s8", "s32", wei_tag="BA16a64b4a"),
    "packed_s8_in_place": Problem((121, 259), (259, 1), "u8", "s8", "s32", wei_tag="BA16a64b4a"),
    "packed_u4": Problem(
        (3, 67), (67, 63), "u8", "u4", "f32", wei_tag="BA16a64b4a", src_zp=zero_point(), wei_zp=zero_point(2)
    ),
    "packed_s4_groups": Problem(
        (6, 96), (96, 33), "s8", "s4", "f32", wei_tag="BA16a64b4a", wei_scale=Quant(3, (48, 1))
    ),
    "packed_batch": Problem((2, 9, 20), (2, 20, 66), "s8", "s8", "s32", wei_tag="aCB16b64c4b"),
    "packed_f32": Problem((7, 67), (67, 70), wei_tag="BA16a64b"),
    "packed_f16": Problem((121, 17), (17, 65), "f16", "f16", "f32", wei_tag="BA16a64b"),
    "packed_weight_only": Problem(
        (9, 67), (67, 65), "f32", "u4", "f32", wei_tag="BA16a64b4a", fpmath=("strict", True)
    ),
    # rows of whole blocks of memory, as the block loads of GPUs want them
    "blocks_groups": Problem(
        (66, 256),
        (256, 96),
        "s8",
        "u8",
        "f16",
        wei_order="ba",
        src_scale=Quant(3, (1, 128), "f16"),
        wei_scale=Quant(3, (128, 1), "f16"),
        wei_zp=zero_point(3, (128, 1), "u8"),
        reduction_group=128,
    ),
    "blocks_u4_groups": Problem(
        (42, 320),
        (320, 66),
        "u8",
        "u4",
        "f32",
        wei_tag="BA16a64b4a",
        wei_scale=Quant(3, (160, 1)),
        wei_zp=zero_point(3, (160, 1), "u4"),
        bias_dt="f32",
    ),
    "blocks_s4": Problem((33, 192), (192, 40), "s8", "s4", "s32", wei_order="ba", src_zp=zero_point()),
    "blocks_k_tail": Problem(
        (41, 80), (80, 112), "u8", "s8", "s32", src_zp=zero_point(), wei_zp=zero_point(2, (), "s8")
    ),
    "blocks_f16": Problem(
        (70, 96),
        (96, 80),
        "f16",
        "f16",
        "f32",
        bias_dt="f16",
        post_ops=(PostOp("sum", alpha=0.5), BINARY_ADD),
    ),
    "blocks_bf16": Problem((17, 48), (48, 36), "bf16", "bf16", "bf16", wei_order="ba"),
    "blocks_f16_packed": Problem((50, 72), (72, 65), "f16", "f16", "f16", wei_tag="BA16a64b"),
    "blocks_f16_u8": Problem(
        (43, 192),
        (192, 80),
        "f16",
        "u8",
        "f16",
        fpmath=("f16", True),
        wei_scale=Quant(3, (96, 1), "f16"),
        wei_zp=zero_point(3, (96, 1), "u8"),
    ),
    "blocks_f16_s4": Problem(
        (42, 128),
        (128, 70),
        "f16",
        "s4",
        "f32",
        wei_tag="BA16a64b4a",
        fpmath=("f16", True),
        wei_scale=Quant(2),
    ),
    "blocks_bf16_u4": Problem(
        (41, 128),
        (128, 48),
        "bf16",
        "u4",
        "f32",
        wei_order="ba",
        fpmath=("bf16", True),
        wei_scale=Quant(3, (64, 1)),
        wei_zp=zero_point(3, (64, 1), "u4"),
    ),
    "blocks_batch": Problem((3, 43, 64), (3, 64, 48), "s8", "s8", "s32"),
    "blocks_shared_weights": Problem((3, 43, 64), (1, 64, 48), "s8", "u8", "s32", wei_zp=zero_point()),
    "blocks_k_in_ranges": Problem(
        (3, 4096), (4096, 32), "s8", "u8", "f32", wei_scale=Quant(3, (512, 1)), wei_zp=zero_point(2)
    ),
    # batches
    "batch": Problem((3, 9, 20), (3, 20, 33)),
    "shared_weights": Problem((3, 9, 20), (1, 20, 33), "s8", "s8", "s32"),
    "shared_src": Problem((1, 9, 20), (3, 20, 33), "s8", "s8", "s32", wei_zp=zero_point(0)),
    "twelve": Problem(
        (2,) + (1,) * 8 + (3, 5, 20), (1,) * 9 + (3, 20, 33), "s8", "u8", "f32", wei_zp=zero_point(4095)
    ),
    # flags
    "bias": Problem((65, 20), (20, 33), bias_dt="f32", bias_mask=3),
    "bias_s32": Problem((9, 20), (20, 33), "s8", "s8", "s32", bias_dt="s32", bias_mask=1),
    "src_scale_m": Problem((65, 64), (64, 33), "s8", "s8", "f32", src_scale=Quant(1)),
    "src_scale_groups": Problem((9, 64), (64, 33), "s8", "s8", "f32", src_scale=Quant(3, (1, 16), "f16")),
    "wei_scale_per_k": Problem((9, 20), (20, 33), "u8", "s8", "f32", wei_scale=Quant(1, (), "bf16")),
    "wei_scale_groups": Problem((9, 64), (64, 32), "u8", "s8", "f16", wei_scale=Quant(3, (32, 16))),
    "host_scalars": Problem(
        (9, 64),
        (64, 32),
        "u8",
        "s8",
        "u8",
        src_scale=Quant(host=True),
        wei_scale=Quant(host=True, dt="f16"),
        dst_scale=Quant(host=True, dt="bf16"),
        src_zp=zero_point(host=True, dt="u8"),
        wei_zp=zero_point(host=True, dt="s8"),
        dst_zp=zero_point(host=True),
    ),
    "wei_zp": Problem((66, 600), (600, 35), "s8", "u8", "s32", wei_zp=zero_point(2, (), "u8")),
    "wei_zp_huge": Problem((5, 70), (70, 35), "s8", "u8", "s32", wei_zp=zero_point(2), huge_zero_points=True),
    "both_zp_huge": Problem(
        (9, 64),
        (64, 35),
        "u8",
        "s4",
        "s32",
        src_zp=zero_point(2, (1, 32)),
        wei_zp=zero_point(3, (16, 1)),
        huge_zero_points=True,
    ),
    "src_zp_per_k": Problem((9, 20), (20, 35), "u8", "s8", "s32", src_zp=zero_point(2, (), "u8")),
    "reductions": Problem(
        (66, 128), (128, 35), "s8", "u8", "f32", wei_zp=zero_point(3, (64, 1)), reduction_group=32
    ),
    "reductions_src_zp": Problem(
        (66, 128),
        (128, 36),
        "s8",
        "u4",
        "f16",
        src_scale=Quant(3, (1, 64)),
        src_zp=zero_point(2, (1, 64)),
        wei_zp=zero_point(2, (), "u4"),
        reduction_group=64,
    ),
    "odd_reduction_group_int4_k_unit": Problem(
        (5, 51), (51, 4), "s8", "s4", "s32", wei_order="ba", wei_zp=zero_point(0), reduction_group=17
    ),
    "weight_only_groups": Problem(
        (9, 64),
        (64, 48),
        "f16",
        "u4",
        "f16",
        fpmath=("f16", True),
        wei_scale=Quant(3, (32, 1), "f16"),
        wei_zp=zero_point(3, (32, 1), "u4"),
    ),
    "weight_only_n_groups": Problem(
        (9, 64), (64, 48), "f32", "s8", "f32", fpmath=("strict", True), wei_zp=zero_point(2, (1, 16), "s8")
    ),
    "dst_scale_zp": Problem((9, 20), (20, 35), "s8", "s8", "s8", dst_scale=Quant(3), dst_zp=zero_point(2)),
    "post_ops": Problem(
        (66, 20),
        (20, 35),
        "u8",
        "s8",
        "s8",
        dst_scale=Quant(2),
        dst_zp=zero_point(0),
        bias_dt="s8",
        post_ops=(
            PostOp("sum", alpha=2.0, zero_point=3),
            PostOp("eltwise", "eltwise_relu", 0.5),
            PostOp("binary", "binary_mul", mask=1, dt="bf16"),
            PostOp("prelu", mask=2),
            PostOp("binary", "binary_select", mask=2, condition_mask=3),
        ),
    ),
    "post_ops_batch": Problem(
        (2, 3, 9, 20),
        (1, 3, 20, 17),
        post_ops=(PostOp("prelu", mask=15), PostOp("binary", "binary_add", mask=5), PostOp("prelu", mask=6)),
    ),
    "32_post_ops": Problem((9, 20), (20, 17), post_ops=(BINARY_ADD,) * 32),
    "user_scratchpad": Problem((9, 20), (20, 17), "s8", "s8", "s32", wei_zp=zero_point(2), scratchpad="user"),
    "k_in_ranges": Problem((3, 9000), (9000, 17), "s8", "u8", "f32", wei_scale=Quant(2), scratchpad="user"),
    "packed_first": Problem((241, 68), (68, 65), "s8", "s8", "s32", wei_order="ba", scratchpad="user"),
    "few_rows_along_k": Problem((3, 192), (192, 33), "s8", "u8", "s32", wei_order="ba", wei_zp=zero_point()),
    "whole_tiles_along_n": Problem((9, 64), (64, 64), "u8", "s8", "s32"),
}

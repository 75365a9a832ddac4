# SPDX-License-Identifier: Apache-2.0
"""Problems of floats of 8 and 4 bits: as src, weights and dst, in every layout class, and as other
tensors.
"""

from support_problem import PostOp, Problem, Quant, zero_point

SMALL_FLOAT_PROBLEMS = {
    "f8": Problem((9, 66), (66, 35), "f8_e4m3", "f8_e4m3", "f32"),
    "f8_mixed": Problem((65, 70), (70, 33), "f8_e5m2", "f8_e4m3", "f16", src_order="ba", wei_order="ba"),
    "f8_to_e4m3": Problem(
        (9, 70),
        (70, 35),
        "f8_e4m3",
        "f8_e5m2",
        "f8_e4m3",
        bias_dt="f8_e4m3",
        bias_mask=2,
        dst_scale=Quant(2, dt="f8_e4m3"),
    ),
    "f8_to_e5m2": Problem(
        (9, 20),
        (20, 35),
        "f8_e5m2",
        "f8_e5m2",
        "f8_e5m2",
        dst_order="ba",
        post_ops=(
            PostOp("sum", alpha=0.5),
            PostOp("binary", "binary_mul", mask=2, dt="f8_e5m2"),
            PostOp("binary", "binary_max", mask=1, dt="f8_e4m3"),
        ),
    ),
    "s8_to_e4m3": Problem((9, 20), (20, 33), "s8", "s8", "f8_e4m3", dst_scale=Quant(host=True), limit=8),
    "bf16_f8": Problem((9, 66), (66, 35), "bf16", "f8_e5m2", "bf16", bias_dt="f8_e5m2"),
    "f32_f8": Problem((9, 66), (66, 35), "f32", "f8_e4m3", "f32", wei_scale=Quant(2, dt="f8_e4m3")),
    "f8_batch": Problem((3, 9, 21), (3, 21, 33), "f8_e4m3", "f8_e5m2", "bf16", src_pad=3, wei_pad=5),
    "f8_shared_weights": Problem((3, 9, 20), (1, 20, 33), "f8_e4m3", "f8_e4m3", "f8_e5m2"),
    "f8_any_tags": Problem((9, 67), (67, 70), "f8_e4m3", "f8_e4m3", "f32", any_tags=True),
    "f8_blocked": Problem((9, 51), (51, 33), "f8_e5m2", "f8_e4m3", "f32", wei_tag="AB8b16a"),
    "f8_packed": Problem(
        (7, 67), (67, 70), "f8_e4m3", "f8_e5m2", "f32", wei_tag="BA16a64b4a", wei_zp=zero_point(2, (), "s8")
    ),
    "bf16_f8_packed": Problem((121, 35), (35, 65), "bf16", "f8_e4m3", "bf16", wei_tag="BA16a64b4a"),
    "f4_packed_groups": Problem(
        (6, 96), (96, 34), "f16", "f4_e2m1", "f32", wei_tag="BA16a64b4a", wei_scale=Quant(3, (32, 1), "e8m0")
    ),
    "f8_zero_points": Problem(
        (9, 64),
        (64, 34),
        "f16",
        "f8_e4m3",
        "f32",
        wei_scale=Quant(3, (32, 1)),
        wei_zp=zero_point(3, (16, 1), "u8"),
    ),
    "f8_dst_groups": Problem(
        (9, 20), (20, 64), "f8_e5m2", "f8_e5m2", "f8_e4m3", dst_scale=Quant(3, (3, 16), "f8_e4m3")
    ),
    "f8_mx": Problem(
        (9, 96),
        (96, 64),
        "f8_e4m3",
        "f8_e4m3",
        "f32",
        src_scale=Quant(3, (1, 32), "e8m0"),
        wei_scale=Quant(3, (32, 32), "e8m0"),
    ),
    "f8_u4": Problem(
        (9, 64),
        (64, 34),
        "f8_e4m3",
        "u4",
        "bf16",
        fpmath=("any", True),
        wei_scale=Quant(3, (32, 1), "f16"),
        wei_zp=zero_point(3, (32, 1), "u4"),
    ),
    "f4": Problem((9, 66), (66, 34), "f4_e2m1", "f4_e2m1", "f32"),
    "f4_k_unit": Problem((9, 70), (70, 33), "f4_e2m1", "f4_e2m1", "f16", wei_order="ba"),
    "f4_odd_k": Problem((9, 51), (51, 33), "f4_e2m1", "f4_e2m1", "bf16", wei_order="ba"),
    "f4_m_unit": Problem((10, 51), (51, 34), "f4_e2m1", "f8_e5m2", "f32", src_order="ba"),
    # A short K, so that few sums are beyond the largest f4.
    "f4_to_f4": Problem(
        (9, 3),
        (3, 35),
        "f4_e2m1",
        "f4_e2m1",
        "f4_e2m1",
        dst_scale=Quant(2),
        post_ops=(PostOp("sum", alpha=1.0),),
    ),
    "f4_column_major": Problem((9, 2), (2, 34), dst_dt="f4_e2m1", dst_order="ba", dst_scale=Quant()),
    "f4_one_column": Problem((70, 3), (3, 1), "bf16", "f4_e2m1", "f4_e2m1", dst_scale=Quant()),
    "f4_batch": Problem((2, 9, 3), (2, 3, 33), "f16", "f16", "f4_e2m1", dst_scale=Quant(4)),
    "s8_to_f4": Problem((9, 20), (20, 34), "s8", "u8", "f4_e2m1", limit=1),
    "f4_nv": Problem(
        (9, 96),
        (96, 34),
        "f4_e2m1",
        "f4_e2m1",
        "f32",
        src_scale=Quant(3, (1, 16), "f8_e4m3"),
        wei_scale=Quant(3, (16, 1), "f8_e4m3"),
        post_ops=(PostOp("binary", "binary_add", mask=2, dt="f4_e2m1"),),
    ),
    "f8_f4": Problem((9, 66), (66, 34), "f8_e4m3", "f4_e2m1", "bf16", wei_scale=Quant(3, (33, 1), "f8_e4m3")),
    "f16_f4": Problem((9, 96), (96, 36), "f16", "f4_e2m1", "f16", wei_scale=Quant(3, (32, 1), "e8m0")),
    "bf16_f4_batch": Problem(
        (2, 9, 64),
        (2, 64, 34),
        "bf16",
        "f4_e2m1",
        "f32",
        wei_order="acb",
        wei_scale=Quant(7, (32, 1), "e8m0"),
    ),
    # f8 and f4 that 16 bits have exactly: many and few rows, tails, scales along K.
    "f8_f8_packed": Problem((9, 67), (67, 70), "f8_e4m3", "f8_e5m2", "f32", wei_tag="BA16a64b4a"),
    "f8_f8_widened": Problem(
        (70, 300), (300, 260), "f8_e5m2", "f8_e4m3", "bf16", any_tags=True, scratchpad="user"
    ),
    "f4_f4_widened_batch": Problem((2, 41, 256), (2, 256, 130), "f4_e2m1", "f4_e2m1", "f32", any_tags=True),
    "f8_mx_groups": Problem(
        (37, 160),
        (160, 98),
        "f8_e4m3",
        "f8_e4m3",
        "f32",
        wei_tag="BA16a64b4a",
        src_scale=Quant(3, (1, 32), "e8m0"),
        wei_scale=Quant(3, (32, 1), "e8m0"),
    ),
    "f4_nv_groups": Problem(
        (3, 96),
        (96, 66),
        "f4_e2m1",
        "f4_e2m1",
        "f16",
        wei_tag="BA16a64b4a",
        src_scale=Quant(3, (1, 16), "f8_e4m3"),
        wei_scale=Quant(3, (16, 1), "f8_e4m3"),
    ),
    "bf16_f8_few_rows": Problem((2, 66), (66, 65), "bf16", "f8_e5m2", "bf16", wei_tag="BA16a64b4a"),
    "f16_f8_few_rows": Problem((4, 67), (67, 130), "f16", "f8_e4m3", "f16", wei_tag="BA16a64b4a"),
    "f16_f8_along_k": Problem((5, 203), (203, 34), "f16", "f8_e4m3", "f32", wei_order="ba"),
    "f4_f4_along_k": Problem((3, 202), (202, 70), "f4_e2m1", "f4_e2m1", "f32", wei_order="ba"),
    "f8_f4_plain": Problem((33, 130), (130, 128), "f8_e5m2", "f4_e2m1", "f8_e5m2", dst_scale=Quant(2)),
    "f8_f16": Problem((17, 40), (40, 66), "f8_e4m3", "f16", "f32", wei_tag="BA16a64b"),
    "f8_u4_groups": Problem(
        (17, 128),
        (128, 66),
        "f8_e4m3",
        "u4",
        "f32",
        wei_tag="BA16a64b4a",
        fpmath=("any", True),
        wei_scale=Quant(3, (32, 1), "e8m0"),
        wei_zp=zero_point(3, (32, 1), "u4"),
    ),
    "f32_f8_as_bf16": Problem(
        (9, 66), (66, 70), "f32", "f8_e4m3", "f32", wei_tag="BA16a64b4a", fpmath=("any", False)
    ),
    "f8_f8_zero_points": Problem(
        (9, 64), (64, 48), "f8_e4m3", "f8_e4m3", "f32", wei_zp=zero_point(3, (16, 1), "u8")
    ),
}

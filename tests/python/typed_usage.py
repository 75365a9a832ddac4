# SPDX-License-Identifier: Apache-2.0
"""Uses of zemm that mypy takes, and those that it must refuse, each on a line of its own. This file is
only read by mypy (test_python_words.py)."""

import ml_dtypes
import numpy as np
import zemm
from zemm.words import DType, PostOp

x = np.ones((4, 8), np.float32)
w = np.ones((8, 4), np.float32)
engine = zemm.Engine("cpu")
zemm.Engine("gpux")  # refused
zemm.Engine(0)  # refused
zemm.Engine.count("gpu")
zemm.Engine.count("npu")  # refused
engine.measure_peak("int8")
engine.measure_peak("flops")  # refused

with zemm.Stream(engine) as stream:
    stream.wait()
zemm.Stream("cpu")  # refused

spellings: list[DType] = ["f32", "float32", np.float32, np.dtype("f4"), ml_dtypes.bfloat16]
for spelling in spellings:
    zemm.MemoryDesc((2, 3), spelling)
zemm.MemoryDesc((2, 3), "f31")  # refused
zemm.MemoryDesc(5, "f32")  # refused
md = zemm.MemoryDesc((2, 3), "u4", "ab")
zemm.MemoryDesc(md.dims, md.data_type)
zemm.Memory(md, "cpu")  # refused

zemm.matmul(x, w, fpmath="bf16", dst_dtype=np.float16, engine=engine)
zemm.matmul(x, w, fpmath="oops")  # refused
zemm.matmul(x, w, engine="cpu")  # refused
zemm.matmul(x, w, dst_dtype="float31")  # refused
zemm.matmul(x, w, post_ops=["relu", ("gelu", 0.0), ("clip", 0.0, 6.0), ("add", x), "sum"])
zemm.matmul(x, w, post_ops=[("select", x, x), ("prelu", [0.1]), ("sum", 0.5)])
zemm.matmul(x, w, post_ops=["rleu"])  # refused
zemm.matmul(x, w, post_ops=[("ad", x)])  # refused
ops: list[PostOp] = ["tanh"]
zemm.matmul(x, w, post_ops=ops)

attr = zemm.Attr()
attr.set_fpmath_mode("any", apply_to_int=True)
attr.set_fpmath_mode("f128")  # refused
attr.set_accumulation_mode("fast")  # refused
attr.set_scratchpad_mode("user")
attr.set_scratchpad_mode("mine")  # refused
attr.set_rounding(zemm.ARG_DST, "up")  # refused
attr.set_scales(zemm.ARG_DST, 3, (1, 32), "f16", quantization_mode="dynamic_fp")
attr.set_scales(zemm.ARG_DST, 3, quantization_mode="dynamic")  # refused
attr.set_scales("src", 3)  # refused
post_ops = zemm.PostOps()
post_ops.append_eltwise("relu")
post_ops.append_eltwise("add")  # refused
post_ops.append_binary("binary_add", md)
post_ops.append_binary("relu", md)  # refused
post_ops.append_sum(1.0, 0, "s8")

made = zemm.quantize_activations(x, 8, "f16")
values, scales, reductions = made
values, scales, zero_points, reductions = zemm.quantize_activations(x, 8, dtype="u8")
zemm.quantize_activations(x, 8, "f64")  # refused
zemm.quantize_activations(x, 8, dtype="s4")  # refused
print(made.zero_points)  # refused
values, scales = zemm.quantize_floats(x, "f4_e2m1", "nvfp4")
zemm.quantize_floats(x, "s8")  # refused
zemm.quantize_floats(x, scaling="fp")  # refused
weights = zemm.quantize_weights(w, 8, scale_dtype=np.float16, symmetric=True)
zemm.quantize_weights(w, 8, scale_dtype="s8")  # refused
zemm.matmul(values, weights.values, weights_scales=weights.scales)
print(weights.zero_points + 1)  # refused

pd = zemm.MatmulPrimitiveDesc(engine, md, md, md, attr=attr)
pd.query_md("dst_md")
pd.query_md("dst")  # refused
zemm.Primitive(pd).execute(stream, {zemm.ARG_SRC: x})  # refused
zemm.InnerProductPrimitiveDesc(engine, md, md, md, prop_kind="forward_training")
zemm.InnerProductPrimitiveDesc(engine, md, md, md, prop_kind="backward")  # refused

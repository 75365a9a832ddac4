# SPDX-License-Identifier: Apache-2.0
"""Invalid matmuls: a valid problem with one error, the expected status, and words of the expected
sentence.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import zemm
from hypothesis import strategies as st
from support_problem import INT8, SMALL_FLOATS, Problem, masked, zero_point
from support_run import make_attr

SRC, WEI, DST = zemm.ARG["SRC"], zemm.ARG["WEIGHTS"], zemm.ARG["DST"]
INT4 = ("s4", "u4")
Draw = Callable[[Any], Any]


@dataclass
class Wrong:
    """dims and types are what differs from the problem's descriptors. attr changes the attribute."""

    problem: Problem
    status: str
    names: list[Any]
    dims: dict[str, tuple[int, ...]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    attr: Callable[[zemm.Attr], None] = lambda attr: None

    def create(self, engine: zemm.Engine) -> zemm.MatmulPrimitiveDesc:
        p = self.problem
        mds = []
        for name in ("src", "wei", "dst"):
            dims, dt = self.dims.get(name, p.dims(name)), self.types.get(name, getattr(p, f"{name}_dt"))
            changed = name in self.dims or name in self.types
            mds.append(
                zemm.MemoryDesc(dims, dt, "any" if changed else None, None if changed else p.strides(name))
            )
        bias = None
        if "bias" in self.dims or p.bias_dt:
            dims = self.dims.get("bias", masked(p.dst_dims, p.bias_mask))
            bias = zemm.MemoryDesc(dims, self.types.get("bias", p.bias_dt or "f32"), "any")
        attr = make_attr(p)
        self.attr(attr)
        src, wei, dst = mds
        return zemm.MatmulPrimitiveDesc(engine, src, wei, dst, bias, attr)


def invalid(problem: Problem, names: list[Any], **changes: Any) -> Wrong:
    return Wrong(problem, "invalid_arguments", names, **changes)


def unimplemented(problem: Problem, names: list[Any], **changes: Any) -> Wrong:
    return Wrong(problem, "unimplemented", names, **changes)


def text(dims: tuple[int, ...]) -> str:
    return "x".join(map(str, dims))


def grown(dims: tuple[int, ...], axis: int, by: int) -> tuple[int, ...]:
    result = list(dims)
    result[axis] += by
    return tuple(result)


def wrong_m(draw: Draw, p: Problem) -> Wrong:
    dims = grown(p.dst_dims, -2, 3)
    return invalid(
        replace(p, bias_dt=None), ["M", "src", "dst", text(dims), text(p.src_dims)], dims={"dst": dims}
    )


def wrong_n(draw: Draw, p: Problem) -> Wrong:
    dims = grown(p.dst_dims, -1, 5)
    return invalid(replace(p, bias_dt=None), ["N", text(dims), text(p.wei_dims)], dims={"dst": dims})


def wrong_k(draw: Draw, p: Problem) -> Wrong:
    dims = grown(p.wei_dims, -2, 7)
    return invalid(p, ["K", text(dims), text(p.src_dims)], dims={"wei": dims})


def more_dimensions(draw: Draw, p: Problem) -> Wrong | None:
    if p.ndims == 12:
        return None
    name, said = draw(st.sampled_from([("wei", "weights"), ("dst", "dst"), ("bias", "bias")]))
    return invalid(
        p, [said, p.ndims + 1, p.ndims], dims={name: (1, *p.dims("dst" if name == "bias" else name))}
    )


def one_dimension(draw: Draw, p: Problem) -> Wrong:
    return invalid(p, ["src", "1 dim"], dims={"src": (p.k,)})


def wrong_batch(draw: Draw, p: Problem) -> Wrong | None:
    if p.ndims == 2:
        return None
    dims = (p.dst_dims[0] + 4, *p.dst_dims[1:])
    return invalid(replace(p, bias_dt=None), ["batch dimension 0", text(dims)], dims={"dst": dims})


def wrong_bias(draw: Draw, p: Problem) -> Wrong:
    dims = grown(p.dst_dims, -1, 2)
    return invalid(p, ["bias", text(dims), text(p.dst_dims)], dims={"bias": dims})


def no_sum_type(draw: Draw, p: Problem) -> Wrong:
    types = {"src": "s8", "wei": "f32", "dst": "f32"}
    return invalid(replace(p, bias_dt=None), ["s8", "f32"], types=types)


def s32_src(draw: Draw, p: Problem) -> Wrong:
    return invalid(p, ["s32"], types={"src": "s32", "wei": "s8", "dst": "s32"})


def group_past_k(draw: Draw, p: Problem) -> Wrong | None:
    if not (p.integer and p.k):
        return None
    mask, group = 3 << (p.ndims - 2), p.k + 16
    plain = replace(p, reduction_group=None, src_scale=None, src_zp=None, wei_zp=None)
    return unimplemented(
        plain, ["weights scales", group, p.k], attr=lambda a: a.set_scales(WEI, mask, (group, 1))
    )


def group_that_divides_not(draw: Draw, p: Problem) -> Wrong | None:
    group = p.k - 1
    if not p.integer or group < 2 or p.k % group == 0:
        return None
    mask, plain = 3 << (p.ndims - 2), replace(p, reduction_group=None)
    return unimplemented(plain, ["src scales", group], attr=lambda a: a.set_scales(SRC, mask, (1, group)))


def reductions_without_zero_points(draw: Draw, p: Problem) -> Wrong | None:
    if not p.integer:
        return None
    plain = replace(p, wei_zp=None, reduction_group=None)
    every = 2**p.ndims - 1
    return unimplemented(
        plain,
        ["reductions", "zero points"],
        attr=lambda a: a.set_precomputed_reductions(SRC, every, (1, max(p.k, 1))),
    )


def reduction_group(draw: Draw, p: Problem) -> Wrong | None:
    group = p.k - 1
    if not p.integer or group < 2 or p.k % group == 0:
        return None
    plain = replace(p, src_scale=None, wei_scale=None, src_zp=None, wei_zp=zero_point(), reduction_group=None)
    every = 2**p.ndims - 1
    # A group that does not divide K is unimplemented, as for scales and zero points.
    return unimplemented(
        plain, ["reductions", group, p.k], attr=lambda a: a.set_precomputed_reductions(SRC, every, (1, group))
    )


def reduction_mask(draw: Draw, p: Problem) -> Wrong | None:
    if not (p.integer and p.k):
        return None
    plain = replace(p, wei_zp=zero_point(), reduction_group=None)
    mask = 1 << (p.ndims - 1)
    return unimplemented(
        plain, ["reductions", mask], attr=lambda a: a.set_precomputed_reductions(SRC, mask, (1, p.k))
    )


def reductions_of_a_float(draw: Draw, p: Problem) -> Wrong | None:
    if p.integer:
        return None
    every = 2**p.ndims - 1
    return unimplemented(
        p,
        ["reductions", p.src_dt],
        attr=lambda a: a.set_precomputed_reductions(SRC, every, (1, max(p.k, 1))),
    )


def src_zero_point_of_a_float(draw: Draw, p: Problem) -> Wrong | None:
    if p.integer or p.wei_dt not in ("f32", "f16", "bf16") or p.src_dt.startswith(("f8", "f4")):
        return None
    return unimplemented(p, ["src zero points", p.src_dt], attr=lambda a: a.set_zero_points(SRC, 0))


def weights_zero_point_of_floats(draw: Draw, p: Problem) -> Wrong | None:
    if p.wei_dt not in ("f32", "f16", "bf16"):
        return None
    return unimplemented(p, ["weights zero points", p.wei_dt], attr=lambda a: a.set_zero_points(WEI, 0))


def mask_past_the_dimensions(draw: Draw, p: Problem) -> Wrong | None:
    if p.ndims == 12:
        return None
    mask = 1 << p.ndims
    return unimplemented(p, ["scales", mask], attr=lambda a: a.set_scales(WEI, mask))


def dst_scale_groups_of_wide_floats(draw: Draw, p: Problem) -> Wrong:
    mask, plain = 3 << (p.ndims - 2), Problem(p.src_dims, p.wei_dims)
    return unimplemented(
        plain, ["dst scales", "8 bits", "f32"], attr=lambda a: a.set_scales(DST, mask, (1, 32))
    )


def dst_scale_group_that_divides_not(draw: Draw, p: Problem) -> Wrong | None:
    m = p.src_dims[-2]
    if m < 1:
        return None
    mask, plain = 3 << (p.ndims - 2), Problem(p.src_dims, p.wei_dims, dst_dt="f8_e4m3")
    return unimplemented(
        plain, ["dst scales", m + 1, "M"], attr=lambda a: a.set_scales(DST, mask, (m + 1, 1))
    )


def src_scale_k_without_groups(draw: Draw, p: Problem) -> Wrong:
    mask = 1 << (p.ndims - 1)
    plain = replace(p, src_scale=None)
    return unimplemented(plain, ["src scales", mask], attr=lambda a: a.set_scales(SRC, mask))


def dst_zero_point_of_rows(draw: Draw, p: Problem) -> Wrong | None:
    if not p.integer:
        return None
    mask = 1 << (p.ndims - 2)
    return unimplemented(p, ["dst zero points", mask], attr=lambda a: a.set_zero_points(DST, mask))


def no_apply_to_int(draw: Draw, p: Problem) -> Wrong | None:
    if p.integer or p.wei_dt not in INT8 + INT4:
        return None
    plain, mask = replace(p, wei_scale=None, wei_zp=None), 1 << (p.ndims - 2)

    def scale_rows(attr: zemm.Attr) -> None:
        attr.set_fpmath_mode("any", False)
        attr.set_scales(WEI, mask)

    return unimplemented(plain, ["weights scales", mask, "apply_to_int"], attr=scale_rows)


def binary_of_other_dimensions(draw: Draw, p: Problem) -> Wrong:
    dims = draw(st.sampled_from([grown(p.dst_dims, -2, 2), (1, *p.dst_dims)][: 1 if p.ndims == 12 else 2]))

    def add(attr: zemm.Attr) -> None:
        ops = zemm.PostOps()
        ops.append_binary("binary_add", zemm.MemoryDesc(dims, "f32"))
        attr.set_post_ops(ops)

    return invalid(p, ["post-op 0", "src1", text(dims), text(p.dst_dims)], attr=add)


def sum_of_another_size(draw: Draw, p: Problem) -> Wrong:
    dt = "f32" if p.dst_dt in (*INT8, *SMALL_FLOATS) else "s8"

    def add(attr: zemm.Attr) -> None:
        ops = zemm.PostOps()
        ops.append_sum(1.0, 0, dt)
        attr.set_post_ops(ops)

    return unimplemented(p, ["post-op 0", dt, p.dst_dt], attr=add)


def dynamic_scales(draw: Draw, p: Problem) -> Wrong:
    every = 2**p.ndims - 1
    groups = (1, 24)
    return unimplemented(
        p,
        ["dst", "dynamic_mx", "1x32"],
        attr=lambda a: a.set_scales(DST, every, groups, "e8m0", quantization_mode="dynamic_mx"),
    )


def f64_dst_of_f32(draw: Draw, p: Problem) -> Wrong:
    plain = Problem(p.src_dims, p.wei_dims)
    return unimplemented(plain, ["f64"], types={"src": "f32", "wei": "f32", "dst": "f64"})


def f8_weights_of_an_integer(draw: Draw, p: Problem) -> Wrong:
    plain = Problem(p.src_dims, p.wei_dims)
    return unimplemented(plain, ["weights", "s8", "f8_e5m2"], types={"src": "s8", "wei": "f8_e5m2"})


def f4_bias(draw: Draw, p: Problem) -> Wrong:
    plain = Problem(p.src_dims, p.wei_dims, bias_dt="f4_e2m1")
    return unimplemented(plain, ["bias", "f4_e2m1"])


MUTATIONS: list[Callable[[Draw, Problem], Wrong | None]] = [
    value
    for value in list(globals().values())
    if callable(value) and getattr(value, "__annotations__", {}).get("draw") is Draw
]

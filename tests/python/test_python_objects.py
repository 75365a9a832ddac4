# SPDX-License-Identifier: Apache-2.0
"""The Python classes of the C objects: descriptors, memories, lifetimes and errors."""

import gc
import resource

import numpy as np
import pytest
import zemm
from zemm import ARG_DST, ARG_SRC, ARG_WEIGHTS


def small_pd(engine: zemm.Engine, attr: zemm.Attr | None = None) -> zemm.MatmulPrimitiveDesc:
    src, weights, dst = (zemm.MemoryDesc(dims, "f32", "ab") for dims in ((2, 3), (3, 4), (2, 4)))
    return zemm.MatmulPrimitiveDesc(engine, src, weights, dst, attr=attr)


class TestPrimitive:
    def test_modules(self, engine: zemm.Engine) -> None:
        """The modules that a primitive is built from depend on the implementation and on the
        problem.
        """
        floats, empty = zemm.MemoryDesc((64, 64), "f32"), zemm.MemoryDesc((0, 64), "f32")
        pd = zemm.MatmulPrimitiveDesc(engine, floats, floats, floats)
        (module, *_) = pd.modules()
        assert (module.name, module.kernel, module.build_flags) == (pd.impl_info, "matmul", "")
        assert module.spirv[:4] == b"\x03\x02\x23\x07"
        assert {0, 1} <= set(module.constants)  # the types of src and weights
        halves = zemm.MemoryDesc((64, 64), "f16")
        (other, *_) = zemm.MatmulPrimitiveDesc(engine, halves, floats, floats).modules()
        assert (other.name, other.spirv) == (module.name, module.spirv)
        changed = {i for i in module.constants if module.constants[i] != other.constants[i]}
        assert 0 in changed <= {0, 4}  # the type of src, and whether it is read in place
        assert pd.next_impl()
        assert pd.modules()[0].name == pd.impl_info != module.name
        assert zemm.MatmulPrimitiveDesc(engine, empty, floats, empty).modules() == ()
        (reorder,) = zemm.ReorderPrimitiveDesc(engine, floats, zemm.MemoryDesc((64, 64), "f16")).modules()
        assert reorder.name == reorder.kernel

    def test_unimplemented(self, engine: zemm.Engine) -> None:
        attr = zemm.Attr()
        attr.set_zero_points(ARG_SRC, 0)  # f32 has no zero points
        with pytest.raises(NotImplementedError) as caught:
            small_pd(engine, attr)
        assert caught.value.status == "unimplemented"  # type: ignore[attr-defined]
        assert str(caught.value)

    def test_bound_arguments(self, engine: zemm.Engine, stream: zemm.Stream) -> None:
        """A bound call uses what the memories hold when it runs, and keeps the memories alive."""
        src, out = np.ones((2, 3), np.float32), np.zeros((2, 4), np.float32)
        args = {
            ARG_SRC: zemm.Memory(zemm.MemoryDesc((2, 3), "f32"), engine, src),
            ARG_WEIGHTS: zemm.Memory(zemm.MemoryDesc((3, 4), "f32"), engine, np.full((3, 4), 2, "f4")),
            ARG_DST: zemm.Memory(zemm.MemoryDesc((2, 4), "f32"), engine, out),
        }
        submit = zemm.Primitive(small_pd(engine)).bind(stream, args)
        del args
        gc.collect()
        for value in (1, 5):
            src[:] = value
            submit()
            stream.wait()
            assert (out == 6 * value).all()

    def test_profiling(self, engine: zemm.Engine) -> None:
        stream = zemm.Stream(engine, profiling=True)
        primitive = zemm.Primitive(small_pd(engine))
        args = {
            ARG_SRC: zemm.Memory(zemm.MemoryDesc((2, 3), "f32"), engine, np.ones((2, 3), "f4")),
            ARG_WEIGHTS: zemm.Memory(zemm.MemoryDesc((3, 4), "f32"), engine, np.ones((3, 4), "f4")),
            ARG_DST: zemm.Memory(zemm.MemoryDesc((2, 4), "f32"), engine),
        }
        stream.reset_profiling()
        for _ in range(3):
            primitive.execute(stream, args)
        times = stream.profiling_times()
        assert len(times) == 3
        assert all(0 < time < 10**10 for time in times)
        stream.reset_profiling()
        assert stream.profiling_times() == []
        assert (args[ARG_DST].as_numpy() == 3).all()


def objects() -> dict[str, object]:
    """One object of each class, each created from those before it."""
    engine = zemm.Engine("cpu")
    stream = zemm.Stream(engine)
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((2, 3), (3, 4), (2, 4))]
    post_ops = zemm.PostOps()
    post_ops.append_eltwise("eltwise_relu")
    attr = zemm.Attr()
    attr.set_post_ops(post_ops)
    pd = zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr)
    primitive = zemm.Primitive(pd)
    memories = [zemm.Memory(md, engine, np.ones(md.dims, np.float32)) for md in mds]
    primitive.execute(stream, dict(zip((ARG_SRC, ARG_WEIGHTS, ARG_DST), memories, strict=True)))
    return {
        "engine": engine,
        "stream": stream,
        "mds": mds,
        "attr": (post_ops, attr),
        "pd": pd,
        "primitive": primitive,
        "memories": memories,
    }


@pytest.mark.usefixtures("engine")
class TestLifetime:
    def test_submitted_work_keeps_its_memories(self, engine: zemm.Engine, stream: zemm.Stream) -> None:
        primitive = zemm.Primitive(small_pd(engine))
        out = np.zeros((2, 4), np.float32)
        for _ in range(20):
            args = {
                ARG_SRC: zemm.Memory(zemm.MemoryDesc((2, 3), "f32"), engine, np.full((2, 3), 2, "f4")),
                ARG_WEIGHTS: zemm.Memory(zemm.MemoryDesc((3, 4), "f32"), engine, np.full((3, 4), 2, "f4")),
                ARG_DST: zemm.Memory(zemm.MemoryDesc((2, 4), "f32"), engine, out),
            }
            primitive.execute(stream, args)
            del args
            gc.collect(0)
        stream.wait()
        assert (out == 12).all()

    def test_no_leaks(self) -> None:
        def megabytes() -> float:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

        def work(times: int) -> None:
            for _ in range(times):
                objects()
                for bad in (lambda: zemm.MemoryDesc((2, -3), "f32"), lambda: zemm.Engine("cpu", 99)):
                    with pytest.raises(ValueError, match=r"\w"):
                        bad()
            gc.collect()

        def multiply(times: int) -> None:
            for _ in range(times):
                zemm.matmul(np.ones((256, 64), np.float32), np.ones((64, 256), np.float32), engine=engine)
                zemm.Memory(big, engine).write(np.zeros((1024, 1024), np.float32))

        engine = zemm.Engine("cpu")
        big = zemm.MemoryDesc((1024, 1024), "f32")
        work(100)
        multiply(1)  # building a kernel takes memory, too
        before = megabytes()
        work(300)
        multiply(200)
        # A leak of 200 x 4 MB, or of results of 200 x 256 KB, would exceed this.
        assert megabytes() - before < 40

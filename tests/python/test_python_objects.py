# SPDX-License-Identifier: Apache-2.0
"""Python objects: as values (equality, hash, repr, copies, pickle), their modules and times, the with block
of a stream, and how long they live."""

import copy
import gc
import pickle
import resource
import threading
from collections.abc import Callable

import numpy as np
import pytest
import zemm
from hypothesis import given, settings
from hypothesis import strategies as st
from zemm import ARG_DST, ARG_SRC, ARG_WEIGHTS, RUNTIME_DIM, MemoryDesc

# Descriptors with their repr.
DESCRIPTORS: list[tuple[Callable[[], MemoryDesc], str]] = [
    (lambda: MemoryDesc((2, 3), "f32"), "(2, 3) f32 ab"),
    (lambda: MemoryDesc((2, 3), "f16", "ba"), "(2, 3) f16 ba"),
    (lambda: MemoryDesc((5,), "u4"), "(5,) u4 a"),
    (lambda: MemoryDesc((2, 3, 5), "bf16", "acb"), "(2, 3, 5) bf16 acb"),
    (lambda: MemoryDesc((2, 3), "f32", strides=(8, 1)), "(2, 3) f32 strides (8, 1)"),
    (lambda: MemoryDesc((70, 130), "s8", "BA16a64b4a"), "(70, 130) s8 packed BA16a64b4a"),
    (lambda: MemoryDesc((64, 64), "s8", "BA16a64b4a"), "(64, 64) s8 packed BA16a64b4a"),
    (lambda: MemoryDesc((130, 70), "u8", "aB8b"), "(130, 70) u8 packed aB8b"),
    (lambda: MemoryDesc((2, 3), "f32", "any"), "(2, 3) f32 any"),
    (lambda: MemoryDesc((RUNTIME_DIM, 3), "f32", "ab"), "(?, 3) f32 ab"),
    (lambda: MemoryDesc((4, 6), "f32").submemory((2, 3), (1, 2)), "(2, 3) f32 strides (6, 1) offset 8"),
    (
        lambda: MemoryDesc((128, 64), "s8", "BA16a64b4a").submemory((64, 64), (64, 0)),
        "(64, 64) s8 packed BA16a64b4a strides (4096, 8192) offset 4096",
    ),
    (lambda: MemoryDesc.host_scalar("s32"), "s32 host scalar"),
    (lambda: MemoryDesc.csr((4, 6), "f32", 7), "(4, 6) f32 csr of 7 values"),
    (lambda: MemoryDesc.coo((4, 6), "f32", 7), "(4, 6) f32 coo of 7 values"),
    (lambda: MemoryDesc.packed((4, 6), "s8", 7), "(4, 6) s8 packed encoding of 7 values"),
    (lambda: MemoryDesc.grouped((4, 6), "f32", 0, 3), "(4, 6) f32 grouped, 3 groups"),
    (MemoryDesc.zero, "zero"),
]


@pytest.mark.parametrize(("make", "text"), DESCRIPTORS, ids=[text for _, text in DESCRIPTORS])
def test_descriptor(make: Callable[[], MemoryDesc], text: str) -> None:
    md, other = make(), make()
    assert repr(md) == f"<MemoryDesc {text}>"
    assert len({md, other}) == 1
    copies = [pickle.loads(pickle.dumps(md)), copy.copy(md), copy.deepcopy(md), MemoryDesc.from_blob(md.blob)]
    for copied in copies:
        assert copied == md
        assert repr(copied) == repr(md)
    assert sum(md == another() for another, _ in DESCRIPTORS) == 1
    assert md != text


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_equal_descriptors_have_equal_hashes(data: st.DataObject) -> None:
    dims = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    letters = data.draw(st.permutations("abcd"[: len(dims)]))
    by_tag = MemoryDesc(dims, "f32", "".join(letters))
    by_strides = MemoryDesc(np.array(dims), np.float32, strides=by_tag.strides)
    assert by_tag == by_strides
    assert hash(by_tag) == hash(by_strides)
    tag = repr(by_tag).split()[-1].rstrip(">")  # of several equal tags one is shown
    assert MemoryDesc(dims, "f32", tag) == by_tag


def test_subclasses_are_kept_by_copies() -> None:
    class Mine(MemoryDesc):
        pass

    assert type(copy.copy(Mine((2, 3), "f32"))) is Mine
    assert Mine((2, 3), "f32") == MemoryDesc((2, 3), "f32")


def test_engines_are_equal_if_identical(engine: zemm.Engine) -> None:
    """A primitive of one engine object takes no memory of another one, so they are not equal."""
    other = zemm.Engine("cpu")
    assert engine != other
    assert len({engine, engine, other}) == 2
    assert repr(engine) == repr(other) == "Engine('cpu', 0)"


def post_ops() -> zemm.PostOps:
    ops = zemm.PostOps()
    ops.append_eltwise("relu", 0.5)
    ops.append_binary("add", MemoryDesc((1, 4), "f32"))
    ops.append_sum()
    ops.append_prelu(2)
    return ops


def test_post_ops() -> None:
    ops, attr = post_ops(), zemm.Attr()
    entries = (
        "('eltwise_relu', 0.5, 0.0)",
        "('binary_add', <MemoryDesc (1, 4) f32 ab>)",
        "('sum', 1.0, 0, 'undef')",
        "('prelu', 2)",
    )
    assert repr(ops) == f"<PostOps [{', '.join(entries)}]>"
    assert ops == post_ops() != zemm.PostOps()
    for copied in (copy.copy(ops), copy.deepcopy(ops)):
        copied.append_eltwise("tanh")
        assert (len(copied), len(ops)) == (5, 4)
        assert copied != ops == post_ops()
    with pytest.raises(TypeError, match="unhashable"):
        hash(ops)
    attr.set_post_ops(ops)
    before = repr(attr)
    ops.append_sum()  # attributes keep the post-ops of their time
    assert repr(attr) == before
    assert "'prelu'" in before


def attributes() -> zemm.Attr:
    attr = zemm.Attr()
    attr.set_scales(ARG_SRC, 3, [1, 128], np.float16)
    attr.set_zero_points(ARG_WEIGHTS, 2, (), "s8")
    attr.set_fpmath_mode("bf16", True)
    attr.set_deterministic(True)
    attr.set_rounding(ARG_DST, "stochastic")
    attr.set_reduced_range(ARG_SRC)
    attr.set_src_dyn_quant_params(32)
    attr.set_dropout()
    return attr


def test_attributes(engine: zemm.Engine) -> None:
    attr = attributes()
    assert repr(attr) == (
        "<Attr scales[ARG_SRC]=(3, (1, 128), 'f16', False, 'static_sazp'), "
        "zero_points[ARG_WEIGHTS]=(2, (), 's8', False), fpmath_mode=('bf16', True), deterministic=(True,), "
        "rounding[ARG_DST]=('stochastic',), reduced_range[ARG_SRC]=(True,), src_dyn_quant_params=(32,), "
        "dropout=(None, 's64', False, False)>"
    )
    assert repr(zemm.Attr()) == "<Attr default>"
    assert attr == attributes() != zemm.Attr()
    copied = copy.copy(attr)
    copied.set_fpmath_mode("f16")  # replaces the setting
    assert copied != attr == attributes()
    copied.set_fpmath_mode("bf16", True)
    assert copied == attr
    attr = zemm.Attr()
    attr.set_fpmath_mode("any", apply_to_int=True)
    attr.set_scales(ARG_WEIGHTS, 1)
    mds = MemoryDesc((2, 8), "f16"), MemoryDesc((8, 4), "s8"), MemoryDesc((2, 4), "f32")
    assert zemm.MatmulPrimitiveDesc(engine, *mds, attr=copy.copy(attr)).impl_info
    attr.set_fpmath_mode("any")
    with pytest.raises(zemm.UnimplementedError, match="apply_to_int") as caught:
        zemm.MatmulPrimitiveDesc(engine, *mds, attr=copy.copy(attr))
    assert caught.value.status == "unimplemented"


class Product:
    """src [2, 3] by weights [3, 4], all of them 1: descriptor, primitive, arguments, and dst's array."""

    def __init__(self, engine: zemm.Engine) -> None:
        mds = [MemoryDesc(dims, "f32") for dims in ((2, 3), (3, 4), (2, 4))]
        self.src, weights, self.dst = (np.ones(md.dims, np.float32) for md in mds)
        arrays = (self.src, weights, self.dst)
        memories = [zemm.Memory(md, engine, array) for md, array in zip(mds, arrays, strict=True)]
        self.args = dict(zip((ARG_SRC, ARG_WEIGHTS, ARG_DST), memories, strict=True))
        self.pd = zemm.MatmulPrimitiveDesc(engine, *mds)
        self.primitive = zemm.Primitive(self.pd)


def test_other_objects_say_what_they_are(engine: zemm.Engine, stream: zemm.Stream) -> None:
    made = Product(engine)
    assert repr(stream) == "<Stream on Engine('cpu', 0)>"
    assert repr(made.args[ARG_DST]) == "<Memory of <MemoryDesc (2, 4) f32 ab> on Engine('cpu', 0)>"
    assert "on the host" in repr(zemm.Memory.host_scalar(MemoryDesc.host_scalar("f32"), 1.0))
    assert repr(made.pd) == f"<MatmulPrimitiveDesc {made.pd.impl_info} on Engine('cpu', 0)>"
    assert repr(made.primitive) == f"<Primitive {made.pd.impl_info} on Engine('cpu', 0)>"


def test_modules(engine: zemm.Engine) -> None:
    """The modules that a primitive is built from depend on the implementation and on the problem."""
    floats, empty = MemoryDesc((64, 64), "f32"), MemoryDesc((0, 64), "f32")
    pd = zemm.MatmulPrimitiveDesc(engine, floats, floats, floats)
    (module, *_) = pd.modules()
    assert (module.name, module.kernel, module.build_flags) == (pd.impl_info, "matmul", "")
    assert module.spirv[:4] == b"\x03\x02\x23\x07"
    assert {0, 1} <= set(module.constants)  # the types of src and weights
    halves = MemoryDesc((64, 64), "f16")
    (other, *_) = zemm.MatmulPrimitiveDesc(engine, halves, floats, floats).modules()
    assert (other.name, other.spirv) == (module.name, module.spirv)
    changed = {i for i in module.constants if module.constants[i] != other.constants[i]}
    assert 0 in changed <= {0, 4}  # the type of src, and whether it is read in place
    assert pd.next_impl()
    assert pd.modules()[0].name == pd.impl_info != module.name
    assert zemm.MatmulPrimitiveDesc(engine, empty, floats, empty).modules() == ()
    (reorder,) = zemm.ReorderPrimitiveDesc(engine, floats, halves).modules()
    assert reorder.name == reorder.kernel


def test_bound_arguments(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """A bound call uses what the memories hold when it runs, and keeps the memories alive."""
    made = Product(engine)
    submit, src, dst = made.primitive.bind(stream, made.args), made.src, made.dst
    del made
    gc.collect()
    for value in (1, 5):
        src[:] = value
        submit()
        stream.wait()
        assert (dst == 3 * value).all()


def test_profiling(engine: zemm.Engine) -> None:
    stream, made = zemm.Stream(engine, profiling=True), Product(engine)
    for _ in range(3):
        made.primitive.execute(stream, made.args)
    times = stream.profiling_times()
    assert len(times) == 3
    assert all(0 < time < 10**10 for time in times)
    stream.reset_profiling()
    assert stream.profiling_times() == []
    assert (made.dst == 3).all()


@pytest.mark.parametrize("fails", [False, True])
def test_a_with_block_waits(engine: zemm.Engine, fails: bool) -> None:
    """Also if it ends with an exception, which stays. The stream stays usable."""
    made, stream = Product(engine), zemm.Stream(engine)

    def run() -> None:
        with stream:
            made.primitive.execute(stream, made.args)
            assert stream._in_flight
            if fails:
                raise KeyError("mine")

    if fails:
        with pytest.raises(KeyError, match="mine"):
            run()
    else:
        run()
    assert not stream._in_flight
    assert (made.dst == 3).all()
    made.primitive.execute(stream, made.args)
    stream.wait()


@pytest.mark.parametrize("in_block", [False, True])
def test_a_failing_wait(engine: zemm.Engine, in_block: bool) -> None:
    """It is raised, unless the block has an exception of its own."""

    class Failing(zemm.Stream):
        def wait(self) -> None:
            raise zemm.DeviceError("lost")

    def run() -> None:
        with Failing(engine):
            if in_block:
                raise KeyError

    with pytest.raises(KeyError if in_block else zemm.DeviceError):
        run()


def test_threads_share_descriptors() -> None:
    """Hashes, reprs and pickles of one object in several threads."""
    md, found = MemoryDesc((70, 130), "s8", "BA16a64b4a"), set()

    def look() -> None:
        for _ in range(200):
            found.add((hash(md), repr(md), pickle.dumps(md)))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 1


def test_submitted_work_keeps_its_memories(engine: zemm.Engine, stream: zemm.Stream) -> None:
    results = []
    for _ in range(20):
        made = Product(engine)
        made.primitive.execute(stream, made.args)
        results.append(made.dst)
        del made
        gc.collect(0)
    stream.wait()
    assert all((dst == 3).all() for dst in results)


def test_no_leaks() -> None:
    def megabytes() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def work(times: int) -> None:
        for _ in range(times):
            engine, attr = zemm.Engine("cpu"), zemm.Attr()
            attr.set_post_ops(post_ops())
            made = Product(engine)
            made.primitive.execute(zemm.Stream(engine), made.args)
            for bad in (lambda: MemoryDesc((2, -3), "f32"), lambda: zemm.Engine("cpu", 99)):
                with pytest.raises(ValueError, match=r"\w"):
                    bad()
        gc.collect()

    def multiply(times: int) -> None:
        for _ in range(times):
            zemm.matmul(np.ones((256, 64), np.float32), np.ones((64, 256), np.float32), engine=engine)
            zemm.Memory(big, engine).write(np.zeros((1024, 1024), np.float32))

    engine = zemm.Engine("cpu")
    big = MemoryDesc((1024, 1024), "f32")
    work(100)
    multiply(1)  # building a kernel takes memory, too
    before = megabytes()
    work(300)
    multiply(200)
    # A leak of 200 x 4 MB, or of results of 200 x 256 KB, would exceed this.
    assert megabytes() - before < 40

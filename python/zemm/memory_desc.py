# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors: the shape, data type and layout of a tensor."""

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from zemm._library import check, layouts, library
from zemm._library.check import INT64
from zemm.dtypes import numpy_dtype, type_number
from zemm.errors import InvalidArgumentsError
from zemm.words import DataType, DType

Dims = Sequence[int]


class MemoryDesc:
    """The shape, data type and layout of a tensor; immutable.

    Descriptors of the same layout are equal, also if one was made with a tag and one with strides.
    They are hashable and can be pickled and copied.

    dims: up to 12 numbers; RUNTIME_DIM for a dimension that is known at execution only. data_type:
    "f32", "u4", ... in any spelling that dtype_name() takes. The layout is given by a tag or by
    strides in elements, and is row-major without both. A tag ("ab", "acb", "BA16a64b4a") has a
    letter for each dimension, the outermost first; "any" lets the library choose. ValueError: the
    arguments make no tensor.
    """

    _library: ClassVar[Any] = library  # peers of zemm.benchdnn set another library

    def __init__(
        self, dims: Dims, data_type: DType, tag: str | None = None, strides: Dims | None = None
    ) -> None:
        ndims, c_dims = library.dims(dims)
        args = (ndims, c_dims, type_number(data_type, "data_type"))
        c_tag = None if tag is None else check.text(tag, "tag")
        c_strides = library.NULL
        if strides is not None:
            nstrides, c_strides = library.dims(strides, "strides")
            if tag is not None:
                raise InvalidArgumentsError(f"both tag {tag!r} and strides {tuple(strides)} are given")
            if nstrides != ndims:
                raise InvalidArgumentsError(f"strides {tuple(strides)} do not fit dims {tuple(dims)}")
        if c_tag is None:
            self._make("memory_desc_create_with_strides", *args, c_strides)
        else:
            self._make("memory_desc_create_with_string_tag", *args, c_tag)

    def _make(self, function: str, *args: Any) -> None:
        self._handle: Any = self._library.create("memory_desc", function, *args)

    @classmethod
    def _new(cls, function: str, *args: Any) -> "MemoryDesc":
        md = cls.__new__(cls)
        md._make(function, *args)
        return md

    @classmethod
    def _copy_of(cls, handle: Any) -> "MemoryDesc":
        return cls._new("memory_desc_clone", handle)

    @classmethod
    def zero(cls) -> "MemoryDesc":
        """A descriptor without dimensions, which stands for "no tensor"."""
        return cls._new(
            "memory_desc_create_with_strides", *library.dims(()), type_number("undef"), library.NULL
        )

    @classmethod
    def host_scalar(cls, data_type: DType) -> "MemoryDesc":
        """A descriptor of one value that stays on the host."""
        return cls._new("memory_desc_create_host_scalar", type_number(data_type, "data_type"))

    @classmethod
    def from_blob(cls, blob: bytes) -> "MemoryDesc":
        """The descriptor that `blob` was read from. ValueError: it is no such blob, or that of
        another version of the library."""
        if not isinstance(blob, (bytes, bytearray)):
            raise InvalidArgumentsError(f"blob is {check.shown(blob)}, not bytes")
        if len(blob) != (size := len(cls.zero().blob)):
            raise InvalidArgumentsError(f"blob has {len(blob)} bytes, not {size}")
        return cls._new("memory_desc_create_with_blob", bytes(blob))

    @property
    def blob(self) -> bytes:
        """The descriptor as bytes, for from_blob()."""
        return library.md_blob(self._handle)

    @classmethod
    def csr(
        cls, dims: Dims, data_type: DType, nnz: int, indices_dt: DType = "s32", pointers_dt: DType = "s32"
    ) -> "MemoryDesc":
        """Compressed sparse rows with nnz values. Its buffers are values, column indices and row
        pointers."""
        types = (type_number(indices_dt, "indices_dt"), type_number(pointers_dt, "pointers_dt"))
        return cls._new("memory_desc_create_with_csr_encoding", *_sparse(dims, data_type, nnz), *types)

    @classmethod
    def coo(cls, dims: Dims, data_type: DType, nnz: int, indices_dt: DType = "s32") -> "MemoryDesc":
        """Coordinates of nnz values. Its buffers are the values and, for each dimension, the
        indices."""
        index_type = type_number(indices_dt, "indices_dt")
        return cls._new("memory_desc_create_with_coo_encoding", *_sparse(dims, data_type, nnz), index_type)

    @classmethod
    def packed(cls, dims: Dims, data_type: DType, nnz: int) -> "MemoryDesc":
        """Weights of s8 with nnz values that are not 0. A matmul gives them their layout:

            pd = zemm.MatmulPrimitiveDesc(engine, src, zemm.MemoryDesc.packed((k, n), "s8", nnz), dst)
            weights = zemm.reorder(dense_weights, pd.query_md("weights_md"))

        No memory can have this descriptor: the queried one is for memories.
        """
        return cls._new("memory_desc_create_with_packed_encoding", *_sparse(dims, data_type, nnz))

    @classmethod
    def grouped(
        cls, dims: Dims, data_type: DType, variable_dim: int, group_count: int, offsets_dt: DType = "s32"
    ) -> "MemoryDesc":
        """group_count matrices, one after the other along variable_dim. Its buffers are the values
        and the ends of the groups, counted from the start."""
        args = (
            *library.dims(dims),
            type_number(data_type, "data_type"),
            check.integer(variable_dim, "variable_dim"),
            check.integer(group_count, "group_count", *INT64),
            type_number(offsets_dt, "offsets_dt"),
        )
        return cls._new("memory_desc_create_with_grouped_encoding", *args)

    def clone(self) -> "MemoryDesc":
        """A copy."""
        return self._copy_of(self._handle)

    def reshape(self, dims: Dims) -> "MemoryDesc":
        """A descriptor of these bytes with other dims, whose product is equal."""
        c_dims = library.dims(dims)
        try:
            return self._new("memory_desc_reshape", self._handle, *c_dims)
        except InvalidArgumentsError as error:
            raise InvalidArgumentsError(f"dims of {self!r} cannot become {tuple(dims)}: {error}") from None

    def permute_axes(self, permutation: Dims) -> "MemoryDesc":
        """A descriptor of these bytes with dimension i moved to the position permutation[i]."""
        count, c_permutation = library.ints(permutation, "permutation")
        if count != self.ndims:
            raise InvalidArgumentsError(
                f"permutation {tuple(permutation)} does not fit {self.ndims} dimensions"
            )
        return self._new("memory_desc_permute_axes", self._handle, c_permutation)

    def submemory(self, dims: Dims, offsets: Dims) -> "MemoryDesc":
        """The part that begins at offsets (elements along each dimension) and has the size dims."""
        (ndims, c_dims), (noffsets, c_offsets) = library.dims(dims), library.dims(offsets, "offsets")
        if not ndims == noffsets == self.ndims:
            raise InvalidArgumentsError(
                f"dims {tuple(dims)} and offsets {tuple(offsets)} do not fit {self.ndims} dimensions"
            )
        return self._new("memory_desc_create_submemory", self._handle, c_dims, c_offsets)

    def _int(self, what: str, ctype: str = "int") -> int:
        return library.query_int("memory_desc_query", self._handle, ctype, what)

    @property
    def ndims(self) -> int:
        """The number of dimensions."""
        return self._int("ndims_s32")

    @property
    def dims(self) -> tuple[int, ...]:
        """The size of each dimension, in elements."""
        return library.query_dims(self._handle, "dims", self.ndims)

    @property
    def data_type(self) -> DataType:
        """zemm's name of the data type; "undef" for a zero descriptor."""
        return _data_type_name(self._int("data_type", "zemm_data_type_t"))

    @property
    def format_kind(self) -> str:
        """One of "blocked", "any", "sparse", "host_scalar", "opaque" and "undef"."""
        return library.name_of("format_kind", self._int("format_kind", "zemm_format_kind_t"))

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next along each dimension; with inner blocks, from one
        block to the next. ValueError unless format_kind is "blocked"."""
        try:
            return library.query_dims(self._handle, "strides", self.ndims)
        except InvalidArgumentsError:
            raise self._not_blocked("strides") from None

    def _not_blocked(self, what: str) -> InvalidArgumentsError:
        return InvalidArgumentsError(f"{self!r} has no {what}, only a blocked layout has")

    @property
    def padded_dims(self) -> tuple[int, ...]:
        """The dims with the padding to whole inner blocks."""
        return library.query_dims(self._handle, "padded_dims", self.ndims)

    @property
    def inner_nblks(self) -> int:
        """The number of inner blocks; 0 for a plain layout."""
        try:
            return self._int("inner_nblks_s32")
        except InvalidArgumentsError:
            raise self._not_blocked("inner blocks") from None

    @property
    def inner_blks(self) -> tuple[int, ...]:
        """Sizes of the inner blocks, outermost first."""
        return library.query_dims(self._handle, "inner_blks", self.inner_nblks)

    @property
    def inner_idxs(self) -> tuple[int, ...]:
        """The dimension that each inner block divides, in the order of inner_blks."""
        return library.query_dims(self._handle, "inner_idxs", self.inner_nblks)

    @property
    def offset0(self) -> int:
        """Elements in the buffer before the first one of the tensor, for a submemory."""
        return self._int("submemory_offset_s64", "int64_t")

    @property
    def num_handles(self) -> int:
        """The number of buffers of a memory: 1, or more for sparse encodings."""
        return self._int("num_handles_s32")

    @property
    def size(self) -> int:
        """The bytes of the first buffer; 0 for tag any or an empty tensor, RUNTIME_DIM if known at
        execution only."""
        return self.part_size(0)

    def part_size(self, index: int) -> int:
        """The bytes of the buffer at index."""
        self._check_part(index)
        size = int(library.plain("memory_desc_get_size_v2", self._handle, index))
        return size if size < 2**63 else library.RUNTIME_DIM

    def part_data_type(self, index: int) -> DataType:
        """The data type of the buffer at index."""
        self._check_part(index)
        args = (self._handle, "zemm_data_type_t", "data_type", index)
        return _data_type_name(library.query_int("memory_desc_query_v2", *args))

    def _encoding(self) -> str:
        """The sparse encoding; "" for other formats."""
        if self.format_kind != "sparse":
            return ""
        return library.name_of("sparse_encoding", self._int("sparse_encoding", "zemm_sparse_encoding_t"))

    def _check_part(self, index: int) -> None:
        if type(index) is not int or index != 0:  # all have the first
            check.integer(index, "index of a buffer", 0, self.num_handles - 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryDesc):
            return NotImplemented
        return bool(library.plain("memory_desc_equal", self._handle, other._handle))

    def __hash__(self) -> int:
        return hash((self.format_kind, self.data_type, self.dims))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_blob, (self.blob,)

    def __repr__(self) -> str:
        return f"<MemoryDesc {self._in_words()}>"

    def _in_words(self) -> str:
        if self.ndims == 0:
            return "zero"
        kind = self.format_kind
        if kind == "host_scalar":
            return f"{self.data_type} host scalar"
        start = f"{layouts.numbers(self.dims)} {self.data_type}"
        if kind == "blocked":
            return f"{start} {self._layout()}"
        if kind != "sparse":
            return f"{start} {kind}"
        encoding = self._encoding()
        if encoding == "grouped":
            return f"{start} grouped, {self._groups()} groups"
        name = "packed encoding" if encoding == "packed" else encoding
        return f"{start} {name} of {self._int('nnz_s64', 'int64_t')} values"

    def _groups(self) -> int:
        """The number of groups: one end each, in the second buffer."""
        return self.part_size(1) // numpy_dtype(self.part_data_type(1)).itemsize

    def _layout(self) -> str:
        """The tag if there is one, else strides and offset."""
        tag = self._tag()
        word = f"packed {tag}" if self.inner_nblks else tag
        if self._has_tag(tag):
            return word
        strides = f"strides {layouts.numbers(self.strides)}"
        offset = f" offset {layouts.numbers([self.offset0])[1:-2]}" if self.offset0 else ""
        return f"{word} {strides}{offset}" if self.inner_nblks else f"{strides}{offset}"

    def _tag(self) -> str:
        """The tag of a dense layout with these strides, which may have others."""
        return layouts.tag(self.padded_dims, self.strides, self.inner_blks, self.inner_idxs)

    def _has_tag(self, tag: str) -> bool:
        try:
            return self == MemoryDesc(self.dims, self.data_type, tag)
        except InvalidArgumentsError:
            return False


def _data_type_name(number: int) -> DataType:
    return cast(DataType, library.name_of("data_type", number))


def _sparse(dims: Dims, data_type: DType, nnz: int) -> tuple[Any, ...]:
    return *library.dims(dims), type_number(data_type, "data_type"), check.integer(nnz, "nnz", *INT64)

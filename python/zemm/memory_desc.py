# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors: the shape, data type and layout of a tensor."""

from collections.abc import Sequence
from typing import Any

from zemm import _library
from zemm.errors import InvalidArgumentsError

Dims = Sequence[int]


def _data_type(name: str) -> int:
    return _library.value_of("data_type", name)


class MemoryDesc:
    """The shape, data type and layout of a tensor; immutable.

    dims: up to 12 numbers; RUNTIME_DIM for a dimension that is known at execution only. data_type:
    "f32", "u4", ... The layout is given by a tag or by strides in elements, and is row-major
    without both. A tag ("ab", "acb", "BA16a64b4a") has a letter for each dimension, the outermost
    first; "any" lets the library choose. ValueError: the arguments make no tensor.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, dims: Dims, data_type: str, tag: str | None = None, strides: Dims | None = None
    ) -> None:
        if tag is not None and strides is not None:
            raise InvalidArgumentsError(f"both tag {tag!r} and strides {tuple(strides)} are given")
        ndims, c_dims = _library.dims(dims)
        args = (ndims, c_dims, _data_type(data_type))
        if tag is not None:
            self._make("memory_desc_create_with_string_tag", *args, tag.encode())
            return
        c_strides = _library.NULL
        if strides is not None:
            nstrides, c_strides = _library.dims(strides, "strides")
            if nstrides != ndims:
                raise InvalidArgumentsError(f"strides {tuple(strides)} do not fit dims {tuple(dims)}")
        self._make("memory_desc_create_with_strides", *args, c_strides)

    def _make(self, function: str, *args: Any) -> None:
        self._handle: Any = _library.create("memory_desc", function, *args)

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
            "memory_desc_create_with_strides", *_library.dims(()), _data_type("undef"), _library.NULL
        )

    @classmethod
    def host_scalar(cls, data_type: str) -> "MemoryDesc":
        """A descriptor of one value that stays on the host."""
        return cls._new("memory_desc_create_host_scalar", _data_type(data_type))

    @classmethod
    def csr(
        cls, dims: Dims, data_type: str, nnz: int, indices_dt: str = "s32", pointers_dt: str = "s32"
    ) -> "MemoryDesc":
        """Compressed sparse rows with nnz values. Its buffers are values, column indices and row
        pointers."""
        types = (_data_type(indices_dt), _data_type(pointers_dt))
        args = (*_library.dims(dims), _data_type(data_type), nnz)
        return cls._new("memory_desc_create_with_csr_encoding", *args, *types)

    @classmethod
    def coo(cls, dims: Dims, data_type: str, nnz: int, indices_dt: str = "s32") -> "MemoryDesc":
        """Coordinates of nnz values. Its buffers are the values and, for each dimension, the
        indices."""
        args = (*_library.dims(dims), _data_type(data_type), nnz, _data_type(indices_dt))
        return cls._new("memory_desc_create_with_coo_encoding", *args)

    @classmethod
    def packed(cls, dims: Dims, data_type: str, nnz: int) -> "MemoryDesc":
        """oneDNN's packed sparse encoding with nnz values."""
        args = (*_library.dims(dims), _data_type(data_type), nnz)
        return cls._new("memory_desc_create_with_packed_encoding", *args)

    @classmethod
    def grouped(
        cls, dims: Dims, data_type: str, variable_dim: int, group_count: int, offsets_dt: str = "s32"
    ) -> "MemoryDesc":
        """group_count matrices, one after the other along variable_dim. Its buffers are the values
        and the ends of the groups, counted from the start."""
        args = (
            *_library.dims(dims),
            _data_type(data_type),
            variable_dim,
            group_count,
            _data_type(offsets_dt),
        )
        return cls._new("memory_desc_create_with_grouped_encoding", *args)

    def clone(self) -> "MemoryDesc":
        return self._copy_of(self._handle)

    def reshape(self, dims: Dims) -> "MemoryDesc":
        """The same bytes with other dims, whose product is the same."""
        return self._new("memory_desc_reshape", self._handle, *_library.dims(dims))

    def permute_axes(self, permutation: Dims) -> "MemoryDesc":
        """The same bytes with dimension i moved to the position permutation[i]."""
        if len(permutation) != self.ndims:
            raise InvalidArgumentsError(
                f"permutation {tuple(permutation)} does not fit {self.ndims} dimensions"
            )
        return self._new("memory_desc_permute_axes", self._handle, _library.ints(permutation))

    def submemory(self, dims: Dims, offsets: Dims) -> "MemoryDesc":
        """The part that begins at offsets (elements along each dimension) and has the size dims."""
        if not len(dims) == len(offsets) == self.ndims:
            raise InvalidArgumentsError(
                f"dims {tuple(dims)} and offsets {tuple(offsets)} do not fit {self.ndims} dimensions"
            )
        c_dims, c_offsets = _library.dims(dims)[1], _library.dims(offsets, "offsets")[1]
        return self._new("memory_desc_create_submemory", self._handle, c_dims, c_offsets)

    def _int(self, what: str, ctype: str = "int") -> int:
        return _library.query_int("memory_desc_query", self._handle, ctype, what)

    @property
    def ndims(self) -> int:
        return self._int("ndims_s32")

    @property
    def dims(self) -> tuple[int, ...]:
        return _library.query_dims(self._handle, "dims", self.ndims)

    @property
    def data_type(self) -> str:
        return _library.name_of("data_type", self._int("data_type", "zemm_data_type_t"))

    @property
    def format_kind(self) -> str:
        """One of "blocked", "any", "sparse", "host_scalar", "opaque" and "undef"."""
        return _library.name_of("format_kind", self._int("format_kind", "zemm_format_kind_t"))

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next along each dimension; with inner blocks, from one
        block to the next. ValueError unless format_kind is "blocked"."""
        return _library.query_dims(self._handle, "strides", self.ndims)

    @property
    def padded_dims(self) -> tuple[int, ...]:
        return _library.query_dims(self._handle, "padded_dims", self.ndims)

    @property
    def inner_nblks(self) -> int:
        """The number of inner blocks; 0 for a plain layout."""
        return self._int("inner_nblks_s32")

    @property
    def inner_blks(self) -> tuple[int, ...]:
        """Sizes of the inner blocks, outermost first."""
        return _library.query_dims(self._handle, "inner_blks", self.inner_nblks)

    @property
    def inner_idxs(self) -> tuple[int, ...]:
        """The dimension that each inner block divides, in the order of inner_blks."""
        return _library.query_dims(self._handle, "inner_idxs", self.inner_nblks)

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
        size = int(_library.plain("memory_desc_get_size_v2", self._handle, index))
        return size if size < 2**63 else _library.RUNTIME_DIM

    def part_data_type(self, index: int) -> str:
        """The data type of the buffer at index."""
        args = (self._handle, "zemm_data_type_t", "data_type", index)
        return _library.name_of("data_type", _library.query_int("memory_desc_query_v2", *args))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryDesc):
            return NotImplemented
        return bool(_library.plain("memory_desc_equal", self._handle, other._handle))

    def __repr__(self) -> str:
        return f"<MemoryDesc {self.format_kind} {self.data_type} {self.dims}>"

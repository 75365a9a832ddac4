# SPDX-License-Identifier: Apache-2.0
"""Memory descriptors: shape, data type and layout of a tensor."""

from collections.abc import Sequence
from typing import Any

from zemm import _library
from zemm.errors import InvalidArgumentsError

Dims = Sequence[int]


def _data_type(name: str) -> int:
    return _library.value_of("data_type", name)


class MemoryDesc:
    """Shape, type and layout; immutable.

    dims: up to 12 numbers, RUNTIME_DIM where not known yet. data_type: "f32", "u4" ... Layout: a tag ("ab",
    "acb", "any", "BA16a64b4a"; letter k is dimension k, outermost first), or strides in elements, or neither:
    row-major. ValueError for what makes no tensor.
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
        """The descriptor of nothing: no dimensions."""
        return cls._new(
            "memory_desc_create_with_strides", *_library.dims(()), _data_type("undef"), _library.NULL
        )

    @classmethod
    def host_scalar(cls, data_type: str) -> "MemoryDesc":
        """One value that stays on the host."""
        return cls._new("memory_desc_create_host_scalar", _data_type(data_type))

    @classmethod
    def csr(
        cls, dims: Dims, data_type: str, nnz: int, indices_dt: str = "s32", pointers_dt: str = "s32"
    ) -> "MemoryDesc":
        """Compressed sparse rows with nnz values; buffers: values, column indices, row pointers."""
        types = (_data_type(indices_dt), _data_type(pointers_dt))
        args = (*_library.dims(dims), _data_type(data_type), nnz)
        return cls._new("memory_desc_create_with_csr_encoding", *args, *types)

    @classmethod
    def coo(cls, dims: Dims, data_type: str, nnz: int, indices_dt: str = "s32") -> "MemoryDesc":
        """Coordinates with nnz values; buffers: values, and the indices of each dimension."""
        args = (*_library.dims(dims), _data_type(data_type), nnz, _data_type(indices_dt))
        return cls._new("memory_desc_create_with_coo_encoding", *args)

    @classmethod
    def packed(cls, dims: Dims, data_type: str, nnz: int) -> "MemoryDesc":
        """Packed sparse encoding with nnz values."""
        args = (*_library.dims(dims), _data_type(data_type), nnz)
        return cls._new("memory_desc_create_with_packed_encoding", *args)

    @classmethod
    def grouped(
        cls, dims: Dims, data_type: str, variable_dim: int, group_count: int, offsets_dt: str = "s32"
    ) -> "MemoryDesc":
        """group_count matrices one after the other along variable_dim; buffers: values, cumulative ends."""
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
        """The same bytes seen with other dims of the same volume."""
        return self._new("memory_desc_reshape", self._handle, *_library.dims(dims))

    def permute_axes(self, permutation: Dims) -> "MemoryDesc":
        """permutation[i]: the new position of dimension i."""
        if len(permutation) != self.ndims:
            raise InvalidArgumentsError(
                f"permutation {tuple(permutation)} does not fit {self.ndims} dimensions"
            )
        return self._new("memory_desc_permute_axes", self._handle, _library.ints(permutation))

    def submemory(self, dims: Dims, offsets: Dims) -> "MemoryDesc":
        """The part that starts at offsets (elements per dimension) and has dims."""
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
        """ "blocked", "any", "sparse", "host_scalar", "opaque" or "undef"."""
        return _library.name_of("format_kind", self._int("format_kind", "zemm_format_kind_t"))

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours (of outer blocks where the layout is blocked). Blocked layouts only."""
        return _library.query_dims(self._handle, "strides", self.ndims)

    @property
    def padded_dims(self) -> tuple[int, ...]:
        return _library.query_dims(self._handle, "padded_dims", self.ndims)

    @property
    def inner_nblks(self) -> int:
        """How many inner blocks a blocked layout has; 0 for a plain one."""
        return self._int("inner_nblks_s32")

    @property
    def inner_blks(self) -> tuple[int, ...]:
        """Sizes of the inner blocks, outermost first."""
        return _library.query_dims(self._handle, "inner_blks", self.inner_nblks)

    @property
    def inner_idxs(self) -> tuple[int, ...]:
        """The dimension that each inner block cuts."""
        return _library.query_dims(self._handle, "inner_idxs", self.inner_nblks)

    @property
    def offset0(self) -> int:
        """Elements before the first one (submemory)."""
        return self._int("submemory_offset_s64", "int64_t")

    @property
    def num_handles(self) -> int:
        """Buffers that a memory has: 1, more for sparse encodings."""
        return self._int("num_handles_s32")

    @property
    def size(self) -> int:
        """Bytes that a buffer needs; 0 for tag any or an empty tensor, RUNTIME_DIM when not known yet."""
        return self.part_size(0)

    def part_size(self, index: int) -> int:
        """Bytes of one of the buffers."""
        size = int(_library.plain("memory_desc_get_size_v2", self._handle, index))
        return size if size < 2**63 else _library.RUNTIME_DIM

    def part_data_type(self, index: int) -> str:
        """Data type of one of the buffers."""
        args = (self._handle, "zemm_data_type_t", "data_type", index)
        return _library.name_of("data_type", _library.query_int("memory_desc_query_v2", *args))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryDesc):
            return NotImplemented
        return bool(_library.plain("memory_desc_equal", self._handle, other._handle))

    def __repr__(self) -> str:
        return f"<MemoryDesc {self.format_kind} {self.data_type} {self.dims}>"

# SPDX-License-Identifier: Apache-2.0
"""torch.nn.Embedding whose table is quantised and packed."""

from typing import Any

import torch

from zemm.errors import InvalidArgumentsError
from zemm.torch._compressed import Checkpoint
from zemm.torch._module import QuantLinear
from zemm.torch._obstacles import obstacle
from zemm.torch._operator import embedding
from zemm.torch._stand_in import StandIn, dtype_after


class QuantEmbedding(StandIn, torch.nn.Embedding):
    """Rows of a quantised table [num_embeddings, embedding_dim], which lies in memory as the weights of a
    QuantLinear from embedding_dim to num_embeddings features. Inference only.

        module = zemm.torch.QuantEmbedding.from_embedding(embedding, bits=8, group=64)
        module = zemm.torch.QuantEmbedding.of(head)  # tied: the head's weights are the table

    An embedding that from_embedding() makes has its own table, which its state dict keeps as
    "table.values" and so on. One of a head keeps nothing: the head's module has the state, and when that
    loads other weights, the embedding reads these.

    The module is a torch.nn.Embedding for others, without parameters. `weight` [num_embeddings,
    embedding_dim] is as that of QuantLinear.

    dtype: of the rows, which to() and its relatives change. They refuse other devices.
    """

    table: QuantLinear
    padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse = None, None, 2.0, False, False

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        *,
        dtype: torch.dtype = torch.float32,
        table: QuantLinear | None = None,
    ) -> None:
        """table: the module to read; None: an empty one of the embedding's own, for load_state_dict()."""
        torch.nn.Module.__init__(self)
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        if table is None:
            self.table = QuantLinear(embedding_dim, num_embeddings, bias=False)
        else:
            self.__dict__["table"] = table  # another module's part, and none of this one's

    @classmethod
    def of(cls, head: QuantLinear, dtype: torch.dtype = torch.float32) -> "QuantEmbedding":
        """The embedding whose table are the weights of a head, from embedding_dim to num_embeddings features:
        both read the same bytes."""
        if not isinstance(head, QuantLinear):
            raise InvalidArgumentsError(f"head is a {type(head).__name__}, not a zemm.torch.QuantLinear")
        return cls(head.out_features, head.in_features, dtype=dtype, table=head)

    @classmethod
    def from_embedding(
        cls,
        embedding: torch.nn.Embedding,
        *,
        bits: int = 8,
        group: int | None = 128,
        symmetric: bool = False,
        **more: Any,
    ) -> "QuantEmbedding":
        """Quantise a torch.nn.Embedding. The arguments are those of QuantLinear.from_linear()."""
        if not isinstance(embedding, torch.nn.Embedding):
            raise InvalidArgumentsError(
                f"embedding is a {type(embedding).__name__}, not a torch.nn.Embedding"
            )
        if (problem := obstacle(embedding)) is not None:
            raise InvalidArgumentsError(f"embedding cannot be replaced: {problem}")
        made = cls(embedding.num_embeddings, embedding.embedding_dim, dtype=embedding.weight.dtype)
        with torch.device("meta"):
            plain = torch.nn.Linear(embedding.embedding_dim, embedding.num_embeddings, bias=False)
        plain.weight = embedding.weight
        made.table = QuantLinear.from_linear(plain, bits=bits, group=group, symmetric=symmetric, **more)
        return made

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """[.., embedding_dim]. IndexError: an index is out of range."""
        return embedding(ids, self.table._tensors(), self.embedding_dim, self.dtype)

    @property
    def weight(self) -> torch.Tensor:
        """[num_embeddings, embedding_dim]"""
        return self.table._weight(self.dtype)

    def _store(self, name: str, checkpoint: Checkpoint) -> None:
        """Put the rows into a checkpoint, as floats."""
        checkpoint.floats[f"{name}.weight"] = self.weight.clone()

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        self.dtype = dtype_after(fn, self.dtype, type(self).__name__)
        return self

    def extra_repr(self) -> str:
        tied = "" if "table" in self._modules else ", tied to a QuantLinear"
        return f"{self.num_embeddings}, {self.embedding_dim}, dtype={self.dtype}{tied}"

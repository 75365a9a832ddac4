# SPDX-License-Identifier: Apache-2.0
"""GPUs that are sold, one for each of ocloc's names, and the bytes that their memory brings to a
vector engine (XVE) in a cycle. docs/xe.md has the sources."""

from dataclasses import dataclass

from zemm.isa.model import family_of


@dataclass(frozen=True)
class Product:
    name: str
    xe_cores: int
    mhz: int  # the graphics clock; of the Max and of processors the highest
    bandwidth: float  # of memory, in GB/s (10^9 bytes)


PRODUCTS = {
    "bmg": Product("Arc B580", 20, 2670, 456.0),
    "dg2": Product("Arc A770 16 GB", 32, 2100, 560.0),
    "lnl-m": Product("Core Ultra 9 288V", 8, 2050, 136.5),
    "ptl": Product("Core Ultra X9 388H", 12, 2500, 153.6),
    "pvc": Product("Data Center GPU Max 1550", 128, 1600, 3276.8),
}


def bytes_a_cycle(device: str) -> float | None:
    """The bytes that memory brings to an XVE in a cycle; None if the table has no product."""
    product = PRODUCTS.get(device)
    if not product:
        return None
    return product.bandwidth * 1000 / (product.xe_cores * family_of(device).xve * product.mhz)

# SPDX-License-Identifier: Apache-2.0
"""Finds the natural loops of a graph of basic blocks, of any machine code.

The graph is given by the names of the blocks: for each block in order, where it may go next, and
where it may come from. The first block is the entry.
"""

from collections.abc import Mapping, Sequence


def _dominators(names: list[str], predecessors: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    known = set(names)
    entry = names[0]
    dominators = {name: set(names) for name in names}
    dominators[entry] = {entry}
    changed = True
    while changed:
        changed = False
        for name in names[1:]:
            before = [dominators[p] for p in predecessors[name] if p in known]
            new = (set.intersection(*before) if before else set()) | {name}
            if new != dominators[name]:
                dominators[name] = new
                changed = True
    return dominators


def natural_loops(
    successors: Mapping[str, Sequence[str]], predecessors: Mapping[str, Sequence[str]]
) -> dict[str, frozenset[str]]:
    """The blocks of each loop, including those of inner loops, by its header. Several back edges to
    the same header make one loop."""
    dominators = _dominators(list(successors), predecessors)
    bodies: dict[str, set[str]] = {}
    for source, targets in successors.items():
        for header in targets:
            if header not in dominators[source]:
                continue
            body = bodies.setdefault(header, {header})
            pending = [source]
            while pending:
                name = pending.pop()
                if name not in body:
                    body.add(name)
                    pending += [p for p in predecessors[name] if p in successors]
    return {header: frozenset(body) for header, body in bodies.items()}

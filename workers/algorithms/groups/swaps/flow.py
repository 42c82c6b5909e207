"""Cheapest flows between two sides of records, by successive shortest paths (Dijkstra with potentials).

Notation
--------
==========  ==========  ===================================================================================
symbol      shape       meaning
==========  ==========  ===================================================================================
l           (L,)        left records, each in a group g
moves_g     (G,)        records used from g and the groups nested in it, beyond those that the latter must give
below_g     (G,)        the group nested next in g, -1 where there is none
loan_g      (G,)        the most that g takes from the groups nested in it
r           (R,)        right records, each in a group t with floor_t to cap_t of them used
c_lr        (E,)        cost of using l with r, at least 0, for candidate pairs only (compressed rows)
pi          (nodes,)    potentials: c_uv + pi_u - pi_v >= 0 on every arc that still has room
==========  ==========  ===================================================================================

Network: g -> l -> r -> t -> sink, arcs of capacity 1 but the last, and g -> below_g up to loan_g: what a group has to
give may come from those nested in it, whose own number is thus the least that they give. Floors are arcs with a bonus
that no path outweighs.
Nodes are numbered l, r, t, g. Potentials at the end are prices: a pair that was no candidate can only improve on the
result if ``c_lr < price_t - price_l`` (reduced cost below 0), which is how `assignment` proves that none does.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray

STEP_ARCS: Final = 5_000_000  # looked at between two pauses


@dataclass(frozen=True)
class Flow:
    """A cheapest flow among the candidates.

    Attributes
    ----------
    match : (L,) int64, right record of each left one, -1 where it is not used.
    left_price, right_price : (L,), (T,), prices for the proof.
    """

    match: IntArray
    left_price: FloatArray
    right_price: FloatArray


@dataclass(frozen=True)
class Network:
    """What flows where: left groups (L,), moves, below and loans (G,), right groups (R,), floors and capacities (T,).

    Groups that are nested follow each other, the innermost first: `below` of a group is -1 or the one before it.
    """

    left_group: IntArray
    moves: IntArray
    below: IntArray
    loans: IntArray
    right_group: IntArray
    floors: IntArray
    capacities: IntArray


def flowing(
    network: Network, start: IntArray, right: IntArray, cost: FloatArray, *, arcs: int = STEP_ARCS
) -> Generator[None, None, Flow | None]:
    """Find the cheapest flow, some paths at a time: returns it, or None where the candidates do not suffice for one.

    Parameters
    ----------
    network : both sides.
    start : (L + 1,) int64, where the candidates of each left record begin.
    right : (E,) int64, candidates.
    cost : (E,) float64, at least 0.
    arcs : looked at between two pauses.

    Notes
    -----
    O(F (E + V) log E) for a flow of F units.
    """
    used = int(network.moves.sum())
    bonus = (float(cost.max(initial=0.0)) + 1.0) * (used + 1) if network.floors.any() else 0.0
    match = np.full(len(network.left_group), -1, dtype=np.int64)
    left, groups = len(network.left_group), len(network.right_group) + len(network.left_group)
    price = np.zeros(groups + len(network.capacities) + len(network.moves) + 1)
    price[-1] = -bonus
    supply, owner = network.moves.copy(), np.full(len(network.right_group), -1, dtype=np.int64)
    inflow = np.zeros(len(network.capacities), dtype=np.int64)
    lent = np.zeros(len(supply), dtype=np.int64)
    lefts = (network.left_group, supply, network.below, network.loans)
    arrays = (*lefts, network.right_group, network.floors, network.capacities)
    while supply.any():
        if not _augment(*arrays, start, right, cost, bonus, arcs, match, owner, inflow, lent, price):
            return None
        yield
    of_group = price[groups + len(network.capacities) : -1]
    left_price = np.where(match >= 0, price[:left], of_group[network.left_group])
    return Flow(match, left_price, price[groups : groups + len(network.capacities)].copy())


@inner_kernel
def _push(keys: FloatArray, nodes: IntArray, size: int, key: float, node: int) -> None:
    i = size
    while i > 0:
        up = (i - 1) // 2
        if keys[up] <= key:
            break
        keys[i] = keys[up]
        nodes[i] = nodes[up]
        i = up
    keys[i] = key
    nodes[i] = node


@inner_kernel
def _drop_top(keys: FloatArray, nodes: IntArray, size: int) -> None:
    """Remove the smallest of a heap that contains `size` + 1 entries."""
    key, node = keys[size], nodes[size]
    i = 0
    while 2 * i + 1 < size:
        down = 2 * i + 1
        if down + 1 < size and keys[down + 1] < keys[down]:
            down += 1
        if keys[down] >= key:
            break
        keys[i] = keys[down]
        nodes[i] = nodes[down]
        i = down
    keys[i] = key
    nodes[i] = node


@kernel
def _augment(  # noqa: C901 - one kernel, one algorithm
    left_group: IntArray,
    supply: IntArray,
    below: IntArray,
    loans: IntArray,
    right_group: IntArray,
    floors: IntArray,
    capacities: IntArray,
    start: IntArray,
    right: IntArray,
    cost: FloatArray,
    bonus: float,
    allowance: int,
    match: IntArray,
    owner: IntArray,
    inflow: IntArray,
    lent: IntArray,
    price: FloatArray,
) -> bool:
    """Send supply, one shortest path at a time, until none is left or so many arcs were visited; False: no path.

    `match`, `owner` and `inflow` are the flow from either side, `lent` what each group takes from the one nested in it;
    price's last entry is the sink's.
    """
    lefts, rights, targets, groups = len(left_group), len(right_group), len(capacities), len(supply)
    first_t, first_g, nodes = lefts + rights, lefts + rights + targets, lefts + rights + targets + groups
    distance = np.empty(nodes)
    parent = np.empty(nodes, dtype=np.int64)
    room = len(right) + 3 * rights + (targets + 2) * lefts + 2 * groups + nodes + 1
    keys, heap = np.empty(room), np.empty(room, dtype=np.int64)
    fan_node, fan_cost = np.empty(room, dtype=np.int64), np.empty(room)
    for g in range(groups):
        while supply[g] > 0:
            distance[:] = np.inf
            distance[first_g + g] = 0.0
            parent[first_g + g] = -1
            keys[0], heap[0], size = 0.0, first_g + g, 1
            best, last = np.inf, -1
            while size > 0:
                d, v = keys[0], heap[0]
                size -= 1
                _drop_top(keys, heap, size)
                if d > distance[v]:
                    continue
                if d >= best:
                    break
                fan = 0
                if v < lefts:  # a left record: to its candidates, or back to its group
                    for e in range(start[v], start[v + 1]):
                        if match[v] != right[e]:
                            fan_node[fan], fan_cost[fan] = lefts + right[e], cost[e]
                            fan += 1
                    if match[v] >= 0:
                        fan_node[fan], fan_cost[fan] = first_g + left_group[v], 0.0
                        fan += 1
                elif v < first_t:  # a right record: on to its group, or back to the left record that uses it
                    o = owner[v - lefts]
                    if o < 0:
                        fan_node[fan], fan_cost[fan] = first_t + right_group[v - lefts], 0.0
                    else:
                        back = 0.0
                        for e in range(start[o], start[o + 1]):
                            if right[e] == v - lefts:
                                back = -cost[e]
                        fan_node[fan], fan_cost[fan] = o, back
                    fan += 1
                elif v < first_g:  # a right group: to the sink, or back to its used records
                    t = v - first_t
                    if inflow[t] < capacities[t]:
                        step = -bonus if inflow[t] < floors[t] else 0.0
                        through = d + max(0.0, step + price[v] - price[nodes])
                        if through < best:
                            best, last = through, v
                    for o in range(lefts):
                        if match[o] >= 0 and right_group[match[o]] == t:
                            fan_node[fan], fan_cost[fan] = lefts + match[o], 0.0
                            fan += 1
                else:  # a left group: to its unused records, the group nested in it, or back to the one around it
                    if below[v - first_g] >= 0 and lent[v - first_g] < loans[v - first_g]:
                        fan_node[fan], fan_cost[fan] = v - 1, 0.0
                        fan += 1
                    if v + 1 < nodes and lent[v + 1 - first_g] > 0:
                        fan_node[fan], fan_cost[fan] = v + 1, 0.0
                        fan += 1
                    for o in range(lefts):
                        if match[o] < 0 and left_group[o] == v - first_g:
                            fan_node[fan], fan_cost[fan] = o, 0.0
                            fan += 1
                allowance -= fan + 1
                for f in range(fan):
                    u = fan_node[f]
                    along = d + max(0.0, fan_cost[f] + price[v] - price[u])
                    if along < distance[u] and along < best:
                        distance[u] = along
                        parent[u] = v
                        _push(keys, heap, size, along, u)
                        size += 1
            if last < 0:
                return False
            for v in range(nodes):
                price[v] += min(distance[v], best)
            price[nodes] += best
            v = last
            while parent[v] >= 0:  # back along the path, so that later entries are nearer to its beginning
                u = parent[v]
                if v < lefts:
                    pass  # from its group, or from the right record that it gives up: its next arc said what it uses
                elif v < first_t and u < lefts:
                    match[u] = v - lefts
                    owner[v - lefts] = u
                elif v < first_t:  # given up within its group
                    owner[v - lefts] = -1
                    inflow[u - first_t] -= 1
                elif v < first_g:
                    inflow[v - first_t] += 1
                elif u >= first_g:
                    lent[max(u, v) - first_g] += 1 if v < u else -1
                else:
                    match[u] = -1  # a left record returns to its group
                v = u
            supply[g] -= 1
            if allowance < 0:
                return True
    return True

import numpy as np
import pytest

from workers.algorithms.core.blocks import DEPTH, blocks, gap, keep, open_node


@pytest.mark.parametrize(("point", "squared"), [((0.5, 2.0), 0.0), ((1.0, 1.0), 0.0), ((-2.0, 7.0), 4.0 + 16.0)])
def test_a_box_is_as_far_as_its_nearest_point(point: tuple[float, float], squared: float) -> None:
    assert gap(np.array(point), np.array([0.0, 1.0]), np.array([1.0, 3.0])) == squared


def test_the_nearest_are_kept_and_of_equals_the_first() -> None:
    aways = np.random.default_rng(0).integers(0, 6, 40).astype(np.float64)
    kept, indices = np.full(7, np.inf), np.full(7, -1, dtype=np.int64)
    for one, away in enumerate(aways):
        keep(away, one, kept, indices)
    np.testing.assert_array_equal(indices, np.argsort(aways, kind="stable")[:7])
    np.testing.assert_array_equal(kept, aways[indices])


def test_opened_nodes_lead_to_every_block_the_nearer_child_first() -> None:
    x = np.random.default_rng(1).random((100, 2))
    tree, t = blocks(x, np.ones(2), 4), np.array([0.2, 0.9])
    stack, size = np.empty(DEPTH, dtype=np.int64), 1
    stack[0] = 1
    seen = []
    while size > 0:
        size -= 1
        node = int(stack[size])
        if node >= tree.count:
            seen.append(node - tree.count)
            continue
        size = open_node(t, node, tree.low, tree.high, stack, size)
        far, near = (gap(t, tree.low[child], tree.high[child]) for child in stack[size - 2 : size])
        assert near <= far
    assert sorted(seen) == list(range(tree.count))

"""NumPy's indexing: every kind of entry, alone and together, read and written."""

import random

import numpy as np
import pytest

import unigrad as ug

ARRAY = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
KEYS = [
    0,
    -1,
    (1, 2),
    slice(None),
    slice(None, None, -1),
    (slice(1, None), slice(None, -1, 2)),
    (slice(5, 0, -1), slice(0, 100)),
    None,
    Ellipsis,
    (None, 0, Ellipsis, None),
    (Ellipsis, -1),
    (0, 1, 2, 3),
    [1, 0, 1],
    ([0, 1], [2, 0]),
    (slice(None), [2, 0, -1]),
    (slice(None), [[0, 1], [2, 2]]),
    ([0, 1], slice(None), [3, 1]),
    (slice(None), [0, 2], [1, 3]),
    np.array([1, 0]),
    (0, np.array([[2], [1]]), np.array([0, 3])),
    np.int64(1),
    ARRAY % 7 == 0,
    (slice(None), np.array([True, False, True])),
    (np.array([True, False]), 1),
    [],
    ((0, 1), (1, 2)),
    ((1, 0), slice(None), [2, 1]),
    ((),),
    range(2),
    (slice(None), range(2, -1, -1)),
    ((0, 1), range(2), np.array([3, 0])),
    (True, 0),
    (0, True),
    (True, [0, 1]),
    (slice(None), True, 1),
    (True, slice(None), 1),
    ([0, 1], True, slice(None), [1, 3]),
    (None, True, Ellipsis),
    (True, True),
    (True, np.array([True, False])),
    (np.bool_(True), 0),
    (np.array(True), [1, 0]),
    (False, 0),
    (Ellipsis, False),
    (True,),
    (False,),
    ([1, 0], Ellipsis, [1, 2], slice(None), [4, 0]),
    ([1, 0], Ellipsis, [1, 2], slice(None), slice(None)),
    ([1, 0], [1, 2], Ellipsis, [0, 3], slice(None)),
    True,
    False,
]


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_parts(key):
    np.testing.assert_array_equal(ug.tensor(ARRAY)[key].numpy(), ARRAY[key])


@pytest.mark.parametrize("key", [key for key in KEYS if not isinstance(key, bool)], ids=repr)
def test_assignments(key):
    for value in [7, ARRAY[key] * 2 + 1]:
        want, x = ARRAY.copy(), ug.tensor(ARRAY)
        before = x + 0
        want[key] = value
        x[key] = value
        np.testing.assert_array_equal(x.numpy(), want)
        np.testing.assert_array_equal(before.numpy(), ARRAY)


def test_tensors_as_indices():
    x = ug.tensor(ARRAY)
    index = ug.tensor([1, 0])
    np.testing.assert_array_equal(x[index].numpy(), ARRAY[[1, 0]])
    np.testing.assert_array_equal(x[x > 50].numpy(), ARRAY[ARRAY > 50])
    x[x > 50] = 0
    assert x.max().item() == 50


def test_random_keys():
    """Mixtures of all kinds, read and assigned. What NumPy refuses is refused."""
    rng = random.Random(5)

    def several(size, count):
        values = [rng.randrange(-size, size) for _ in range(count)]
        form = rng.randrange(4)
        if form == 3:
            start = rng.randrange(size - count + 1) if size >= count else 0
            return range(start, start + min(count, size))
        return [values, tuple(values), np.array(values)][form]

    def entry(size, count):
        kind = rng.randrange(8)
        if kind == 0:
            return rng.randrange(-size, size), 1
        if kind <= 2:
            ends = [rng.choice([None, rng.randrange(-size - 2, size + 3)]) for _ in range(2)]
            return slice(*ends, rng.choice([None, 1, 2, -1, -3])), 1
        if kind == 3:
            return rng.choice([True, False, np.bool_(True), np.array(True)]), 0
        if kind == 4:
            mask = [True] * min(count, size) + [False] * (size - min(count, size))
            rng.shuffle(mask)
            return rng.choice([mask, tuple(mask), np.array(mask)]), 1
        if kind == 5:
            return rng.choice([None, Ellipsis]), 0
        return several(size, count), 1

    tried = refused = 0
    for _ in range(1500):
        key, axis, count = [], 0, rng.choice([1, 2, 3])
        while axis < 4 and rng.random() < 0.8:
            part, width = entry(ARRAY.shape[axis], count)
            if part is Ellipsis and any(item is Ellipsis for item in key):
                continue
            key.append(part)
            axis += width
        key = tuple(key)
        try:
            want = ARRAY[key]
        except IndexError:
            refused += 1
            with pytest.raises((IndexError, ValueError)):
                ug.tensor(ARRAY)[key].tolist()
            continue
        tried += 1
        x = ug.tensor(ARRAY)
        np.testing.assert_array_equal(x[key].numpy(), want, err_msg=repr(key))
        changed = ARRAY.copy()
        changed[key] = -1
        x[key] = -1
        np.testing.assert_array_equal(x.numpy(), changed, err_msg=repr(key))
    assert tried > 700 and refused > 20, (tried, refused)


def test_what_is_no_index():
    x = ug.tensor(ARRAY)
    for key in [2, (0, 3), (0, 0, 0, 0, 0), [5], (Ellipsis, Ellipsis)]:
        with pytest.raises(IndexError):
            x[key].tolist()
    for key in ["a", b"a", {}, object(), (0, "a"), (0, {1})]:
        with pytest.raises(TypeError):
            x[key]
    for key in [1.5, [0.5], (0.5, 1), ((0, 1.5), 1)]:
        with pytest.raises((TypeError, IndexError)):
            x[key]
    with pytest.raises(IndexError):
        x[::0]


def test_gradients_go_through_assignments():
    w = ug.tensor([2.0, 3.0], requires_grad=True)
    x = ug.zeros(4)
    x[1:3] = w * 2
    (x * x).sum().backward()
    assert w.grad.tolist() == [16.0, 24.0]
    with ug.no_grad():
        w[0] = 5.0
    assert w.tolist() == [5.0, 3.0] and w.requires_grad
    with pytest.raises(RuntimeError):
        w[0] = 1.0


@pytest.mark.parametrize("wrong", [[5], [-3], [0, 1, 2], np.array([7]), (slice(None), [3]), (0, [4]), (..., [5]), ([True, False], [3]), ([[0, 9]],), ([2**63 - 1],)])
def test_indices_that_the_host_has_are_checked_at_the_call(wrong):
    x = ug.zeros(2, 3, 4, 5)
    with pytest.raises(IndexError, match="out of range for axis"):
        x[wrong]
    with pytest.raises(IndexError, match="out of range for axis"):
        x[wrong] = 1.0
    assert x.sum().item() == 0.0, "the tensor is as it was"


def test_lists_of_tensors_are_indices_and_wait():
    x = ug.arange(10.0)
    assert x[[ug.tensor(1), ug.tensor(3)]].tolist() == [1.0, 3.0]
    assert x[[]].shape == (0,) and x[np.zeros(0, int)].shape == (0,)

"""How tensors are shown: PyTorch's text for PyTorch's defaults, by texts of PyTorch 2.15 and beside PyTorch itself where it is installed."""

import math

import pytest

import unigrad as ug

inf, nan = math.inf, math.nan

REPRS = {
    'ug.tensor([1e8])': (
        'tensor([100000000.])'
    ),
    'ug.tensor([100000001.0])': (
        'tensor([100000000.])'
    ),
    'ug.tensor([1e-5, 1.0])': (
        'tensor([1.0000e-05, 1.0000e+00])'
    ),
    'ug.tensor([0.5, 600.0])': (
        'tensor([5.0000e-01, 6.0000e+02])'
    ),
    'ug.tensor([0.5, 501.5])': (
        'tensor([5.0000e-01, 5.0150e+02])'
    ),
    'ug.tensor([1.0, 1000.0])': (
        'tensor([   1., 1000.])'
    ),
    'ug.tensor([1.0, 1001.0])': (
        'tensor([1.0000e+00, 1.0010e+03])'
    ),
    'ug.tensor([inf, -inf, nan, 1.0])': (
        'tensor([inf, -inf, nan, 1.])'
    ),
    'ug.tensor([inf, nan])': (
        'tensor([inf, nan])'
    ),
    'ug.tensor([0.25, inf, 0.0])': (
        'tensor([0.2500,    inf, 0.0000])'
    ),
    'ug.tensor([-0.0, 1e-4, 1e-5])': (
        'tensor([-0.0000e+00, 1.0000e-04, 1.0000e-05])'
    ),
    'ug.tensor(1.5e-7)': (
        'tensor(1.5000e-07)'
    ),
    'ug.tensor([1e-40, 1e30])': (
        'tensor([9.9999e-41, 1.0000e+30])'
    ),
    'ug.tensor([1e300, 1.0], dtype=ug.float64)': (
        'tensor([1.0000e+300,  1.0000e+00], dtype=unigrad.float64)'
    ),
    'ug.arange(40)': (
        'tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n'
        '        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n'
        '        36, 37, 38, 39])'
    ),
    'ug.arange(40) * -1000': (
        'tensor([     0,  -1000,  -2000,  -3000,  -4000,  -5000,  -6000,  -7000,  -8000,\n'
        '         -9000, -10000, -11000, -12000, -13000, -14000, -15000, -16000, -17000,\n'
        '        -18000, -19000, -20000, -21000, -22000, -23000, -24000, -25000, -26000,\n'
        '        -27000, -28000, -29000, -30000, -31000, -32000, -33000, -34000, -35000,\n'
        '        -36000, -37000, -38000, -39000])'
    ),
    'ug.arange(30) / 7': (
        'tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,\n'
        '        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,\n'
        '        2.5714, 2.7143, 2.8571, 3.0000, 3.1429, 3.2857, 3.4286, 3.5714, 3.7143,\n'
        '        3.8571, 4.0000, 4.1429])'
    ),
    'ug.arange(24).reshape(2, 12) * 100000': (
        'tensor([[      0,  100000,  200000,  300000,  400000,  500000,  600000,  700000,\n'
        '          800000,  900000, 1000000, 1100000],\n'
        '        [1200000, 1300000, 1400000, 1500000, 1600000, 1700000, 1800000, 1900000,\n'
        '         2000000, 2100000, 2200000, 2300000]])'
    ),
    'ug.arange(48).reshape(2, 2, 12) / 8': (
        'tensor([[[0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750,\n'
        '          1.0000, 1.1250, 1.2500, 1.3750],\n'
        '         [1.5000, 1.6250, 1.7500, 1.8750, 2.0000, 2.1250, 2.2500, 2.3750,\n'
        '          2.5000, 2.6250, 2.7500, 2.8750]],\n'
        '\n'
        '        [[3.0000, 3.1250, 3.2500, 3.3750, 3.5000, 3.6250, 3.7500, 3.8750,\n'
        '          4.0000, 4.1250, 4.2500, 4.3750],\n'
        '         [4.5000, 4.6250, 4.7500, 4.8750, 5.0000, 5.1250, 5.2500, 5.3750,\n'
        '          5.5000, 5.6250, 5.7500, 5.8750]]])'
    ),
    'ug.arange(1001)': (
        'tensor([   0,    1,    2,  ...,  998,  999, 1000])'
    ),
    'ug.arange(10000).reshape(100, 100)': (
        'tensor([[   0,    1,    2,  ...,   97,   98,   99],\n'
        '        [ 100,  101,  102,  ...,  197,  198,  199],\n'
        '        [ 200,  201,  202,  ...,  297,  298,  299],\n'
        '        ...,\n'
        '        [9700, 9701, 9702,  ..., 9797, 9798, 9799],\n'
        '        [9800, 9801, 9802,  ..., 9897, 9898, 9899],\n'
        '        [9900, 9901, 9902,  ..., 9997, 9998, 9999]])'
    ),
    'ug.arange(2100).reshape(7, 300) / 3': (
        'tensor([[0.0000e+00, 3.3333e-01, 6.6667e-01,  ..., 9.9000e+01, 9.9333e+01,\n'
        '         9.9667e+01],\n'
        '        [1.0000e+02, 1.0033e+02, 1.0067e+02,  ..., 1.9900e+02, 1.9933e+02,\n'
        '         1.9967e+02],\n'
        '        [2.0000e+02, 2.0033e+02, 2.0067e+02,  ..., 2.9900e+02, 2.9933e+02,\n'
        '         2.9967e+02],\n'
        '        ...,\n'
        '        [4.0000e+02, 4.0033e+02, 4.0067e+02,  ..., 4.9900e+02, 4.9933e+02,\n'
        '         4.9967e+02],\n'
        '        [5.0000e+02, 5.0033e+02, 5.0067e+02,  ..., 5.9900e+02, 5.9933e+02,\n'
        '         5.9967e+02],\n'
        '        [6.0000e+02, 6.0033e+02, 6.0067e+02,  ..., 6.9900e+02, 6.9933e+02,\n'
        '         6.9967e+02]])'
    ),
    'ug.zeros(2, 0)': (
        'tensor([], size=(2, 0))'
    ),
    'ug.zeros(0, dtype=ug.int64)': (
        'tensor([], dtype=unigrad.int64)'
    ),
    'ug.zeros(0, 3, dtype=ug.float64)': (
        'tensor([], size=(0, 3), dtype=unigrad.float64)'
    ),
    'ug.tensor([True, False] * 15)': (
        'tensor([ True, False,  True, False,  True, False,  True, False,  True, False,\n'
        '         True, False,  True, False,  True, False,  True, False,  True, False,\n'
        '         True, False,  True, False,  True, False,  True, False,  True, False])'
    ),
    'ug.ones(3, dtype=ug.float16)': (
        'tensor([1., 1., 1.], dtype=unigrad.float16)'
    ),
    'ug.ones(13, dtype=ug.float64)': (
        'tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],\n'
        '       dtype=unigrad.float64)'
    ),
    'ug.ones(14, dtype=ug.float64)': (
        'tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],\n'
        '       dtype=unigrad.float64)'
    ),
    'ug.ones(10, requires_grad=True)': (
        'tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1.], requires_grad=True)'
    ),
    'ug.ones(2, 10, dtype=ug.float16, requires_grad=True)': (
        'tensor([[1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],\n'
        '        [1., 1., 1., 1., 1., 1., 1., 1., 1., 1.]], dtype=unigrad.float16,\n'
        '       requires_grad=True)'
    ),
    'ug.tensor([3e38, 1.0])': (
        'tensor([3.0000e+38, 1.0000e+00])'
    ),
    'ug.tensor([123456.0, 7.0])': (
        'tensor([1.2346e+05, 7.0000e+00])'
    ),
    'ug.tensor([65504.0, 0.5], dtype=ug.float16)': (
        'tensor([6.5504e+04, 5.0000e-01], dtype=unigrad.float16)'
    ),
    'ug.zeros(3)': (
        'tensor([0., 0., 0.])'
    ),
    'ug.tensor(-3)': (
        'tensor(-3)'
    ),
    'ug.tensor([0, -5, 100])': (
        'tensor([  0,  -5, 100])'
    ),
    'ug.full((1, 1, 1, 1), 0.5)': (
        'tensor([[[[0.5000]]]])'
    ),
    'ug.arange(1200).reshape(2, 600)': (
        'tensor([[   0,    1,    2,  ...,  597,  598,  599],\n'
        '        [ 600,  601,  602,  ..., 1197, 1198, 1199]])'
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", REPRS)
def test_texts_are_pytorchs(call):
    made = eval(call, {"ug": ug, "inf": inf, "nan": nan})
    assert repr(made) == REPRS[call]


def test_texts_beside_pytorch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: texts are compared with its own")
    ug.manual_seed(5)
    for shape in [(), (1,), (7,), (23,), (3, 5), (2, 3, 11), (1, 1, 1, 9), (1500,), (40, 30)]:
        for low, high in [(-1.0, 1.0), (0.0, 500.0), (-3.0, 5000.0), (1e-6, 1e-5), (-1e9, 1e9)]:
            for dtype in ("float32", "float64", "float16", "bfloat16", "int32", "int64"):
                x = ug.uniform(low, high, shape, dtype="float32")
                for x in (x, x.round()):
                    x = x.to(dtype)
                    # By numbers: NumPy has no bfloat16.
                    theirs = torch.tensor(x.tolist(), dtype=getattr(torch, dtype))
                    # The dtype's name is longer here, and may need a line of its own.
                    texts = [text.replace(",\n       dtype", ", dtype") for text in (repr(x), repr(theirs).replace("torch.", "unigrad."))]
                    assert texts[0] == texts[1], (shape, low, high, dtype)

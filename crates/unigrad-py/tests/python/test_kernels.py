"""Kernels that the user wrote, in every language."""

import numpy as np
import pytest
import unigrad as ug

DEVICES = ["cpu", "opencl:0", "vulkan", "cuda"]

SQUARE_PLUS_ONE = {
    "cuda": """extern "C" __global__ void square_plus_one(const float* x, float* y, unsigned int n) {
        unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = x[i] * x[i] + 1.0f;
    }""",
    "opencl": """__kernel void square_plus_one(__global const float* x, __global float* y, uint n) {
        uint i = get_global_id(0);
        if (i < n) y[i] = x[i] * x[i] + 1.0f;
    }""",
    "msl": """#include <metal_stdlib>
    kernel void square_plus_one(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant uint& n [[buffer(2)]],
                                uint i [[thread_position_in_grid]]) {
        if (i < n) y[i] = x[i] * x[i] + 1.0f;
    }""",
    "wgsl": """struct Numbers { n: u32 }
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @group(0) @binding(2) var<uniform> numbers: Numbers;
    @compute @workgroup_size(64)
    fn square_plus_one(@builtin(global_invocation_id) at: vec3<u32>) {
        if (at.x < numbers.n) { y[at.x] = x[at.x] * x[at.x] + 1.0; }
    }""",
}
IR = """kernel square_plus_one(x: [f32], y: mut [f32], n: u32) threads(64, 1, 1) {
    %0 = param n
    %1 = group.x
    %2 = thread.x
    %3 = mul u32 %1, 64
    %i = add u32 %3, %2
    %5 = lt u32 %i, %0
    if %5 {
        %6 = load f32 x[%i]
        %7 = fma f32 %6, %6, 1.0
        store y[%i], %7
    }
}"""


@pytest.mark.parametrize("sources", ["dialects", "ir"])
@pytest.mark.parametrize("name", DEVICES)
def test_kernels_in_every_dialect(name, sources):
    try:
        device = ug.Device(name)
    except ug.NotAvailableError as error:
        pytest.skip(str(error).splitlines()[0])
    if name == "cpu" and sources == "dialects":
        pytest.skip("the CPU has kernel IR only")
    texts = {"ir": IR} if sources == "ir" else SQUARE_PLUS_ONE
    kernel = ug.CustomKernel("square_plus_one", (64, 1, 1), sources=texts, backward=lambda inputs, output, grad: [grad * inputs[0] * 2])
    x = (ug.arange(1000, device=device).float() / 100 - 5).requires_grad_()
    y = kernel(x * 2, shape=(1000,), grid=(16, 1, 1), scalars=[(1000, ug.uint32)])
    (y * 0.5).sum().backward()
    values = x.tolist()
    assert y.tolist() == pytest.approx([4 * v * v + 1 for v in values], rel=1e-5)
    assert x.grad.tolist() == pytest.approx([4 * v for v in values], rel=1e-5, abs=1e-5)


def test_a_kernel_is_an_op():
    square = ug.CustomKernel("square_plus_one", 64, {"ir": IR}, backward=lambda inputs, output, dy: dy * 2 * inputs[0])
    x = ug.arange(100, dtype=ug.float32).requires_grad_()
    y = square(x * 1, shape=100, grid=2, scalars=[(100, ug.uint32)])
    np.testing.assert_array_equal(y.detach().numpy(), np.arange(100, dtype=np.float32) ** 2 + 1)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 2 * np.arange(100, dtype=np.float32))
    compiled = square.compile(ug.default_device(), [ug.float32], ug.float32, [ug.uint32])
    assert compiled.binary is None or isinstance(compiled.binary, bytes)
    assert compiled.details is None or "registers" in compiled.details


def test_wrong_kernels_are_errors(tmp_path):
    file = tmp_path / "square.ir"
    file.write_text(IR)
    from_file = ug.CustomKernel("square_plus_one", (64,), {"ir": file})
    assert from_file(ug.tensor([3.0]), shape=(1,), grid=(1, 1, 1), scalars=[(1, ug.uint32)]).tolist() == [10.0]
    for block in (0, (1, 2, 3, 4), (), -1, 2**40, "no", None, 1.5):
        with pytest.raises((ug.Error, TypeError, ValueError)):
            ug.CustomKernel("k", block, {"ir": IR})
    for sources in ({}, {"french": "x"}, {"ir": 3}, {"ir": tmp_path / "none"}, None, {1: "x"}):
        with pytest.raises((ug.Error, TypeError, ValueError, OSError)):
            ug.CustomKernel("k", 64, sources)
    for scalars in ([None], ["1"], [(1, 2)], 3, [(2**40, ug.uint32)], [(1, ug.uint32), (1, ug.uint32)], []):
        with pytest.raises((ug.Error, TypeError, ValueError)):
            from_file(ug.ones(1), shape=1, grid=1, scalars=scalars).tolist()
    with pytest.raises(ug.Error):
        ug.CustomKernel("k", 64, {"ir": "kernel k() nonsense"})(ug.ones(1), shape=1, grid=1).tolist()
    with pytest.raises(ug.Error):
        ug.CustomKernel("k", 64, {"ir": "kernel k() nonsense"}).compile("cpu", [], ug.float32)

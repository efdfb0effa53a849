"""The time of scalars and small nets of `unigrad.micrograd`, on the CPU and on a GPU.

    python benchmarks/benchmark_gpu.py [--device NAME]

Without a name the GPU is the machine's best; software implementations (`opencl:0` with PoCL, `vulkan` with lavapipe) are used when they are named.
Every operation's result is computed and held, on the GPU as on the CPU: there all 1000 by the read of the last one.
"""

import argparse
import time
from collections.abc import Callable

from unigrad.micrograd import MLP, Device, Value

ITERATIONS = 1000


def per_operation(operation: Callable[[Value, Value], Value], device: Device) -> float:
    """Milliseconds of one of many operations, with what it takes to know their results; the best of five tries."""
    best = float("inf")
    for _ in range(5):
        a, b = Value(2.0, device=device), Value(3.0, device=device)
        begin = time.perf_counter()
        results = [operation(a, b) for _ in range(ITERATIONS)]
        _ = results[-1].data
        best = min(best, time.perf_counter() - begin)
    return best / ITERATIONS * 1e3


def per_iteration(work: Callable[[], object], iterations: int) -> float:
    """Milliseconds of an iteration; the best of five tries."""
    work()
    best = float("inf")
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(iterations):
            work()
        best = min(best, time.perf_counter() - begin)
    return best / iterations * 1e3


def net(device: Device) -> tuple[float, float]:
    """Milliseconds of a small net's forward pass, and of forward and backward."""
    model = MLP(10, [20, 20, 1], device=device)
    x = [Value(0.1 * i, device=device) for i in range(10)]

    def forward_and_backward() -> float:
        model.zero_grad()
        out = model(x)
        out.backward()
        return float(out.data)

    return per_iteration(lambda: model(x).data, 100), per_iteration(forward_and_backward, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", help='a device in the place of the GPU, such as "opencl:0"')
    asked = parser.parse_args().device
    is_available = asked is not None or Device.is_gpu_available()
    devices = [Device.cpu()]
    if is_available:
        devices.append(Device(asked) if asked else Device.gpu())

    print("=" * 80)
    print("unigrad.micrograd Performance Benchmarks")
    print("=" * 80)
    print(f"\nGPU Available: {is_available}")
    print(f"\nBasic Operations (average time per operation, {ITERATIONS} iterations)")
    print("-" * 80)
    print(f"{'Operation':<20}{'CPU':>15}{'GPU':>15}")
    print("-" * 80)
    operations: list[tuple[str, Callable[[Value, Value], Value]]] = [
        ("Addition", lambda a, b: a + b),
        ("Multiplication", lambda a, b: a * b),
        ("Power", lambda a, b: a**2),
        ("ReLU", lambda a, b: a.relu()),
    ]
    for name, operation in operations:
        times = [f"{per_operation(operation, device):.4f} ms" for device in devices]
        print(f"{name:<20}{times[0]:>15}{times[1] if is_available else 'N/A':>15}")
    print("\nNeural Network Benchmarks (average time per iteration)")
    print("-" * 80)
    print("\nSmall MLP (10-20-20-1):")
    print("-" * 40)
    for name, device in zip(["CPU", "GPU"], devices):
        forward, both = net(device)
        print(f"{f'  {name} Forward:':<28}{forward:.4f} ms")
        print(f"{f'  {name} Forward+Backward:':<28}{both:.4f} ms")


if __name__ == "__main__":
    main()

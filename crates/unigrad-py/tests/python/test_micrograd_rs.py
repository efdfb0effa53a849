"""Programs written for `micrograd_rs`: the snippets of its document, as they stand there."""

import pytest

import unigrad.micrograd

DISPATCH = """
from micrograd_rs import Value, Device

# Create value on GPU
v = Value(3.14, device=Device.gpu())
# These operations happen on GPU
result = v * 2.0 + v ** 2
result.backward()  # Backward pass also on GPU
"""

VALUES = """
from micrograd_rs import Value, Device
# Create value on specific device
v = Value(data, device=device)

# Get current device
current_device = v.device

# Move to different device
v_gpu = v.to(Device.gpu())
"""

NETWORKS = """
from micrograd_rs import MLP, Device

# Create model on GPU
device = Device.gpu() if Device.is_gpu_available() else Device.cpu()
model = MLP(input_size, layer_sizes, device=device)

# All parameters will be on the specified device
for param in model.parameters():
    assert param.device == device
"""


def run(snippet, **names):
    """A snippet; where there is no GPU it says so, and does the same on the CPU."""
    if "v = " in snippet and not unigrad.micrograd.Device.is_gpu_available():
        with pytest.raises(RuntimeError):
            exec(snippet, dict(names))
        snippet = snippet.replace("Device.gpu()", "Device.cpu()")
    exec(snippet, names)
    return names


def test_the_names_are_micrograds():
    import micrograd_rs

    assert micrograd_rs.__all__ == unigrad.micrograd.__all__
    assert all(getattr(micrograd_rs, name) is getattr(unigrad.micrograd, name) for name in micrograd_rs.__all__)


def test_operations_stay_on_the_device():
    names = run(DISPATCH)
    assert names["result"].data == pytest.approx(2 * 3.14 + 3.14**2) and names["v"].grad == pytest.approx(2 + 2 * 3.14)
    assert names["result"].device == names["v"].device


def test_values_move():
    names = run(VALUES, data=1.5, device=unigrad.micrograd.Device.cpu())
    assert names["current_device"] == unigrad.micrograd.Device.cpu() and names["v_gpu"].data == 1.5


def test_networks_are_on_a_device():
    assert len(run(NETWORKS, input_size=10, layer_sizes=[20, 20, 1])["model"].parameters()) == 661


def test_the_devices_are_those_of_the_reference():
    from micrograd_rs import Device

    assert isinstance(Device.cpu(), Device) and isinstance(Device.is_gpu_available(), bool)
    if not Device.is_gpu_available():
        with pytest.raises(RuntimeError, match="help"):
            Device.gpu()

"""Attributes of modules: parameters, buffers and modules stand in each module's own dict, and are always those of its `_parameters`, `_buffers`, `_modules`."""

import copy
import gc
import pickle
import weakref

import pytest

import unigrad as ug
from unigrad import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2, bias=False)
        self.scale = nn.Parameter(ug.ones(2))
        self.mean = nn.Buffer(ug.zeros(2))

    def forward(self, x):
        return self.second(self.first(x).relu()) * self.scale + self.mean


class WithState(Net):
    """As programs write it: the dict of the object is its state."""

    def __getstate__(self):
        state = self.__dict__.copy()
        state["more"] = 1
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)


def agree(module):
    for kind in ("_parameters", "_buffers", "_modules"):
        for name, value in getattr(module, kind).items():
            assert getattr(module, name) is value, name
    for part in module.children():
        agree(part)


def test_attributes_are_what_is_set():
    net = Net()
    agree(net)
    net.first = nn.Linear(3, 5)
    net.scale = nn.Parameter(ug.zeros(2))
    net.mean = ug.ones(2)
    agree(net)
    assert net.first.out_features == 5 and net.scale.tolist() == [0.0, 0.0] and net.mean.tolist() == [1.0, 1.0]
    net.first.bias = None
    assert net.first.bias is None and [name for name, _ in net.first.named_parameters()] == ["weight"]
    # What has been a parameter is a module, a buffer, nothing.
    net.scale = nn.Identity()
    assert "scale" not in net._parameters and isinstance(net.scale, nn.Identity)
    net.scale = nn.Buffer(ug.ones(1))
    assert "scale" not in net._modules and net._buffers["scale"] is net.scale
    del net.scale, net.second
    agree(net)
    for name in ("scale", "second", "nothing"):
        with pytest.raises(AttributeError, match=name):
            getattr(net, name)
        assert not hasattr(net, name)


def test_attributes_are_what_is_put_in_the_dicts():
    net = Net()
    net._modules["first"] = nn.Linear(3, 7)
    net._parameters.update(scale=nn.Parameter(ug.zeros(2)), more=nn.Parameter(ug.zeros(1)))
    net._buffers.setdefault("count", ug.zeros(()))
    net._buffers |= {"other": ug.ones(1)}
    agree(net)
    assert net.first.out_features == 7 and net.more.shape == (1,) and net.other.item() == 1.0
    net._parameters.pop("more"), net._buffers.popitem(), net._modules.clear()
    agree(net)
    assert not any(hasattr(net, name) for name in ("more", "other", "first", "second")) and hasattr(net, "count")
    with pytest.raises(KeyError):
        net._parameters.pop("more")
    assert net._parameters.pop("more", 3) == 3


def test_names_of_the_class_are_not_hidden():
    own = nn.ModuleList()
    own._modules["training"], own._modules["forward"], own._modules["_parameters"] = nn.Identity(), nn.Identity(), nn.Identity()
    assert own.training is True and callable(own.forward) and not isinstance(own.forward, nn.Module) and own._parameters == {}
    own._modules.clear()
    assert own.training is True and own.eval().training is False
    values = nn.ParameterDict()
    values._parameters["keys"] = nn.Parameter(ug.ones(1))
    assert list(values.keys()) == ["keys"] and len(list(values.parameters())) == 1


@pytest.mark.parametrize("kind", [Net, WithState])
@pytest.mark.parametrize("again", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net)), copy.copy])
def test_copies_are_modules_of_their_own(kind, again):
    x = ug.ones(1, 3)
    net = kind()
    other = again(net)
    agree(other)
    assert ug.equal(net(x), other(x))
    other.first = nn.Linear(3, 4)
    other.scale = nn.Parameter(ug.zeros(2))
    agree(other)
    agree(net)
    assert other(x).tolist() == [[0.0, 0.0]] and net.scale.tolist() == [1.0, 1.0]
    assert sorted(dict(net.named_parameters())) == sorted(dict(other.named_parameters()))


def test_modules_go_with_their_last_user():
    gc.disable()
    try:
        net = nn.Sequential(Net(), nn.Linear(2, 2))
        net(ug.ones(1, 3)).realize()
        gone = [weakref.ref(module) for module in net.modules()]
        del net
        assert not any(module() for module in gone)
    finally:
        gc.enable()


def test_attributes_of_ones_own():
    class Wrapped(nn.Module):
        def __init__(self, inside):
            super().__init__()
            self.inside = inside

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inside, name)

    wrapped = Wrapped(nn.Linear(3, 4))
    assert wrapped.out_features == 4 and wrapped.weight is wrapped.inside.weight
    with pytest.raises(AttributeError, match="nothing"):
        wrapped.nothing

    class Early(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="super"):
        Early()


def test_computed_weights_are_attributes():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 4))
    for one in (layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert one.weight.shape == (4, 3) and "weight" not in vars(one)
        assert one(ug.ones(2, 3)).shape == (2, 4) and "weight" not in vars(one)
        agree(nn.utils.remove_parametrizations(one))
        assert isinstance(one.weight, nn.Parameter)

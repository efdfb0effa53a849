"""The graph of a gradient, as `grad_fn.next_functions` shows it, beside PyTorch's where it is installed."""

import gc
import weakref

import pytest

import unigrad as ug


def leaves(node):
    """The leaves below a node, in the order in which they are first met."""
    found, seen, waiting = [], set(), [node]
    while waiting:
        node = waiting.pop(0)
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        waiting += [next for next, _ in node.next_functions]
    return found


def test_a_chain_ends_at_its_leaf():
    x = ug.ones(2, requires_grad=True)
    y = (x * 2).exp()
    (product, at), *others = y.grad_fn.next_functions
    assert (product.name(), at, others) == ("MulBackward0", 0, [])
    # The other factor is a number: no gradient flows there.
    (leaf, at), (number, _) = product.next_functions
    assert number is None and at == 0 and isinstance(leaf, ug.autograd.AccumulateGrad) and isinstance(leaf, ug.autograd.Node)
    assert leaf.variable is x and leaf.next_functions == () and leaf.name() == "torch::autograd::AccumulateGrad" and repr(leaf) == "<AccumulateGrad>"
    assert not hasattr(product, "variable")


def test_nodes_are_equal_where_they_are_one():
    x = ug.ones(2, requires_grad=True)
    y = x * 2
    a, b = y.exp(), y.sin()
    left, right = a.grad_fn.next_functions[0][0], b.grad_fn.next_functions[0][0]
    assert left == right == y.grad_fn and hash(left) == hash(right) == hash(y.grad_fn)
    assert a.grad_fn != b.grad_fn and a.grad_fn != 3 and a.grad_fn == a.grad_fn
    assert left.next_functions[0][0] == (x + 1).grad_fn.next_functions[0][0] and left.next_functions[0][0] != left
    own = ug.autograd.Node("mul")
    assert own == own and own != ug.autograd.Node("mul") and own.next_functions == () and ug.autograd.AccumulateGrad("mul").variable is None


def test_leaves_are_the_programs_own_objects():
    made = [
        ug.ones(2, requires_grad=True), ug.tensor([1.0, 2.0], requires_grad=True), ug.nn.Parameter(ug.ones(2)), ug.zeros(2).requires_grad_(), ug.rand(2, requires_grad=True),
        ug.arange(2.0, requires_grad=True), ug.zeros_like(ug.ones(2), requires_grad=True), ug.full((2,), 2.0, requires_grad=True),
    ]  # fmt: skip
    set_ = ug.ones(2)
    set_.requires_grad = True
    for x in [*made, set_]:
        assert (x * 2).grad_fn.next_functions[0][0].variable is x
    model = ug.nn.Sequential(ug.nn.Linear(3, 4), ug.nn.Tanh(), ug.nn.Linear(4, 1))
    names = {id(p): name for name, p in model.named_parameters()}
    assert {names[id(p)] for p in leaves(model(ug.ones(2, 3)).sum().grad_fn)} == {"0.weight", "0.bias", "2.weight", "2.bias"}


@pytest.mark.parametrize("name, arguments, op", [("mul_", (3,), "Mul"), ("add_", (2.5,), "Add"), ("exp_", (), "Exp"), ("div_", (2,), "Div"), ("sqrt_", (), "Sqrt"), ("neg_", (), "Neg")])
def test_what_is_written_in_place_has_the_ops_name(name, arguments, op):
    x = ug.tensor([0.5, 2.0], requires_grad=True)
    plain, written = getattr(x * 2, name[:-1])(*arguments), x * 2
    old = written.grad_fn
    holder = written
    assert getattr(written, name)(*arguments) is holder
    assert written.grad_fn.name() == f"{op}Backward0" == plain.grad_fn.name() and written.grad_fn.next_functions[0][0] == old
    written.sum().backward()
    gradient, x.grad = x.grad, None
    plain.sum().backward()
    assert gradient.tolist() == x.grad.tolist() and written.tolist() == plain.tolist()


def test_a_leaf_with_another_value_is_the_same():
    w = ug.ones(2, requires_grad=True)
    before = (w * 2).grad_fn
    with ug.no_grad():
        w.copy_(ug.zeros(2))
    after = (w * 2).grad_fn
    assert before != after and before.next_functions[0][0] == after.next_functions[0][0] and before.next_functions[0][0].variable is w


def test_what_goes_nowhere():
    x, fixed = ug.ones(2, requires_grad=True), ug.ones(2)
    assert [node is None for node, _ in (x * fixed).grad_fn.next_functions] == [False, True]
    assert [node is None for node, _ in (fixed - x.detach() * 2 + x).grad_fn.next_functions] == [True, False]
    both = ug.cat([x, fixed, x])
    assert [node is None for node, _ in both.grad_fn.next_functions] == [False, True, False]
    index = ug.tensor([1])
    (only,) = leaves(x[index].sum().grad_fn)
    assert only is x
    assert fixed.grad_fn is None and (fixed * 2).grad_fn is None


def test_a_node_keeps_no_leaf():
    x = ug.ones(2, requires_grad=True)
    node, gone = (x * 2).grad_fn, weakref.ref(x)
    del x
    gc.collect()
    # The leaf may be gone: gradients that nothing can read go nowhere.
    assert gone() is None
    assert node.next_functions[0][0].variable is None


def test_under_no_grad_the_graph_is_there():
    x = ug.ones(2, requires_grad=True)
    y = x.sin().exp()
    with ug.no_grad():
        node = y.grad_fn.next_functions[0][0]
        assert node.name() == "SinBackward0" and node.next_functions[0][0].variable is x


def test_backward_passes_after_the_graph_was_read():
    x = ug.ones(2, requires_grad=True)
    y = (x * 3).exp().sum()
    assert leaves(y.grad_fn)[0] is x
    y.backward()
    assert x.grad.tolist() == (3 * ug.ones(2).mul(3).exp()).tolist()
    assert isinstance(y.grad_fn.next_functions, tuple)


PROGRAMS = {
    "two layers": lambda m, x, w, b: (((x @ w) + b).tanh() * 2).sum(),
    "shared": lambda m, x, w, b: x.exp() * x.sin() + x,
    "branches": lambda m, x, w, b: m.cat([x @ w, (x * x) @ w], 0).sigmoid().mean(),
    "only one": lambda m, x, w, b: (x.detach() @ w).relu().sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_leaves_are_those_of_pytorchs_graph(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its graph is compared")
    met = []
    for m in (torch, ug):
        given = {key: m.ones(shape, requires_grad=True) for key, shape in {"x": (3, 3), "w": (3, 3), "b": (3,)}.items()}
        found = leaves(PROGRAMS[name](m, *given.values()).grad_fn)
        met.append({key for key, value in given.items() if any(value is one for one in found)})
        assert len(found) == len(met[-1])
    assert met[0] == met[1]

"""Optimizers and schedules: what they do beside PyTorch where it is installed, and habits that programs rely on."""

import pickle

import numpy as np
import pytest

import unigrad as ug
from unigrad import nn, optim

RULES = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "dampening": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.1, "betas": (0.8, 0.9)}),
    ("NAdam", {}),
    ("RAdam", {"lr": 0.05}),
    ("Adamax", {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {}),
    ("RMSprop", {"momentum": 0.5, "centered": True}),
    ("Rprop", {}),
    ("ASGD", {"t0": 2.0}),
]


def start():
    return np.random.RandomState(0).randn(3, 4).astype("float32")


def train(optimizer, parameter, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        (parameter**2).sum().backward()
        optimizer.step()


@pytest.mark.parametrize(("name", "kwargs"), RULES, ids=lambda v: v if isinstance(v, str) else "")
def test_rules_are_pytorchs(name, kwargs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: optimizers are compared with it")
    a, b = nn.Parameter(ug.tensor(start())), torch.nn.Parameter(torch.tensor(start()))
    ours, theirs = getattr(optim, name)([a], **kwargs), getattr(torch.optim, name)([b], **kwargs)
    train(ours, a, 4), train(theirs, b, 4)
    np.testing.assert_allclose(np.asarray(a.detach()), b.detach().numpy(), atol=1e-6, rtol=1e-5)
    if name != "ASGD":  # It has the rate of the step before.
        ours.param_groups[0]["lr"] *= 0.5
        theirs.param_groups[0]["lr"] *= 0.5
    # A state goes on, from PyTorch's.
    c = nn.Parameter(ug.tensor(b.detach().numpy()))
    other = getattr(optim, name)([c], **kwargs)
    other.load_state_dict(theirs.state_dict())
    assert other.param_groups[0]["lr"] == theirs.param_groups[0]["lr"]
    train(ours, a, 2), train(theirs, b, 2), train(other, c, 2)
    np.testing.assert_allclose(np.asarray(a.detach()), b.detach().numpy(), atol=1e-6, rtol=1e-5)
    if name != "ASGD":  # Its averages are told by names that PyTorch counts otherwise.
        np.testing.assert_allclose(np.asarray(c.detach()), b.detach().numpy(), atol=1e-6, rtol=1e-5)
        # And to PyTorch's.
        state = ours.state_dict()
        saved = {at: {key: torch.tensor(np.asarray(value)) for key, value in own.items()} for at, own in state["state"].items()}
        theirs.load_state_dict({"state": saved, "param_groups": theirs.state_dict()["param_groups"]})
        train(ours, a, 1), train(theirs, b, 1)
        np.testing.assert_allclose(np.asarray(a.detach()), b.detach().numpy(), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", optim.rules.__all__)
def test_every_rule_goes_down_and_on(name):
    def made():
        w = nn.Parameter(ug.tensor(start()))
        return w, getattr(optim, name)([w])

    w, optimizer = made()
    loss = lambda p: (p**2).sum()  # noqa: E731
    first = loss(w).item()
    if name == "LBFGS":
        optimizer.step(lambda: loss(w))
        assert loss(w).item() < first
        return
    for _ in range(3):
        optimizer.zero_grad()
        loss(w).backward()
        optimizer.step()
    assert loss(w).item() < first and optimizer.n_steps == 3
    # A copy by its state goes on to the same bits.
    other, copied = made()
    with ug.no_grad():
        other.copy_(w.detach())
    copied.load_state_dict(optimizer.state_dict())
    again = pickle.loads(pickle.dumps(optimizer))
    twin = again.param_groups[0]["params"][0]
    for p, o in ((w, optimizer), (other, copied), (twin, again)):
        train(o, p, 2)
    assert w.tolist() == other.tolist() == twin.tolist()


def test_groups_and_settings():
    a, b = nn.Parameter(ug.ones(2)), nn.Parameter(ug.ones(2))
    optimizer = optim.SGD([{"params": [a]}, {"params": b, "lr": 0.5, "momentum": 0.9}], lr=0.25)
    assert [group["lr"] for group in optimizer.param_groups] == [0.25, 0.5]
    (a.sum() + b.sum()).backward()
    optimizer.step()
    assert a.tolist() == [0.75, 0.75] and b.tolist() == [0.5, 0.5]
    optimizer.param_groups[0]["lr"] = 0.5
    optimizer.param_groups[1]["momentum"] = 0.5
    optimizer.step()
    assert a.tolist() == [0.25, 0.25] and b.tolist() == [-0.25, -0.25]
    c = nn.Parameter(ug.ones(1))
    optimizer.add_param_group({"params": [c], "lr": 1.0})
    optimizer.zero_grad()
    (b.sum() * 0 + c.sum()).backward()
    optimizer.step()
    assert c.tolist() == [0.0] and b.tolist() == [-0.625, -0.625]  # the momentum was kept
    optimizer.param_groups[0]["lr"] = float("nan")
    with pytest.raises(ValueError, match="lr"):
        optimizer.step()
    optimizer.param_groups[0]["lr"] = 0.5
    # As in PyTorch a momentum may come and go.
    optimizer.param_groups[1]["momentum"] = 0.0
    optimizer.step()
    assert b.tolist() == [-0.625, -0.625] and c.tolist() == [-1.0]


def test_parameters_without_gradients_stay():
    a, b = nn.Parameter(ug.ones(2)), nn.Parameter(ug.ones(2))
    optimizer = optim.AdamW([a, b], lr=0.1)
    a.sum().backward()
    optimizer.step()
    assert b.tolist() == [1.0, 1.0] and a.tolist() != [1.0, 1.0]
    b.requires_grad_(False)
    optimizer.zero_grad()
    (a * b).sum().backward()
    optimizer.step()
    assert b.tolist() == [1.0, 1.0]


def test_steps_with_closures():
    w = nn.Parameter(ug.tensor([4.0, -1.0], dtype="float64"))
    optimizer = optim.LBFGS([w], line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = ((w - ug.tensor([1.0, 2.0], dtype="float64")) ** 2).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 18.0
    np.testing.assert_allclose(w.tolist(), [1.0, 2.0], atol=1e-6)
    with pytest.raises(ValueError, match="closure"):
        optimizer.step()
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    with pytest.raises(ValueError, match="while it takes a step"):
        optimizer.step(lambda: optimizer.step() or w.sum())
    assert optim.SGD([w], lr=0.1).step(closure).item() < 1e-9


def test_a_failed_step_changes_nothing():
    w = nn.Parameter(ug.ones(3))
    optimizer = optim.SGD([w], lr=0.5)
    loss = (w / 0.0).sum()
    optimizer.minimize(loss)
    assert w.tolist() == [1.0] * 3 and optimizer.n_steps == 0
    optimizer.minimize((w * w).sum())
    assert w.tolist() == [0.0] * 3


def test_schedule_free_has_two_sets_of_values():
    w = nn.Parameter(ug.tensor(start()))
    optimizer = optim.AdamWScheduleFree([w], lr=0.1)
    train(optimizer, w, 4)
    training = w.tolist()
    optimizer.eval()
    assert w.tolist() != training
    with pytest.raises(ug.Error):
        train(optimizer, w, 1)
    optimizer.train()
    np.testing.assert_allclose(w.tolist(), training, atol=1e-6)


def test_sophia_renews_its_estimate():
    w = nn.Parameter(ug.tensor(start()))
    optimizer = optim.Sophia([w], lr=0.05)
    first = (w**4).sum().item()
    for _ in range(3):
        optimizer.update_hessian((w**4).sum())
        optimizer.zero_grad()
        (w**4).sum().backward()
        optimizer.step()
    assert (w**4).sum().item() < first


SCHEDULES = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5]}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 3}),
    ("LinearLR", {"start_factor": 0.2, "total_iters": 4}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 6, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3, "step_size_down": 2, "mode": "triangular2", "cycle_momentum": False}),
    ("CyclicLR", {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9, "cycle_momentum": False}),
    ("OneCycleLR", {"max_lr": 2.0, "total_steps": 12, "cycle_momentum": False}),
    ("OneCycleLR", {"max_lr": 2.0, "total_steps": 12, "anneal_strategy": "linear", "three_phase": True, "cycle_momentum": False}),
    ("LambdaLR", {"lr_lambda": lambda step: 0.9**step}),
    ("MultiplicativeLR", {"lr_lambda": lambda step: 0.95}),
]


@pytest.mark.parametrize(("name", "kwargs"), SCHEDULES, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.filterwarnings("ignore")
def test_schedules_are_pytorchs(name, kwargs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: schedules are compared with it")
    ours, theirs = optim.SGD([nn.Parameter(ug.zeros(1))], lr=0.5), torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    a, b = getattr(optim.lr_scheduler, name)(ours, **kwargs), getattr(torch.optim.lr_scheduler, name)(theirs, **kwargs)
    rates = []
    for step in range(11):
        assert a.get_last_lr() == pytest.approx(b.get_last_lr(), abs=1e-9), step
        assert ours.param_groups[0]["lr"] == a.get_last_lr()[0]
        a.step(), b.step()
        rates.append(a.get_last_lr()[0])
    # A state goes on.
    again = optim.SGD([nn.Parameter(ug.zeros(1))], lr=0.5)
    other = getattr(optim.lr_scheduler, name)(again, **kwargs)
    again.load_state_dict(ours.state_dict()), other.load_state_dict(a.state_dict())
    a.step(), other.step()
    assert a.get_last_lr() == other.get_last_lr()


@pytest.mark.filterwarnings("ignore")
def test_schedules_of_schedules():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: schedules are compared with it")

    def made(library, parameter):
        schedules = library.lr_scheduler
        one = library.SGD([parameter], lr=1.0)
        warm, fall = schedules.LinearLR(one, 0.1, total_iters=3), schedules.ExponentialLR(one, 0.9)
        return schedules.SequentialLR(one, [warm, fall], milestones=[3])

    a, b = made(optim, nn.Parameter(ug.zeros(1))), made(torch.optim, torch.nn.Parameter(torch.zeros(1)))
    for _ in range(8):
        assert a.get_last_lr() == pytest.approx(b.get_last_lr())
        a.step(), b.step()
    both = optim.SGD([nn.Parameter(ug.zeros(1))], lr=1.0)
    parts = [optim.lr_scheduler.ConstantLR(both, 0.5, 2), optim.lr_scheduler.ExponentialLR(both, 0.5)]
    chained = optim.lr_scheduler.ChainedScheduler(parts)
    rates = []
    for _ in range(4):
        rates += chained.get_last_lr()
        chained.step()
    assert rates == [0.5, 0.25, 0.25, 0.125]


def test_plateau():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: schedules are compared with it")
    ours, theirs = optim.SGD([nn.Parameter(ug.zeros(1))], lr=1.0), torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    kwargs = {"patience": 1, "cooldown": 1, "min_lr": 0.05, "factor": 0.5}
    a, b = optim.lr_scheduler.ReduceLROnPlateau(ours, **kwargs), torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **kwargs)
    for loss in [3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5]:
        a.step(loss), b.step(loss)
        assert ours.param_groups[0]["lr"] == theirs.param_groups[0]["lr"]


# Two schedulers of one optimizer, and a rate that the loop changes: each step goes on from the rate that is there.
TOGETHER = {
    "two": lambda of, one: [of.StepLR(one, 3, 0.5), of.ExponentialLR(one, 0.9)],
    "cosine and warm-up": lambda of, one: [of.CosineAnnealingLR(one, 9), of.LinearLR(one, 0.1, total_iters=4)],
    "chained": lambda of, one: [of.ChainedScheduler([of.LinearLR(one, 0.25, total_iters=4), of.CosineAnnealingLR(one, 9)])],
    "three in turn": lambda of, one: [
        of.SequentialLR(one, [of.LinearLR(one, 0.1), of.CosineAnnealingLR(one, 6), of.ExponentialLR(one, 0.9)], milestones=[3, 9])
    ],
    "one cycle": lambda of, one: [of.OneCycleLR(one, 0.5, total_steps=16)],
    "one cycle of three phases": lambda of, one: [of.OneCycleLR(one, 0.5, total_steps=16, three_phase=True, base_momentum=0.5)],
    "cyclic": lambda of, one: [of.CyclicLR(one, 0.1, 0.5, step_size_up=3, mode="exp_range", gamma=0.9, max_momentum=0.95)],
    "cyclic by a function": lambda of, one: [of.CyclicLR(one, 0.1, 0.5, 3, scale_fn=lambda x: 0.5**x, scale_mode="iterations")],
    "restarts": lambda of, one: [of.CosineAnnealingWarmRestarts(one, 2, 2, 0.01)],
}


@pytest.mark.parametrize("rule", ["SGD", "AdamW"])
@pytest.mark.parametrize("made", TOGETHER.values(), ids=TOGETHER)
@pytest.mark.filterwarnings("ignore")
def test_schedules_go_together_as_pytorchs(made, rule):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: schedules are compared with it")

    def run(library, parameter, until, saved=None):
        one = getattr(library, rule)([{"params": [parameter], "lr": 0.25}], lr=0.5)
        schedules = made(library.lr_scheduler, one)
        if saved is not None:
            one.load_state_dict(saved[0])
            for schedule, state in zip(schedules, saved[1]):
                schedule.load_state_dict(state)
        rates = []
        for step in range(0 if saved is None else 8, until):
            [schedule.step() for schedule in schedules]
            if step == 10:
                one.param_groups[0]["lr"] *= 0.5
            group = one.param_groups[0]
            rates.append((float(group["lr"]), *map(float, group.get("betas", (group.get("momentum"),)))))
        return rates, (one.state_dict(), [schedule.state_dict() for schedule in schedules])

    theirs, _ = run(torch.optim, torch.nn.Parameter(torch.zeros(1)), 15)
    np.testing.assert_allclose(run(optim, nn.Parameter(ug.zeros(1)), 15)[0], theirs, rtol=1e-9)
    # A state goes on, of PyTorch too.
    for library, parameter in ((optim, nn.Parameter(ug.zeros(1))), (torch.optim, torch.nn.Parameter(torch.zeros(1)))):
        _, saved = run(library, parameter, 8)
        np.testing.assert_allclose(run(optim, nn.Parameter(ug.zeros(1)), 15, saved)[0], theirs[8:], rtol=1e-9)


def test_schedules_of_ones_own():
    class Noam(optim.lr_scheduler._LRScheduler):
        def __init__(self, optimizer, width):
            self.width = width
            super().__init__(optimizer)

        def get_lr(self):
            return [base * min(1.0, self._step_count / self.width) for base in self.base_lrs]

    schedule = Noam(optim.SGD([nn.Parameter(ug.zeros(1))], lr=1.0), 4)
    rates = schedule.get_last_lr()
    for _ in range(4):
        schedule.step()
        rates += schedule.get_last_lr()
    assert rates == [0.25, 0.5, 0.75, 1.0, 1.0]
    plateau = optim.lr_scheduler.ReduceLROnPlateau(schedule.optimizer)
    assert isinstance(plateau, optim.lr_scheduler.LRScheduler)
    with pytest.raises(ValueError, match="ReduceLROnPlateau"):
        optim.lr_scheduler.ChainedScheduler([plateau])
    with pytest.raises(ValueError, match="cycle_momentum"):
        optim.lr_scheduler.OneCycleLR(optim.Rprop([nn.Parameter(ug.zeros(1))]), 0.1, total_steps=4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("epochs", [0, 3])
def test_swa_rates(epochs):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: schedules are compared with it")

    def rates(library, parameter):
        one, found = library.SGD([parameter], lr=1.0), []
        first, swa = library.lr_scheduler.CosineAnnealingLR(one, 9), library.swa_utils.SWALR(one, 0.05, epochs)
        for step in range(9):
            (first if step < 4 else swa).step()
            found.append(one.param_groups[0]["lr"])
        return found

    assert rates(optim, nn.Parameter(ug.zeros(1))) == pytest.approx(rates(torch.optim, torch.nn.Parameter(torch.zeros(1))))


def test_averages_of_weights():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    averaged = optim.swa_utils.AveragedModel(model, avg_fn=optim.swa_utils.get_ema_avg_fn(0.5))
    first = np.asarray(model[0].weight.detach())
    averaged.update_parameters(model)
    with ug.no_grad():
        model[0].weight.copy_(model[0].weight.detach() + 2.0)
    averaged.update_parameters(model)
    np.testing.assert_allclose(np.asarray(averaged.module[0].weight.detach()), first + 1.0, rtol=1e-6)
    x = ug.randn(64, 2)
    optim.swa_utils.update_bn([x], averaged)
    want = averaged.module[0](x).mean(0)
    np.testing.assert_allclose(np.asarray(averaged.module[1].running_mean), np.asarray(want.detach()), atol=1e-5)


def test_averages_of_all_weights_at_once():
    model = nn.Linear(2, 2)
    both = [optim.swa_utils.AveragedModel(model, multi_avg_fn=make(0.5)) for make in [optim.swa_utils.get_ema_multi_avg_fn]]
    both.append(optim.swa_utils.AveragedModel(model, avg_fn=optim.swa_utils.get_ema_avg_fn(0.5)))
    for _ in range(3):
        [averaged.update_parameters(model) for averaged in both]
        with ug.no_grad():
            model.weight.copy_(model.weight.detach() + 1.0)
    assert both[0].module.weight.tolist() == both[1].module.weight.tolist() != model.weight.tolist()
    with pytest.raises(ValueError, match="multi_avg_fn"):
        optim.swa_utils.AveragedModel(model, avg_fn=lambda *_: None, multi_avg_fn=lambda *_: None)


def _trained(library, parameters, make, steps=6, change=None):
    optimizer = make(library.optim, parameters)
    for step in range(steps):
        optimizer.zero_grad()
        loss = sum((parameter * parameter).sum() for at, parameter in enumerate(parameters) if at == 0 or step % 3 != 0)
        loss.backward()
        optimizer.step()
        if change is not None:
            optimizer = change(library.optim, optimizer, parameters, step) or optimizer
    return [parameter.tolist() for parameter in parameters]


def _reloaded(library, optimizer, parameters, step):
    if step == 3:
        other = type(optimizer)(parameters, lr=0.5)
        other.load_state_dict(optimizer.state_dict())
        return other


def _added(library, optimizer, parameters, step):
    if step == 2:
        optimizer.add_param_group({"params": parameters[1:], "lr": 0.02})


# A parameter that has no gradient in some steps counts its own steps: the bias corrections are those of its own first ones.
ALONE = {
    "now and then": (lambda of, own: of.Adam(own, lr=0.1), None),
    "with a state that is loaded": (lambda of, own: of.AdamW(own, lr=0.1), _reloaded),
    "added later": (lambda of, own: of.RAdam(own[:1], lr=0.1), _added),
    "by NAdam": (lambda of, own: of.NAdam(own, lr=0.1, momentum_decay=0.3), None),
    "by NAdam without decay": (lambda of, own: of.NAdam(own, lr=0.1, betas=(0.8, 0.99), momentum_decay=0.0), None),
    "by NAdam, added later": (lambda of, own: of.NAdam(own[:1], lr=0.1), _added),
    "by NAdam, with a state that is loaded": (lambda of, own: of.NAdam(own, lr=0.1), _reloaded),
    "up": (lambda of, own: of.Adam([{"params": own[:1], "maximize": True}, {"params": own[1:]}], lr=0.1), None),
    "up in all groups": (lambda of, own: of.SGD(own, lr=0.1, momentum=0.9, maximize=True, foreach=False), None),
}


@pytest.mark.parametrize("name", ALONE)
def test_parameters_count_their_own_steps(name):
    make, change = ALONE[name]
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: steps are compared with it")
    values = [[1.0, -2.0], [0.5, 3.0]]
    theirs = _trained(torch, [torch.nn.Parameter(torch.tensor(value, dtype=torch.float64)) for value in values], make, change=change)
    ours = _trained(ug, [nn.Parameter(ug.tensor(value, dtype="float64")) for value in values], make, change=change)
    # PyTorch keeps NAdam's product of momenta in float32.
    np.testing.assert_allclose(ours, theirs, rtol=1e-7 if "NAdam" in name else 1e-9)


def test_a_state_that_is_reset():
    w = nn.Parameter(ug.ones(2))
    optimizer = optim.Adagrad([w], lr=0.1, initial_accumulator_value=0.25)
    first = optimizer.state_dict()
    w.sum().backward()
    optimizer.step()
    assert optimizer.state[w]["sum"].tolist() == [1.25, 1.25]
    optimizer.load_state_dict(first)
    assert optimizer.n_steps == 0 and len(optimizer.state) == 0
    optimizer.step()
    assert optimizer.state[w]["sum"].tolist() == [1.25, 1.25]
    optimizer.state = {}
    assert optimizer.n_steps == 0


def test_nadam_goes_on_from_pytorchs_state_and_back():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: steps are compared with it")
    values = [[1.0, -2.0], [0.5, 3.0]]
    theirs = [torch.nn.Parameter(torch.tensor(value, dtype=torch.float64)) for value in values]
    ours = [nn.Parameter(ug.tensor(value, dtype="float64")) for value in values]
    a, b = torch.optim.NAdam(theirs, lr=0.1), optim.NAdam(ours, lr=0.1)

    def step(optimizer, parameters, n, both=True):
        for _ in range(n):
            optimizer.zero_grad()
            sum((p**4).sum() for p in (parameters if both else parameters[1:])).backward()
            optimizer.step()

    # The first one joins late.
    for optimizer, parameters in ((a, theirs), (b, ours)):
        step(optimizer, parameters, 2, both=False)
        step(optimizer, parameters, 3)
    for at in range(2):
        np.testing.assert_allclose(b.state_dict()["state"][at]["mu_product"].item(), a.state_dict()["state"][at]["mu_product"].item(), rtol=1e-6)
    b.load_state_dict(a.state_dict())
    for optimizer, parameters in ((a, theirs), (b, ours)):
        step(optimizer, parameters, 3)
    np.testing.assert_allclose([p.tolist() for p in ours], [p.tolist() for p in theirs], rtol=1e-7)


def test_hooks_of_optimizers():
    w, seen = nn.Parameter(ug.ones(2)), []
    optimizer = optim.Adam([("w", w)])
    pre = optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
    optimizer.register_step_post_hook(lambda *_: seen.append("after"))
    optimizer.register_state_dict_pre_hook(lambda _: seen.append("save"))
    optimizer.register_state_dict_post_hook(lambda _, state: {**state, "more": 1})
    optimizer.register_load_state_dict_pre_hook(lambda _, state: seen.append(state["more"]))
    optimizer.register_load_state_dict_post_hook(lambda _: seen.append("loaded"))
    w.sum().backward()
    optimizer.step()
    pre.remove()
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["before", "after", "after", "save", 1, "loaded"]


class Sign(optim.Optimizer):
    """A rule of one's own, with PyTorch's words."""

    def __init__(self, params, lr=0.1, beta=0.5):
        super().__init__(params, {"lr": lr, "beta": beta})

    def step(self, closure=None):
        with ug.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"], state["mean"] = 0, ug.zeros_like(p)
                    state["step"] += 1
                    state["mean"].mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                    p.add_(state["mean"].sign(), alpha=-group["lr"])


def test_an_optimizer_of_ones_own():
    w = nn.Parameter(ug.tensor([1.0, -1.0]))
    optimizer = Sign([{"params": [w], "lr": 0.25}])
    schedule = optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    for _ in range(2):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
        schedule.step()
    assert w.tolist() == [0.625, -0.625]
    other = Sign([w])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[w]["step"] == 2 and other.state[w]["mean"].tolist() == optimizer.state[w]["mean"].tolist()
    assert other.param_groups[0]["lr"] == 0.0625
    with pytest.raises(TypeError, match="own"):
        ug.amp.GradScaler(device="cpu").step(optimizer)


def test_mixed_precision():
    model = nn.Linear(4, 4)
    optimizer, scaler = optim.SGD(model.parameters(), lr=0.1), ug.amp.GradScaler(device="cpu", init_scale=2.0**20, growth_interval=2)
    x = ug.randn(8, 4)
    with ug.autocast(dtype="float16"):
        y = model(x)
        assert y.dtype == ug.float16
    scaler.scale(y.float().square().mean()).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer), scaler.update()
    before = model.weight.tolist()
    optimizer.zero_grad()
    scaler.scale((model(x) * float("inf")).sum()).backward()
    scale = scaler.get_scale()
    scaler.step(optimizer)
    assert scaler.get_scale() == scale / 2 and model.weight.tolist() == before
    other = ug.amp.GradScaler(device="cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == scaler.get_scale()
    assert model(x).dtype == ug.float32


def test_8_bit_floats():
    model, x = nn.Linear(4, 4), ug.randn(8, 4)
    with ug.autocast(fp8=True):
        y = model(x)
        with ug.autocast(dtype="bfloat16"):
            half = model(x)
        with ug.autocast(enabled=False, fp8=True):
            assert model(x).tolist() == y.tolist()
    assert y.dtype == ug.bfloat16 and half.dtype == ug.bfloat16 and y.tolist() != half.tolist()
    assert model(x).dtype == ug.float32
    y.float().square().mean().backward()
    assert model.weight.grad.dtype == ug.float32
    recipe = ug.amp.Fp8Recipe(amax_history_len=2, margin=1, stochastic_rounding=True, dtype="float16")
    assert repr(recipe) == "Fp8Recipe(amax_history_len=2, margin=1, stochastic_rounding=True, dtype=float16)"

    @ug.autocast(fp8=recipe)
    def step():
        return model(x)

    y = step()
    assert y.dtype == ug.float16
    y.float().square().mean().backward()
    state = recipe.state_dict()
    assert sorted(state) == ["0.first", "0.gradient", "0.second"]
    np.testing.assert_allclose(np.asarray(state["0.first"])[0], np.abs(np.asarray(x)).max())
    other = ug.amp.Fp8Recipe(amax_history_len=2)
    other.load_state_dict(state)
    assert other.state_dict()["0.second"].tolist() == state["0.second"].tolist()
    for wrong in (
        lambda: ug.amp.Fp8Recipe(margin=7),
        lambda: ug.amp.Fp8Recipe(amax_history_len=0),
        lambda: ug.amp.Fp8Recipe(dtype="float32"),
        lambda: ug.amp.Fp8Recipe(amax_history_len=3).load_state_dict(state),
        lambda: ug.amp.Fp8Recipe().load_state_dict(state),
        lambda: other.load_state_dict({"first": state["0.first"]}),
    ):
        with pytest.raises(ug.ArgumentError):
            wrong()
    with pytest.raises(TypeError, match="recipe"):
        ug.autocast(fp8="yes")


def test_rprop_begins_with_the_rate_of_its_first_step():
    w = nn.Parameter(ug.ones(1))
    optimizer = optim.Rprop([w], lr=0.3)
    scheduler = optim.lr_scheduler.ConstantLR(optimizer, factor=1 / 3, total_iters=1)
    seen = []
    for _ in range(3):
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
        scheduler.step()
        seen.append(w.item())
    # Sizes are 0.1, and grow by 1.2 from then on, whatever the rate is.
    assert seen == pytest.approx([0.9, 0.78, 0.636], rel=1e-5)

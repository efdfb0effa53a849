"""Trainers, networks by description, metrics, profiles."""

import copy
import pickle

import numpy as np
import pytest

import unigrad as ug
from unigrad import nn, train


def problem(n=128):
    random = np.random.RandomState(0)
    x = random.randn(n, 2).astype("float32")
    return ug.data.TensorDataset(x, (x[:, 0] > x[:, 1]).astype("int64"))


def made(seed=0):
    ug.manual_seed(seed)
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Dropout(0.1), nn.Linear(16, 2))
    return model, ug.optim.AdamW(model.parameters(), lr=0.02)


def loader(shuffle=True):
    return ug.data.DataLoader(problem(), batch_size=32, shuffle=shuffle, seed=1)


def test_a_run():
    events = []

    class Log(train.Callback):
        def on_run_begin(self, run):
            events.append(("begin", run.epoch))

        def on_step_end(self, run):
            events.append(("step", run.step))

        def on_epoch_end(self, run):
            events.append(("epoch", run.epoch, sorted(run.history)))
            if run.epoch == 4:
                run.stop("enough")

    model, optimizer = made()
    trainer = ug.Trainer(max_epochs=10, metrics=[ug.metrics.Accuracy()], callbacks=[Log()], seed=1)
    run = trainer.fit(model, nn.CrossEntropyLoss(), optimizer, loader(), loader(False))
    assert run.ended == "stopped: enough" and run.n_steps == 16 == optimizer.n_steps
    assert run.history["accuracy"][-1] > 0.8 and len(run.history["val_loss"]) == 4
    assert run.history["loss"][-1] < run.history["loss"][0]
    assert events[0] == ("begin", 0) and events[1] == ("step", 1)
    assert events[5] == ("epoch", 1, ["accuracy", "loss", "val_accuracy", "val_loss"])


def test_a_run_is_the_loop_by_hand():
    model, optimizer = made()
    ug.manual_seed(5)
    ug.Trainer(max_epochs=3, seed=5).fit(model, nn.CrossEntropyLoss(), optimizer, loader())
    other, second = made()
    ug.manual_seed(5)
    batches = loader()
    for epoch in range(3):
        batches.set_epoch(epoch)
        for x, y in batches:
            second.minimize(nn.functional.cross_entropy(other(x), y))
    assert [p.tolist() for p in model.parameters()] == [p.tolist() for p in other.parameters()]


def test_a_run_goes_on(tmp_path):
    def fit(model, optimizer, epochs, folder, **more):
        trainer = ug.Trainer(max_epochs=epochs, seed=3, folder=folder, resume=True, report=False, **more)
        return trainer.fit(model, nn.CrossEntropyLoss(), optimizer, loader())

    whole, optimizer = made()
    fit(whole, optimizer, 4, tmp_path / "whole")
    part, optimizer = made()
    fit(part, optimizer, 2, tmp_path / "part")
    other, optimizer = made(9)
    run = fit(other, optimizer, 4, tmp_path / "part")
    assert run.n_steps == 16 and len(run.history["loss"]) == 4
    assert [p.tolist() for p in whole.parameters()] == [p.tolist() for p in other.parameters()]


def test_settings_of_runs():
    for settings in (
        {"clip_norm": 1.0}, {"clip_value": 0.1}, {"accumulate": 2}, {"precision": "bf16"}, {"precision": "f16"}, {"max_steps": 3},
        {"callbacks": [train.EMA(0.9)]}, {"callbacks": [train.SWA(1)]}, {"callbacks": [train.EarlyStopping("val_loss", patience=1)]},
        {"gradient_checkpointing": True}, {"read_every": 2}, {"activation_limit": 1 << 20}, {"precision": "f16", "loss_scale": {"init_scale": 8.0}}, {"time_limit": 100.0},
    ):  # fmt: skip
        model, optimizer = made()
        run = ug.Trainer(**{"max_epochs": None if "max_steps" in settings else 2, **settings}).fit(
            model, nn.CrossEntropyLoss(), optimizer, loader(), loader()
        )
        assert np.isfinite(run.history["val_loss"]).all(), settings


def test_runs_that_compute_blocks_again():
    weights = []
    for recomputed in (False, True):
        model, optimizer = made()
        model[2].p = 0.0
        calls = []
        model[0].register_forward_hook(lambda module, args, out, calls=calls: calls.append(1))
        ug.Trainer(max_steps=3, seed=1, gradient_checkpointing=recomputed).fit(model, nn.CrossEntropyLoss(), optimizer, loader())
        weights.append(np.concatenate([np.asarray(p.detach()).ravel() for p in model.parameters()]))
        assert len(calls) == (6 if recomputed else 3)
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-4, atol=1e-5)


def test_schedules_in_runs():
    model, optimizer = made()
    scheduler = ug.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    run = ug.Trainer(max_epochs=3, scheduler=scheduler).fit(model, nn.CrossEntropyLoss(), optimizer, loader())
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.02 / 8) and len(run.lr) == 3


def test_steps_of_ones_own():
    model, optimizer = made()

    def step(model, batch):
        x, y = batch
        prediction = model(x)
        return nn.functional.cross_entropy(prediction, y) + 0.1 * prediction.square().mean(), prediction, y

    run = ug.Trainer(max_epochs=2, metrics=[ug.metrics.Accuracy()]).fit(model, None, optimizer, loader(), step=step)
    assert set(run.history) == {"loss", "accuracy"}


def test_exceptions_come_through():
    model, optimizer = made()
    before = [p.tolist() for p in model.parameters()]

    def step(model, batch):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ug.Trainer().fit(model, None, optimizer, loader(), step=step)

    class Bad(train.Callback):
        def on_run_begin(self, run):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ug.Trainer(callbacks=[Bad()]).fit(model, nn.CrossEntropyLoss(), optimizer, loader())
    with pytest.raises(TypeError, match="step"):
        ug.Trainer().fit(model, None, optimizer, loader(), step=lambda model, batch: 3)
    with pytest.raises(ug.Error):
        ug.Trainer().fit(model, nn.CrossEntropyLoss(), optimizer, [(ug.zeros(3, 5), ug.zeros(3, dtype="int64"))])
    assert [p.tolist() for p in model.parameters()] == before


def test_networks_by_description(tmp_path):
    network = ug.Network([2], [{"dense": {"units": 8}}, "relu", {"dense": {"units": 2}}], seed=1)
    assert [name for name, _ in network.named_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert "dense" in network.summary() and network.output_shape == (2,)
    x, y = problem().tensors
    figures = network.fit(x, y, optimizer={"adamw": {"lr": 0.05}}, max_epochs=8, validation_split=0.25)
    assert figures["val_accuracy"][-1] > 0.8
    assert network.evaluate(x, y)["accuracy"] > 0.8
    classes = network.predict(x, "classes")
    assert (classes == y).cast("float32").mean().item() > 0.8
    np.testing.assert_allclose(np.asarray(network.predict(x, "probabilities").sum(-1)), np.ones(128), rtol=1e-5)
    path = tmp_path / "network.safetensors"
    network.save(path)
    for other in (ug.Network.load(path), copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert other.predict(x).tolist() == network.predict(x).tolist()
    # It is a module like others.
    optimizer = ug.optim.SGD(network.parameters(), lr=0.1)
    run = ug.Trainer(max_epochs=1).fit(network, network.loss, optimizer, loader())
    assert run.n_steps == 4
    with pytest.raises(ValueError, match="layer 0"):
        ug.Network([1, 4, 4], [{"conv2d": {"channels": 8, "kernel": 5}}])
    with pytest.raises(ValueError, match="unknown"):
        ug.Network([2], ["unknown"])


def test_metrics():
    logits, labels = ug.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.5]]), ug.tensor([0, 1, 1, 1])
    want = {
        ug.metrics.Accuracy(): 0.75,
        ug.metrics.TopKAccuracy(2): 0.75,
        ug.metrics.Precision(3, "micro"): 0.75,
        ug.metrics.Recall(3, class_index=1): 2 / 3,
        ug.metrics.F1Score(3, class_index=1): 0.8,
        ug.metrics.IoU(3, class_index=1): 2 / 3,
    }
    for metric, value in want.items():
        assert metric(logits, labels) == pytest.approx(value), metric
        metric.reset()
        assert np.isnan(metric.compute())
    x, y = ug.tensor([1.0, 2.0, 4.0]), ug.tensor([1.0, 3.0, 2.0])
    for metric, value in {
        ug.metrics.MAE(): 1.0, ug.metrics.MSE(): 5 / 3, ug.metrics.RMSE(): (5 / 3) ** 0.5, ug.metrics.MAPE(): 4 / 9, ug.metrics.R2Score(): -1.5,
    }.items():  # fmt: skip
        assert metric(x, y) == pytest.approx(value), metric
    scores, truths = ug.tensor([0.1, 0.4, 0.35, 0.8]), ug.tensor([0, 0, 1, 1])
    assert ug.metrics.ROCAUC()(scores, truths) == pytest.approx(0.75)
    assert ug.metrics.PRAUC()(scores, truths) == pytest.approx(0.8333333)
    log_loss = nn.functional.cross_entropy(logits, labels).item()
    assert ug.metrics.LogLoss()(logits, labels) == pytest.approx(log_loss, rel=1e-5)
    assert ug.metrics.Perplexity()(logits, labels) == pytest.approx(np.exp(log_loss), rel=1e-5)
    boxes = ug.tensor([[0.0, 0.0, 10.0, 10.0]])
    average = ug.metrics.MeanAveragePrecision()
    average.update(boxes, ug.tensor([0.9]), ug.tensor([1]), ug.tensor([[0.0, 0.0, 10.0, 8.0]]), ug.tensor([1]))
    assert average.compute()["map"] == pytest.approx(0.7)
    assert ug.metrics.box_iou(boxes, ug.tensor([[0.0, 0.0, 10.0, 5.0]])).item() == pytest.approx(0.5)
    assert ug.metrics.mask_iou(ug.ones(1, 2, 2), ug.ones(1, 2, 2)).item() == 1.0


def test_profiles(tmp_path):
    x = ug.randn(64, 64)
    with ug.profile.Profile() as profile:
        (x @ x).sum().item()
    assert profile.events and profile.seconds > 0 and profile.events[0]["name"] in profile.summary()
    for name in ("profile.html", "trace.json"):
        profile.save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 100
    model, optimizer = made()
    run = ug.Trainer(max_epochs=4, profile=3).fit(model, nn.CrossEntropyLoss(), optimizer, loader())
    assert "steps" in run.profile

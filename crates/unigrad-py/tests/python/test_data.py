"""Datasets, loaders and files."""

import io
import threading

import numpy as np
import pytest

import unigrad as ug
from unigrad import data, nn


class Squares(data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        if not 0 <= index < 10:
            raise IndexError(index)
        return {"x": np.full(2, index, "float32"), "y": index * index}


def seen(loader):
    return [item for batch in loader for item in batch["y"].tolist()]


def test_loaders_of_objects():
    loader = data.DataLoader(Squares(), batch_size=4)
    batches = list(loader)
    assert len(loader) == len(batches) == 3 and batches[0]["x"].shape == (4, 2) and batches[0]["x"].dtype == ug.float32
    assert seen(loader) == [i * i for i in range(10)]
    assert len(list(data.DataLoader(Squares(), 4, drop_last=True))) == 2
    shuffled = data.DataLoader(Squares(), 3, shuffle=True, seed=1)
    first = seen(shuffled)
    assert first != sorted(first) and sorted(first) == [i * i for i in range(10)]
    assert seen(data.DataLoader(Squares(), 3, shuffle=True, seed=1)) == first
    shuffled.set_epoch(1)
    second = seen(shuffled)
    assert second != first and seen(shuffled) == second
    ug.manual_seed(3)
    third = seen(data.DataLoader(Squares(), 3, shuffle=True))
    ug.manual_seed(3)
    assert seen(data.DataLoader(Squares(), 3, shuffle=True)) == third


def test_loaders_with_threads():
    names = set()

    class Slow(Squares):
        def __getitem__(self, index):
            names.add(threading.current_thread().name)
            return super().__getitem__(index)

    assert seen(data.DataLoader(Slow(), 2, num_workers=3)) == [i * i for i in range(10)]
    assert all(name.startswith("unigrad-data") for name in names)

    class Broken(Squares):
        def __getitem__(self, index):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(data.DataLoader(Broken(), 2, num_workers=2))


def test_tensor_datasets_give_whole_batches():
    x, y = np.arange(20.0, dtype="float32").reshape(10, 2), np.arange(10)
    dataset = data.TensorDataset(x, ug.tensor(y))
    assert len(dataset) == 10 and dataset[3][0].tolist() == [6.0, 7.0]
    for shuffle in (False, True):
        for one, two in data.DataLoader(dataset, 4, shuffle=shuffle, seed=0):
            assert one[:, 0].tolist() == (two * 2).tolist()
    part = data.Subset(dataset, [7, 1])
    ((one, two),) = data.DataLoader(part, 2)
    assert two.tolist() == [7, 1]
    with pytest.raises(ValueError, match="tensors"):
        data.TensorDataset(ug.zeros(3), ug.zeros(4))


def test_splits_and_samplers():
    parts = data.random_split(range(10), [0.5, 0.3, 0.2], generator=0)
    assert [len(part) for part in parts] == [5, 3, 2]
    assert sorted(item for part in parts for item in part) == list(range(10))
    both = data.ConcatDataset([range(3), range(10, 12)])
    assert list(both) == [0, 1, 2, 10, 11] and both[-1] == 11
    weighted = list(data.WeightedRandomSampler([0.0, 1.0, 1.0], 50, generator=0))
    assert set(weighted) == {1, 2}
    assert sorted(data.WeightedRandomSampler([1.0, 1.0, 1.0], 3, replacement=False, generator=0)) == [0, 1, 2]
    assert list(data.BatchSampler(data.SequentialSampler(range(5)), 2)) == [[0, 1], [2, 3], [4]]
    assert len(list(data.RandomSampler(range(3), replacement=True, num_samples=8, generator=1))) == 8

    class Lines(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [batch.tolist() for batch in data.DataLoader(Lines(), 2)] == [[0, 1], [2, 3], [4]]
    assert data.StackDataset(a=range(3), b=range(3, 6))[1] == {"a": 1, "b": 4}


@pytest.mark.parametrize("ending", ["safetensors", "pt", "npz"])
def test_files_go_both_ways(tmp_path, ending):
    state = {
        "layer.weight": ug.randn(3, 4),
        "half": ug.ones(2, dtype="float16"),
        "count": ug.tensor(7),
        "empty": ug.zeros(0, 3),
        "truth": ug.tensor([True, False]),
    }
    path = tmp_path / f"state.{ending}"
    ug.save(state, path)
    back = ug.load(path)
    assert set(back) == set(state)
    for name, value in state.items():
        assert back[name].dtype == value.dtype and back[name].shape == value.shape and back[name].tolist() == value.tolist(), name


def test_files_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its files are compared")
    theirs, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    torch.save(theirs.state_dict(), tmp_path / "theirs.pt")
    ours.load_state_dict(ug.load(tmp_path / "theirs.pt"))
    ug.save({"model": ours.state_dict(), "epoch": 3, "bf16": ug.ones(2, dtype="bfloat16")}, tmp_path / "ours.pt")
    found = torch.load(tmp_path / "ours.pt", weights_only=True)
    assert found["epoch"] == 3 and found["bf16"].dtype == torch.bfloat16
    theirs.load_state_dict(found["model"])
    x = np.ones((1, 3), "float32")
    np.testing.assert_allclose(np.asarray(ours(ug.tensor(x)).detach()), theirs(torch.tensor(x)).detach().numpy(), atol=1e-6)
    with pytest.raises(TypeError, match="obj"):
        ug.save({"file": io.BytesIO()}, tmp_path / "wrong.pt")
    assert not (tmp_path / "wrong.pt").exists()


def test_metadata_and_missing_files(tmp_path):
    path = tmp_path / "a.safetensors"
    ug.save({"w": ug.ones(1), "config": {"depth": 3}}, path, metadata={"note": "x"})
    tensors, texts = ug.load(path, with_metadata=True)
    assert list(tensors) == ["w"] and texts == {"config.depth": "3", "note": "x"}
    with pytest.raises(OSError):
        ug.load(tmp_path / "nothing.pt")
    (tmp_path / "broken.pt").write_bytes(b"no file of tensors")
    with pytest.raises(ValueError):
        ug.load(tmp_path / "broken.pt")

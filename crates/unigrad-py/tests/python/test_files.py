"""Files that are open, in memory or not: what is saved to them and loaded from them."""

import io

import pytest

import unigrad as ug


def test_files_in_memory(tmp_path):
    model = ug.nn.Linear(3, 2)
    buffer = io.BytesIO()
    buffer.write(b"head")
    ug.save(model.state_dict(), buffer)
    assert buffer.getvalue()[:6] == b"headPK"
    buffer.seek(4)
    loaded = ug.load(buffer)
    assert sorted(loaded) == ["bias", "weight"] and loaded["weight"].equal(model.weight)
    for ending in ("safetensors", "npz", "pt"):
        path = tmp_path / f"file.{ending}"
        with open(path, "wb") as file:
            ug.save({"a": ug.arange(3)}, file)
        assert ug.load(path)["a"].tolist() == [0, 1, 2]
        with open(path, "rb") as file:
            assert ug.load(file, map_location="cpu")["a"].tolist() == [0, 1, 2]
    with pytest.raises(ug.Error, match="file object"):
        ug.load(io.BytesIO(b"nothing of the kind"))
    with pytest.raises(TypeError, match="bytes"):
        ug.load(io.StringIO("text"))
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: it reads what is written here")
    buffer = io.BytesIO()
    ug.save({"a": ug.arange(3)}, buffer)
    buffer.seek(0)
    assert torch.load(buffer)["a"].tolist() == [0, 1, 2]

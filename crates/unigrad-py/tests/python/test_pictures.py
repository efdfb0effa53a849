"""Pictures: files, folders, transforms, published sets; tables and texts; samplers, folds and padded batches."""

import gzip
import struct
import zlib

import numpy as np
import pytest

import unigrad as ug
from unigrad import data
from unigrad.data import transforms


def png(array):
    """A PNG file of an array `[height, width, channels]`."""
    height, width, channels = array.shape
    rows = b"".join(b"\0" + row.tobytes() for row in array)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


RNG = np.random.default_rng(7)
IMAGE = RNG.integers(0, 256, (12, 10, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    for name, n in [("cats", 3), ("dogs", 2)]:
        (tmp_path / name).mkdir()
        for at in range(n):
            (tmp_path / name / f"{at}.png").write_bytes(png(np.full((8, 6, 3), 10 * at + len(name), np.uint8)))
    return tmp_path


def test_files_are_decoded(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(png(IMAGE))
    np.testing.assert_array_equal(data.read_image(path).numpy(), IMAGE.transpose(2, 0, 1))
    np.testing.assert_array_equal(data.decode_image(png(IMAGE)).numpy(), IMAGE.transpose(2, 0, 1))
    assert data.read_image(path, channels=1).shape == (1, 12, 10) and data.read_image(path, channels=4)[3].min().item() == 255
    picture = data.Picture.read(path)
    assert (picture.height, picture.width, picture.channels, picture.convert(1).channels) == (12, 10, 3, 1)
    np.testing.assert_array_equal(data.Picture(picture.tensor()).tensor().numpy(), IMAGE.transpose(2, 0, 1))
    path.write_bytes(png(IMAGE)[:60])
    with pytest.raises(ValueError, match="a.png"):
        data.read_image(path)
    with pytest.raises(OSError, match="missing.png"):
        data.read_image(tmp_path / "missing.png")
    with pytest.raises(ValueError, match="pixels"):
        data.Picture.decode(png(IMAGE), max_pixels=100)
    for wrong in [ug.ones(3, 4), ug.ones(3, 4, 5, dtype=ug.int64), ug.ones(5, 4, 4)]:
        with pytest.raises(ValueError):
            data.Picture(wrong)


def test_folders(folder):
    images = data.ImageFolder(folder)
    assert images.classes == ["cats", "dogs"] and images.targets == [0, 0, 0, 1, 1] and len(images) == len(images.files) == 5
    x, label = images[-1]
    assert x.shape == (3, 8, 6) and x.dtype == ug.uint8 and label == 1 and x.min().item() == x.max().item() == 14
    with pytest.raises(IndexError):
        images[5]
    batches = list(data.DataLoader(images, batch_size=3, num_workers=2))
    assert [tuple(x.shape) for x, _ in batches] == [(3, 3, 8, 6), (2, 3, 8, 6)] and batches[1][1].tolist() == [1, 1]
    grey = data.ImageFolder(folder, lambda picture: picture.tensor().float() / 255, channels=1)
    assert grey[0][0].shape == (1, 8, 6) and grey[0][0].dtype == ug.float32
    (folder / "dogs" / "1.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match="1.png"):
        data.ImageFolder(folder)[4]
    kept = data.ImageFolder(folder, skip_damaged=True)
    assert len(kept) == 4 and len(kept.damaged) == 1 and "1.png" in kept.damaged[0]
    table = data.Csv.parse(b"file,label\ncats/0.png,b\ndogs/0.png,a\n")
    labelled = data.ImageFolder(folder, table=table)
    assert labelled.classes == ["a", "b"] and labelled.targets == [1, 0]
    with pytest.raises(ValueError, match="classes"):
        data.ImageFolder(folder / "cats")


def test_random_transforms_follow_seed_and_epoch(folder):
    def items(seed, epoch):
        made = data.ImageFolder(folder, transforms.Compose([transforms.ToFloat(), transforms.ColorJitter(0.9, 0.5)]), seed=seed)
        made.set_epoch(epoch)
        return [x.tolist() for x, _ in made]

    assert items(1, 0) == items(1, 0) and items(1, 0) != items(1, 1) and items(1, 0) != items(2, 0)
    image = ug.tensor(IMAGE.transpose(2, 0, 1))
    crop = transforms.RandomCrop(5)
    assert crop(image, seed=3).tolist() == crop(image, seed=3).tolist()
    ug.manual_seed(5)
    first = [crop(image).tolist() for _ in range(4)]
    ug.manual_seed(5)
    assert first == [crop(image).tolist() for _ in range(4)] and first[0] != first[1]


EVERY = {
    "Resize": (5,), "CenterCrop": ((4, 6),), "RandomCrop": ((4, 6), 2, 1), "RandomResizedCrop": (7,), "RandomHorizontalFlip": (1.0,),
    "RandomVerticalFlip": (1.0,), "RandomRotation": (30.0,), "ColorJitter": (0.5, 0.5, 0.5, 0.2), "RandomGrayscale": (1.0,), "Grayscale": (),
    "RandomErasing": (1.0,), "ToFloat": (), "Normalize": ((0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
}  # fmt: skip


def test_every_transform_is_tried():
    assert set(EVERY) | {"Compose", "RandomApply", "Transform"} == set(transforms.__all__)


@pytest.mark.parametrize("name", EVERY)
def test_transforms(name):
    image = ug.tensor(IMAGE.transpose(2, 0, 1))
    got = getattr(transforms, name)(*EVERY[name])(image, seed=1).numpy()
    rows = IMAGE.transpose(2, 0, 1)
    # ITU-R 601 in fixed point, as PIL has it.
    luma = ((rows[0].astype(np.int64) * 19595 + rows[1].astype(np.int64) * 38470 + rows[2].astype(np.int64) * 7471 + 0x8000) >> 16).astype(np.uint8)
    want = {
        "CenterCrop": rows[:, 4:8, 2:8],
        "RandomHorizontalFlip": rows[:, :, ::-1],
        "RandomVerticalFlip": rows[:, ::-1],
        "ToFloat": rows.astype(np.float32) / 255,
        "Normalize": (rows.astype(np.float32) / 255 - 0.5) / 0.2,
        "Grayscale": np.stack([luma] * 3),
        "RandomGrayscale": np.stack([luma] * 3),
    }.get(name)
    if want is not None:
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    shapes = {"Resize": (3, 6, 5), "RandomCrop": (3, 4, 6), "RandomResizedCrop": (3, 7, 7)}
    assert got.shape == shapes.get(name, want.shape if want is not None else rows.shape)


def test_transforms_of_ones_own():
    class Inverted(transforms.Transform):
        def apply(self, picture, numbers):
            return data.Picture(255 - picture.tensor())

    image = ug.tensor(IMAGE.transpose(2, 0, 1))
    assert (Inverted()(image) == 255 - image).all().item()
    both = transforms.Compose([Inverted(), transforms.RandomApply(Inverted(), 1.0)])
    assert (both(image) == image).all().item()
    assert (transforms.RandomApply(Inverted(), 0.0)(image) == image).all().item()
    for call, name in [
        (lambda: transforms.Compose([print]), "transforms"),
        (lambda: transforms.Resize(0), "size"),
        (lambda: transforms.RandomResizedCrop(8, scale=(1.0, 0.5)), "scale"),
        (lambda: transforms.ColorJitter(hue=0.7), "hue"),
        (lambda: transforms.Normalize((0.5,), "x"), "std"),
        (lambda: transforms.Resize(8)("picture"), "image"),
        (lambda: data.ImageFolder(3), "root"),
        (lambda: data.ImageFolder("x", channels=7), "channels"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"'{name}'"):
            call()


def idx(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def test_published_sets(tmp_path):
    pixels, labels = RNG.integers(0, 256, (4, 28, 28), dtype=np.uint8), np.array([3, 1, 4, 1], np.uint8)
    for part in ("train", "t10k"):
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(pixels)))
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(idx(labels))
    for made in (data.MNIST(tmp_path), data.FashionMNIST(tmp_path, train=False)):
        assert made.targets == labels.tolist() and len(made.classes) == 10
        np.testing.assert_array_equal(made[2][0].numpy(), pixels[2:3])
    planes = RNG.integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)
    records = b"".join(bytes([label]) + plane.tobytes() for label, plane in zip((7, 2), planes))
    for name in [f"data_batch_{at}" for at in range(1, 6)] + ["test_batch"]:
        (tmp_path / f"{name}.bin").write_bytes(records)
    train, test = data.CIFAR10(tmp_path), data.CIFAR10(tmp_path, train=False)
    assert len(train) == 10 and test.targets == [7, 2] and test.classes[7] == "horse"
    np.testing.assert_array_equal(test[1][0].numpy(), planes[1])
    (tmp_path / "train.bin").write_bytes(b"\1" + records[:3073])
    (tmp_path / "test.bin").write_bytes(b"\1" + records[:3073])
    assert data.CIFAR100(tmp_path).targets == [7]
    with pytest.raises((OSError, ValueError)):
        data.MNIST(tmp_path / "nothing")


def test_tables(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("size;colour;kind\n1.0;red;yes\n2.0;blue;no\n;red;no\n4.0;green;yes\n")
    csv = data.Csv.read(path, delimiter=";")
    assert csv.names == ["size", "colour", "kind"] and len(csv) == 4 and csv.row(2) == ["", "red", "no"]
    schema = data.TableSchema.fit(csv, target="kind", ignore=["colour"], missing="mean", standardize=False)
    np.testing.assert_allclose(schema.features(csv).numpy()[:, 0], [1, 2, 7 / 3, 4], rtol=1e-6)
    assert schema.task == "classification" and schema.target == "kind"
    again = data.TableSchema.from_json(schema.to_json())
    assert again.features(csv).tolist() == schema.features(csv).tolist() and again.classes == schema.classes
    dataset = data.table_dataset(schema, csv)
    assert len(dataset) == 4 and dataset[0][1].item() == schema.targets(csv)[0].item()
    for call, words in [
        (lambda: csv.column("sizes"), "size"),
        (lambda: data.Csv.parse(b"a,b\n1\n"), "line 2"),
        (lambda: data.Csv.read(path, delimiter="::"), "'delimiter'"),
        (lambda: data.TableSchema.fit(csv, missing="x"), "'missing'"),
        (lambda: data.TableSchema.fit(csv, types={"size": "number"}), "'types'"),
        (lambda: csv.row(9), "'index'"),
        (lambda: data.table_dataset(schema, 3), "'csv'"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            call()


def test_texts(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("a good film\n\n bad \n")
    lines = data.lines_of_file(path)
    assert lines == ["a good film", "bad"] and data.split_text("ab", "character") == ["a", "b"]
    vocabulary = data.TokenVocabulary.fit(lines)
    assert len(vocabulary) == 6 and data.TokenVocabulary.from_json(vocabulary.to_json()).encode("bad film x") == vocabulary.encode("bad film x")
    texts = data.LabelledTexts([(line, at) for at, line in enumerate(lines)], vocabulary)
    loader = data.DataLoader(texts, batch_sampler=data.BucketBatchSampler(texts.lengths, 2, seed=0), collate_fn=data.PadSequences(multiple=4))
    (padded, lengths, labels), = loader
    assert padded.shape == (2, 4) and sorted(lengths.tolist()) == [1, 3] and sorted(labels.tolist()) == [0, 1]
    windows = data.TokenWindows(list(range(10)), 3)
    assert len(windows) == 3 and [part.tolist() for part in windows[-1]] == [[6, 7, 8], [7, 8, 9]]
    for call, name in [
        (lambda: data.split_text("a", "letter"), "unit"),
        (lambda: data.TokenWindows([1, 2], 2), "tokens"),
        (lambda: data.LabelledTexts([("", 0)], vocabulary), "texts"),
        (lambda: data.LabelledTexts([], 3), "vocabulary"),
        (lambda: data.PadSequences()([ug.ones(2, 2), ug.ones(2, 3)]), "batch"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"'{name}'"):
            call()


def test_samplers():
    labels = [0] * 90 + [1] * 10
    stratified = data.StratifiedSampler(labels, seed=3)
    order = list(stratified)
    assert sorted(order) == list(range(100)) and order == list(stratified)
    assert all(sum(labels[item] for item in order[at : at + 20]) in (1, 2, 3) for at in range(0, 100, 20))
    stratified.set_epoch(1)
    assert order != list(stratified)
    balanced = list(data.BalancedSampler(labels, seed=1))
    assert len(balanced) == 100 and 30 < sum(labels[item] for item in balanced) < 70
    shares = [list(data.DistributedSampler(range(10), 3, rank, seed=2)) for rank in range(3)]
    assert {item for share in shares for item in share} == set(range(10)) and {len(share) for share in shares} == {4}
    assert len(data.DistributedSampler(range(10), 3, 0, drop_last=True)) == 3
    buckets = data.BucketBatchSampler(list(range(50)), 8, seed=1)
    batches = list(buckets)
    assert len(batches) == len(buckets) == 7 and sorted(sum(batches, [])) == list(range(50))
    assert all(max(batch) - min(batch) < 16 for batch in batches)
    assert len(list(data.BucketBatchSampler(range(50), 8, drop_last=True, seed=1))) == 6
    for call, name in [
        (lambda: data.DistributedSampler(range(4), 2, 2), "rank"),
        (lambda: data.StratifiedSampler([-1]), "labels"),
        (lambda: data.BucketBatchSampler([1], 0), "batch_size"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"'{name}'"):
            call()


def test_folds_and_splits():
    items = list(range(20))
    for shuffle in (False, True):
        folds = data.k_fold(items, 4, shuffle=shuffle, seed=1)
        assert sorted(item for _, test in folds for item in test) == items
        assert all(sorted([*train, *test]) == items for train, test in folds)
    labels = [0] * 12 + [1] * 8
    assert all(sum(labels[item] for item in test) == 2 for _, test in data.k_fold(items, 4, labels=labels))
    train, test = data.stratified_split(items, labels, 0.25, seed=4)
    assert len(test) == 5 and sum(labels[item] for item in test) == 2 and sorted([*train, *test]) == items
    for call, name in [
        (lambda: data.k_fold(items, 21), "k"),
        (lambda: data.k_fold(items, 1), "k"),
        (lambda: data.stratified_split(items, [0], 0.5), "labels"),
        (lambda: data.validation_split(items, 2.0), "fraction"),
    ]:
        with pytest.raises((TypeError, ValueError), match=f"'{name}'"):
            call()

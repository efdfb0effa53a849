"""What the crates below the layers export, Python reaches: data, tensors, devices. As `test_reachable.py`."""

import re

import pytest
from test_reachable import CRATES, reach

# By its name in the crates: its name in Python, where that is another one.
NAMES = {
    "unigrad-data": {
        "Arrays": "data.TensorDataset", "Batches": "data.BatchSampler", "PadSequences": "data.PadSequences", "pad_sequences": "nn.utils.rnn.pad_sequence",
        "Stack": "data.default_collate", "Cached": "data.CachedDataset", "Concat": "data.ConcatDataset", "Map": "data.MapDataset",
        "MapBatches": "data.MapDataset", "InMemory": "data.Subset", "mnist": "data.MNIST", "fashion_mnist": "data.FashionMNIST", "cifar10": "data.CIFAR10",
        "cifar100": "data.CIFAR100", "mnist_examples": "data.MNIST", "Pictures": "data.PictureDataset", "Loader": "data.DataLoader",
        "Buckets": "data.BucketBatchSampler", "Distributed": "data.DistributedSampler", "RandomOrder": "data.RandomSampler",
        "Sequential": "data.SequentialSampler", "Stratified": "data.StratifiedSampler", "SubsetOrder": "data.SubsetRandomSampler",
        "Weighted": "data.WeightedRandomSampler", "stratified_k_fold": "data.k_fold", "k_fold": "data.k_fold",
        "Vocabulary": "data.TokenVocabulary", "TextTable": "data.texts_of_table", "lines_of_text": "data.lines_of_file",
        **{name: f"data.transforms.{name}" for name in [
            "CenterCrop", "ColorJitter", "Compose", "Grayscale", "Normalize", "RandomApply", "RandomCrop", "RandomErasing", "RandomHorizontalFlip",
            "RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "ToFloat", "Transform",
        ]},
    },
    "unigrad-tensor": {
        "autocast_guard": "amp.autocast", "autocast_fp8": "amp.autocast", "autocast_fp8_guard": "amp.autocast", "AutocastGuard": "amp.autocast",
        "autocast": "amp.autocast", "custom": "custom_function", "enable_grad_guard": "enable_grad", "no_grad_guard": "no_grad", "jacobian": "func.jacrev",
        "hessian": "func.hessian", "jvp": "func.jvp", "vjp": "func.vjp", "grad_allow_unused": "grad", "grad_with": "grad", "NewAxis": "newaxis",
        "vmap_with": "vmap", "grad_enabled": "is_grad_enabled", "EnableGradGuard": "enable_grad", "NoGradGuard": "no_grad",
        "NotFinite": "NotFiniteError", "StateDictMismatch": "StateDictError", "bf16": "bfloat16", "f16": "float16", "F8E4M3": "float8_e4m3fn",
        "F8E5M2": "float8_e5m2", "Fp8Recipe": "amp.Fp8Recipe", "Replay": "replay", "default_dtype": "get_default_dtype",
        "GradientNode": "autograd.Node",
    },
    "unigrad-device": {
        "Counters": "Device.counters", "MemoryStats": "Device.memory_stats", "Info": "Device.features", "Limits": "Device.limits",
        "Budget": "Device.set_memory_cap", "Error": "Error", "Event": "Device.synchronize",
    },
}  # fmt: skip

# What has no name in Python, and why.
LEFT_OUT = {
    "unigrad-data": {
        "Prepared": "of Batches", "Collate": "a function, `collate_fn=`", "HostBatch": "tensors", "OfStacked": "of Stack", "PaddedBatch": "a list",
        "Stackable": "of Stack", "Upload": "`device=`", "Sample": "a tuple", "HostNumber": "of readers", "array": "`unigrad.tensor`", "Idx": "NumPy reads it",
        "IdxData": "NumPy reads it", "ImageBatch": "tensors", "ImageSplit": "`train=`", "Images": "data.MNIST's", "CIFAR10": "`classes`",
        "FASHION_MNIST": "`classes`", "Channels": "`channels=`", "DecodeOptions": "keywords", "Pixels": "a picture's `tensor`", "Batch": "a list",
        "Position": "of runs", "Source": "whatever gives batches", "Steps": "of runs", "Fold": "a pair", "Categories": "a name, `categories=`",
        "ColumnType": "a name, `types=`", "CsvOptions": "keywords", "Missing": "a name, `missing=`", "TableOptions": "keywords", "Task": "a name, `task=`",
        "Unknown": "a name, `unknown=`", "StreamingText": "an `IterableDataset` over a file", "Text": "bytes, and data.TokenWindows",
        "TextBatch": "tensors", "Unit": "a name, `unit=`", "Size": "`size=`",
    },
    "unigrad-tensor": {
        "Operand": "numbers and tensors", "Value": "numbers", "AttentionOptions": "keywords", "RopeLayout": "a name", "autocast_dtype": "of autocast",
        "take_gradients": "of optimizers", "Axes": "integers", "Dims": "integers", "IntList": "integers", "Ints": "integers", "Arguments": "of Composite",
        "Composite": "of optimizers", "ConvOptions": "keywords", "NestedValues": "lists", "BagMode": "a name", "EmbeddingBagOptions": "keywords",
        "EmbeddingOptions": "keywords", "ErrorKind": "classes of exceptions", "DelayedScaling": "of Fp8Recipe", "Fp8Scaling": "of Fp8Recipe",
        "Ellipsis": "Python's", "Index": "`x[..]`", "IndexItem": "`x[..]`", "step": "slices", "InterpolateMode": "a name", "InterpolateOptions": "keywords",
        "CrossEntropyOptions": "keywords", "CtcOptions": "keywords", "Reduction": "a name", "TripletOptions": "keywords", "PoolOptions": "keywords",
        "GridMode": "a name", "GridPadding": "a name", "GridSampleOptions": "keywords", "ScanOptions": "keywords", "ScatterReduce": "a name",
        "Interpolation": "a name", "Dim": "named axes are of Rust's types", "Element": "of Rust's types", "Factor": "named axes are of Rust's types",
        "Format": "a name, `format=`", "Literal": "numbers", "Names": "named axes are of Rust's types", "Origin": "the interpreter's frames",
        "OriginGuard": "the interpreter's frames", "Randomness": "a name", "ScatterMode": "methods", "PadMode": "a name", "VmapOptions": "keywords",
        "WindowOptions": "keywords", "differentiating": "of `func`", "is_differentiated": "of `func`",
    },
    "unigrad-device": {
        **dict.fromkeys(
            "Abilities Choices Exchange Flush Health HostMemory MappedMemory MappedWords Mark Marks Monitor Peers ReadAsync Sequences Threads Timeline Compiled "
            "Discovery Driver Executable Link OpenDevice Range RawBuffer Slice STATED_BANDWIDTH Kernel Channels Available Problem register register_left_out "
            "register_names At Launch Prepared Ran Run Sequence Stopped Fallback".split(),
            "of drivers",
        ),
        **dict.fromkeys("Background Pending in_background Buffer Loan Stream Timestamp tag_or with_tag TagStats".split(), "of what tensors are made of"),
        **dict.fromkeys("Cancelled Patience cancel_by".split(), "Ctrl-C"),
        **dict.fromkeys("CacheDir Config Debug Kernels MAX_THREADS MemoryPool Power Products Replay Scalars".split(), "`UNIGRAD_..` in the environment"),
        **dict.fromkeys("printable tell".split(), "of messages"),
        **dict.fromkeys("By Preference BackendSummary Purpose Recommendation Summary".split(), "names of devices, and the command `unigrad devices`"),
        **dict.fromkeys("Origin OriginGuard".split(), "the interpreter's frames"),
    },
}  # fmt: skip


def exported(crate):
    """The names of every `pub use` of a crate's first file."""
    text = re.sub(r"//.*", "", (CRATES / crate / "src/lib.rs").read_text())
    # What is for tests of the crates alone.
    text = re.sub(r"#\[cfg\(any\(test[^\n]*\n[^\n]*\n", "", text)
    names = re.findall(r"^pub use [\w:]+::(?:\{([^}]*)\}|(\w+));", text, re.M)
    return {name.strip().split(" as ")[-1] for many, one in names for name in (many or one).split(",") if name.strip() and name.strip() != "self"}


@pytest.mark.parametrize("crate", NAMES)
def test_python_reaches_what_the_crates_export(crate):
    if not (CRATES / crate / "src/lib.rs").exists():
        pytest.skip("the crates' sources are not beside the package")
    known = exported(crate)
    assert len(known) > 40, known
    missing = []
    for name in sorted(known - set(LEFT_OUT[crate])):
        if name in NAMES[crate]:
            reach(NAMES[crate][name])
            continue
        try:
            reach(f"data.{name}" if crate == "unigrad-data" else name)
        except AttributeError:
            missing.append(name)
    assert not missing, f"neither reached nor left out for a reason: {missing}"
    gone = (set(NAMES[crate]) | set(LEFT_OUT[crate])) - known
    assert not gone, f"named here and no longer exported: {gone}"
    assert not set(NAMES[crate]) & set(LEFT_OUT[crate])

"""Images that PyTorch's DataLoader with torchvision decodes, crops and resizes a second, as `examples/image_rate.rs` of unigrad-data does it.

Makes 500 JPEG files of 500x375 pixels in two classes, if the folder is not there.

    python scripts/image_rate.py FOLDER [WORKERS]        # needs torch, torchvision, pillow and numpy
    cargo run --release -p unigrad-data --example image_rate FOLDER [WORKERS]
"""

import pathlib
import sys
import time

import numpy as np
import torch
from PIL import Image
from torchvision import datasets, transforms

folder = pathlib.Path(sys.argv[1])
workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
if not folder.exists():
    rng = np.random.default_rng(1)
    for at in range(500):
        # Smooth colours with fine structure: about as many bytes as a photograph.
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize((500, 375), Image.Resampling.BICUBIC)
        noise = rng.normal(0, 12, (375, 500, 1))
        pixels = (np.asarray(coarse) + noise).clip(0, 255).astype(np.uint8)
        path = folder / "ab"[at % 2] / f"{at}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path, quality=85)

normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
train = transforms.Compose(
    [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalize]
)
test = transforms.Compose([transforms.Resize((256, 256)), transforms.ToTensor(), normalize])
torch.set_num_threads(1)
for name, transform in [("random resized crop", train), ("resize", test)]:
    images = datasets.ImageFolder(folder, transform)
    loader = torch.utils.data.DataLoader(images, batch_size=32, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        for batch in loader:
            pass
        best = min(best, time.perf_counter() - start)
    print(f"{name}: {len(images) / best:.0f} images/s with {workers} workers")

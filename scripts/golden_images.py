"""Writes goldens/images.json: pictures resized by PIL, coloured and turned by torchvision.

Pictures are made of a formula that `crates/unigrad-data` repeats (`pixel` below), so that only results are kept.

    python scripts/golden_images.py        # needs torch 2.15 (CPU), torchvision, pillow and numpy
"""

import json
import pathlib

import numpy as np
import torch
import torchvision.transforms.v2.functional as F
from PIL import Image


def picture(height, width, channels):
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    return ((y * 37 + x * 11 + c * 71 + (y * x * (c + 3)) % 29 * 7) % 256).astype(np.uint8)


def entry(name, size, arguments, result):
    return {"name": name, "size": size, "arguments": arguments, "result": [int(v) for v in np.asarray(result).flatten()]}


entries = []
for size, wanted in [
    ((12, 9, 3), (5, 7)),
    ((12, 9, 3), (1, 1)),
    ((5, 7, 1), (12, 9)),
    ((40, 30, 3), (9, 8)),
    ((33, 17, 4), (16, 20)),
    ((1, 1, 3), (4, 3)),
    ((50, 3, 1), (7, 3)),
]:
    pixels = picture(*size)
    mode = {1: "L", 3: "RGB", 4: "CMYK"}[size[2]]  # CMYK: four channels that PIL does not premultiply
    image = Image.fromarray(pixels[..., 0] if size[2] == 1 else pixels, mode=mode)
    entries.append(entry("resize", size, wanted, image.resize((wanted[1], wanted[0]), Image.Resampling.BILINEAR)))

size = (7, 6, 3)
chw = torch.from_numpy(picture(*size)).permute(2, 0, 1).contiguous()
back = lambda t: t.permute(1, 2, 0).numpy()
for factor in [0.0, 0.4, 1.7]:
    entries.append(entry("brightness", size, [factor], back(F.adjust_brightness(chw, factor))))
    entries.append(entry("contrast", size, [factor], back(F.adjust_contrast(chw, factor))))
    entries.append(entry("saturation", size, [factor], back(F.adjust_saturation(chw, factor))))
for turns in [-0.5, -0.13, 0.0, 0.3]:
    entries.append(entry("hue", size, [turns], back(F.adjust_hue(chw, turns))))
grey = Image.fromarray(picture(*size)).convert("L")
entries.append(entry("grey", size, [], grey))
for height, width in [(3, 4), (4, 3), (9, 9), (7, 8)]:
    entries.append(entry("center_crop", size, [height, width], back(F.center_crop(chw, [height, width]))))
for degrees in [0.0, 90.0, 180.0, 17.0, -40.0]:
    square = torch.from_numpy(picture(8, 8, 1)).permute(2, 0, 1).to(torch.float64)
    turned = F.rotate(square, degrees, interpolation=F.InterpolationMode.BILINEAR)
    entries.append(entry("rotate", (8, 8, 1), [degrees], back(turned).round()))

golden = pathlib.Path(__file__).parent.parent / "goldens/images.json"
golden.write_text("[\n" + ",\n".join(json.dumps(e, separators=(",", ":")) for e in entries) + "\n]\n")

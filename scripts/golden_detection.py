"""Mean average precision as COCO's own program computes it: goldens/detection.json.

Boxes have sides of quarters, so that corners and sizes say the same in floats.

    python scripts/golden_detection.py        # needs numpy and pycocotools
"""

import contextlib
import io
import json
import pathlib

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

rng = np.random.default_rng(11)
NAMES = ["map", "map_50", "map_75", "map_small", "map_medium", "map_large", "recall_1", "recall_10", "recall_100", "recall_small", "recall_medium", "recall_large"]


def quarter(x):
    return float(np.round(x * 4) / 4)


def scene(n_images, n_classes, n_objects, n_false, crowds, areas, ties):
    """Images with objects, and detections near them and elsewhere."""
    images = []
    for _ in range(n_images):
        objects, found = [], []
        for _ in range(rng.integers(0, n_objects + 1)):
            side = float(rng.choice([12, 40, 150]))
            x, y, w, h = (quarter(v) for v in (rng.uniform(0, 300), rng.uniform(0, 300), side * rng.uniform(0.6, 1.4), side * rng.uniform(0.6, 1.4)))
            label = int(rng.integers(0, n_classes))
            area = quarter(w * h * 0.7) if areas else w * h
            objects.append(dict(box=[x, y, w, h], label=label, crowd=bool(crowds and rng.random() < 0.25), area=area))
            for _ in range(rng.integers(0, 3)):
                moved = [quarter(v + rng.normal() * side * 0.08) for v in (x, y)] + [max(0.25, quarter(v * rng.uniform(0.8, 1.2))) for v in (w, h)]
                label_of = label if rng.random() < 0.9 else int(rng.integers(0, n_classes))
                found.append(dict(box=moved, label=label_of, score=float(np.round(rng.uniform(), 1 if ties else 6))))
        for _ in range(rng.integers(0, n_false + 1)):
            box = [quarter(rng.uniform(0, 300)), quarter(rng.uniform(0, 300)), quarter(rng.uniform(1, 120)), quarter(rng.uniform(1, 120))]
            found.append(dict(box=box, label=int(rng.integers(0, n_classes + 1)), score=float(np.round(rng.uniform(), 1 if ties else 6))))
        images.append(dict(objects=objects, found=found))
    return images


def evaluate(images):
    annotations, results, n = [], [], 1
    for i, image in enumerate(images):
        for o in image["objects"]:
            annotations.append(dict(id=n, image_id=i, category_id=o["label"], bbox=o["box"], area=o["area"], iscrowd=int(o["crowd"])))
            n += 1
        for d in image["found"]:
            results.append(dict(image_id=i, category_id=d["label"], bbox=d["box"], score=d["score"]))
    labels = sorted({x["category_id"] for x in annotations + results})
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = dict(info={}, images=[dict(id=i) for i in range(len(images))], annotations=annotations, categories=[dict(id=l) for l in labels])
        coco.createIndex()
        run = COCOeval(coco, coco.loadRes(results), "bbox")
        run.evaluate()
        run.accumulate()
        run.summarize()
    precision = run.eval["precision"][:, :, :, 0, 2]  # thresholds, recalls, classes
    per_class = {str(l): float(precision[:, :, k].mean()) for k, l in enumerate(labels) if (precision[:, :, k] > -1).all()}
    return dict(values=dict(zip(NAMES, map(float, run.stats))), per_class=per_class)


def main():
    scenes = [
        scene(8, 3, 4, 3, False, False, False), scene(12, 4, 6, 5, True, False, False), scene(10, 2, 5, 4, True, True, True), scene(3, 1, 3, 2, False, False, True),
        # More detections of one class than count.
        scene(2, 1, 60, 60, False, False, False),
    ]  # fmt: skip
    path = pathlib.Path(__file__).parent.parent / "goldens" / "detection.json"
    lines = [json.dumps(dict(images=images, **evaluate(images))) for images in scenes]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")


main()

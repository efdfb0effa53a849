//! Against pycocotools (`scripts/golden_detection.py`), and overlaps against loops.

use super::*;
use serde_json::Value;
use unigrad_tensor::Device;

fn box_of(value: &Value) -> [f64; 4] {
    let [x, y, w, h] = [0, 1, 2, 3].map(|i| value["box"][i].as_f64().unwrap());
    [x, y, x + w, y + h]
}

fn list<T>(values: &Value, of: impl Fn(&Value) -> T) -> Vec<T> {
    values.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn averages_are_those_of_coco() {
    let golden: Value = serde_json::from_str(include_str!("../../../../../goldens/detection.json")).unwrap();
    let mut n_numbers = 0;
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    let mut n_plain = 0;
    for (i, scene) in golden.as_array().unwrap().iter().enumerate() {
        let (mut metric, mut of_tensors) = (MeanAveragePrecision::default(), MeanAveragePrecision::default());
        let mut all_plain = true;
        for image in scene["images"].as_array().unwrap() {
            let (found, objects) = (&image["found"], &image["objects"]);
            let found = Detections {
                boxes: list(found, box_of),
                scores: list(found, |d| d["score"].as_f64().unwrap()),
                labels: list(found, |d| d["label"].as_i64().unwrap()),
            };
            let objects = Objects {
                boxes: list(objects, box_of),
                labels: list(objects, |o| o["label"].as_i64().unwrap()),
                crowd: list(objects, |o| o["crowd"].as_bool().unwrap()),
                areas: list(objects, |o| o["area"].as_f64().unwrap()),
            };
            let list = |x: &[f64]| Tensor::from_vec(x.to_vec(), x.len(), &device);
            let labels = |x: &[i64]| Tensor::from_vec(x.to_vec(), x.len(), &device);
            let boxes = |x: &[[f64; 4]]| Tensor::from_vec(x.as_flattened().to_vec(), [x.len(), 4], &device);
            let given = (&boxes(&found.boxes), &list(&found.scores), &labels(&found.labels));
            of_tensors.update_tensors(given.0, given.1, given.2, &boxes(&objects.boxes), &labels(&objects.labels)).unwrap();
            // Tensors say nothing of crowds and of outlines.
            let plain = objects.crowd.iter().any(|crowd| *crowd) || objects.areas.iter().zip(&objects.boxes).any(|(a, b)| *a != area(b));
            n_plain += usize::from(!plain);
            all_plain &= !plain;
            metric.update(found, objects).unwrap();
        }
        let got = metric.value().unwrap();
        assert!(!all_plain || of_tensors.value().unwrap().per_class == got.per_class, "{i}");
        let table = [
            ("map", got.map),
            ("map_50", got.map_50),
            ("map_75", got.map_75),
            ("map_small", got.map_small),
            ("map_medium", got.map_medium),
            ("map_large", got.map_large),
            ("recall_1", got.recall_1),
            ("recall_10", got.recall_10),
            ("recall_100", got.recall_100),
            ("recall_small", got.recall_small),
            ("recall_medium", got.recall_medium),
            ("recall_large", got.recall_large),
        ];
        for (name, got) in table {
            // Where there is nothing, COCO has -1.
            let wanted = scene["values"][name].as_f64().unwrap();
            assert!(if wanted < 0.0 { got.is_nan() } else { (got - wanted).abs() < 1e-12 }, "{i} {name}: {got} and not {wanted}");
            n_numbers += usize::from(wanted > 0.0);
        }
        let wanted = scene["per_class"].as_object().unwrap();
        assert_eq!(got.per_class.len(), wanted.len(), "{i}");
        for (class, got) in &got.per_class {
            assert!((got - wanted[&class.to_string()].as_f64().unwrap()).abs() < 1e-12, "{i}: class {class}");
        }
        metric.reset();
        assert!(metric.value().unwrap().map.is_nan() && metric.value().unwrap().per_class.is_empty());
    }
    assert!(n_numbers > 40 && n_plain > 10, "{n_numbers} of the numbers say something, {n_plain} images are plain");
}

#[test]
fn what_is_no_box_is_refused() {
    let good = || Detections { boxes: vec![[0.0, 0.0, 1.0, 1.0]], scores: vec![0.5], labels: vec![0] };
    let refused = |found: Detections, there: Objects| {
        let mut metric = MeanAveragePrecision::default();
        let error = metric.update(found, there).unwrap_err().to_string();
        assert!(error.contains("help: ") && metric.value().unwrap().map.is_nan(), "{error}");
        error
    };
    assert!(refused(Detections { scores: vec![], ..good() }, Objects::default()).contains("1 detections with 0 scores"));
    assert!(refused(Detections { scores: vec![f64::NAN], ..good() }, Objects::default()).contains("NaN"));
    assert!(refused(Detections { boxes: vec![[1.0, 0.0, 0.0, 1.0]], ..good() }, Objects::default()).contains("[1.0, 0.0, 0.0, 1.0]"));
    let objects = Objects { boxes: vec![[0.0; 4]], labels: vec![0], crowd: vec![true; 2], areas: vec![] };
    assert!(refused(good(), objects).contains("2 crowds"));
}

#[test]
fn tensors_are_checked_when_they_come_and_when_they_are_read() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    let boxes = |corners: &[f64]| Tensor::from_vec(corners.to_vec(), [corners.len() / 4, 4], &device);
    let (good, score, label) = (boxes(&[0.0, 0.0, 1.0, 1.0]), Tensor::new([0.5f32], &device), Tensor::new([0i32], &device));
    let none = (boxes(&[]), Tensor::zeros([0], DType::F32, &device), Tensor::zeros([0], DType::I64, &device));
    let mut metric = MeanAveragePrecision::default();
    for (a, b, c, d, e) in [
        (&score, &score, &label, &good, &label), // no boxes
        (&good, &none.1, &label, &good, &label), // no score for a box
        (&good, &score, &score, &good, &label),  // labels that are floats
        (&good, &label, &label, &good, &label),  // scores that are integers
        (&good, &score, &label, &good, &none.2), // no label for an object
    ] {
        let error = metric.update_tensors(a, b, c, d, e).unwrap_err().to_string();
        assert!(error.contains("mean average precision of predictions") && error.contains("help: "), "{error}");
    }
    // Nothing was counted, and nothing to find is no number.
    assert!(metric.value().unwrap().map.is_nan());
    metric.update_tensors(&none.0, &none.1, &none.2, &none.0, &none.2).unwrap();
    assert!(metric.value().unwrap().map.is_nan());
    metric.update_tensors(&good, &score, &label, &good, &label).unwrap();
    assert!((metric.value().unwrap().map - 1.0).abs() < 1e-9);
    let bad = boxes(&[0.0, f64::NAN, 1.0, 1.0]);
    metric.update_tensors(&bad, &score, &label, &good, &label).unwrap();
    let error = metric.value().unwrap_err().to_string();
    assert!(error.contains("image 2: a box with the corners [0.0, NaN, 1.0, 1.0]"), "{error}");
    metric.reset();
    assert!(metric.value().unwrap().map.is_nan());
}

#[test]
fn overlaps_are_those_of_loops() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    let boxes = |n: usize, by: usize| -> Vec<[f64; 4]> {
        (0..n)
            .map(|i| [(i * by) as f64 % 5.0, i as f64 % 3.0, (i * by) as f64 % 5.0 + (i % 4) as f64, i as f64 % 3.0 + (i % 3) as f64])
            .collect()
    };
    for (n, m) in [(0, 3), (1, 1), (7, 9), (9, 0)] {
        let (a, b) = (boxes(n, 2), boxes(m, 3));
        let tensor = |x: &[[f64; 4]]| Tensor::from_vec(x.as_flattened().to_vec(), [x.len(), 4], &device);
        let got = box_iou(&tensor(&a), &tensor(&b)).unwrap();
        assert_eq!(got.shape(), [n, m]);
        let got = got.to_vec::<f64>().unwrap();
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                assert!((got[i * m + j] - overlap(a, b, false)).abs() < 1e-12, "{a:?} {b:?}: {}", got[i * m + j]);
            }
        }
    }
    let masks = Tensor::new([[[1u8, 1], [0, 0]], [[0, 0], [0, 0]], [[1, 1], [1, 1]]], &device);
    let got = mask_iou(&masks, &masks).unwrap().to_vec::<f32>().unwrap();
    assert_eq!(got, [1.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 1.0]);
    for wrong in
        [Tensor::zeros([3], DType::F32, &device), Tensor::zeros([3, 5], DType::F32, &device), Tensor::zeros([3, 4], DType::I64, &device)]
    {
        let error = box_iou(&wrong, &wrong).unwrap_err().to_string();
        assert!(error.contains("box_iou of predictions") && error.contains("help: "), "{error}");
    }
}

//! Metrics against scikit-learn's (`scripts/golden_metrics.py`), batch by batch, on each device that is here.

use serde_json::Value;
use unigrad::{
    nn::metrics::{
        Accuracy, Average, Bleu, ClassScore, ConfusionMatrix, LogLoss, Mae, Mape, Metric, Mse, Perplexity, PrAuc, R2, Rmse, RocAuc, RougeL,
        Score, Smoothing, TopK, bleu, rouge_l,
    },
    prelude::*,
};

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../goldens/metrics.json")).unwrap()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn floats(value: &Value, shape: &[usize], device: &Device) -> Tensor {
    Tensor::from_vec(list(value).into_iter().map(|x| x as f32).collect::<Vec<f32>>(), shape, device)
}

fn ints(value: &Value, device: &Device) -> Tensor {
    let values: Vec<i64> = list(value).into_iter().map(|x| x as i64).collect();
    let n = values.len();
    Tensor::from_vec(values, n, device)
}

/// In batches of 7, of which the last is smaller.
fn feed(metric: &mut dyn Metric, prediction: &Tensor, target: &Tensor) {
    let n = target.shape()[0];
    for begin in (0..n).step_by(7) {
        let len = 7.min(n - begin);
        metric.update(&prediction.narrow(0, begin, len), &target.narrow(0, begin, len)).unwrap();
    }
}

fn devices() -> Vec<Device> {
    let mut devices = vec![Device::open("cpu").unwrap()];
    devices.extend(["opencl", "wgpu"].into_iter().filter_map(|name| Device::open(name).ok()));
    devices
}

#[test]
fn metrics_are_those_of_scikit_learn() {
    let golden = golden();
    for device in &devices() {
        let (scores, labels) = (floats(&golden["scores"], &[60, 5], device), ints(&golden["labels"], device));
        let (binary, truth) = (floats(&golden["binary"], &[80], device), ints(&golden["truth"], device));
        let (x, y) = (floats(&golden["x"], &[70], device), floats(&golden["y"], &[70], device));
        let mut table: Vec<(Box<dyn Metric>, &Tensor, &Tensor)> = vec![
            (Box::new(Accuracy::default()), &scores, &labels),
            (Box::new(TopK::new(3)), &scores, &labels),
            (Box::new(LogLoss::default()), &scores, &labels),
            (Box::new(Perplexity::default()), &scores, &labels),
            (Box::new(RocAuc::default()), &binary, &truth),
            (Box::new(PrAuc::default()), &binary, &truth),
            (Box::new(Mae::default()), &x, &y),
            (Box::new(Mse::default()), &x, &y),
            (Box::new(Rmse::default()), &x, &y),
            (Box::new(Mape::default()), &x, &y),
            (Box::new(R2::default()), &x, &y),
        ];
        for score in [Score::Precision, Score::Recall, Score::F1, Score::IoU] {
            for average in [Average::Macro, Average::Micro, Average::Weighted, Average::Class(2)] {
                table.push((Box::new(ClassScore::new(score, average, 5)), &scores, &labels));
            }
        }
        assert_eq!(table.len(), golden["values"].as_object().unwrap().len());
        for (metric, prediction, target) in &mut table {
            let want = golden["values"][metric.name()].as_f64().unwrap_or_else(|| panic!("{} is not in the golden file", metric.name()));
            assert!(metric.value().unwrap().is_nan(), "{} of nothing", metric.name());
            // A second pass is as the first.
            for _ in 0..2 {
                feed(metric.as_mut(), prediction, target);
                let got = metric.value().unwrap();
                assert!((got - want).abs() < 2e-5 * want.abs().max(1e-2), "{} on {}: {got} and not {want}", metric.name(), device.name());
                metric.reset();
            }
            // What does not belong together is refused, and changes nothing.
            assert!(metric.update(prediction, &target.narrow(0, 0, 3)).is_err());
            assert!(metric.value().unwrap().is_nan());
        }
        let mut matrix = ConfusionMatrix::new(5);
        matrix.update(&scores, &labels).unwrap();
        let confusion = matrix.confusion().unwrap();
        let counts: Vec<f64> = (0..25).map(|at| confusion.count(at / 5, at % 5) as f64).collect();
        assert_eq!(counts, list(&golden["confusion"]));
    }
}

/// `scripts/golden_text_metrics.py`.
#[test]
fn scores_of_texts_are_those_of_sacrebleu_and_rouge_score() {
    let golden: Value = serde_json::from_str(include_str!("../../../goldens/text_metrics.json")).unwrap();
    let tokens = |value: &Value| list(value).into_iter().map(|x| x as i64).collect::<Vec<i64>>();
    for case in golden.as_array().unwrap() {
        let settings = [
            ("none", Bleu::default()),
            ("floor", Bleu::default().smoothing(Smoothing::Floor(0.1)).unwrap()),
            ("add_k", Bleu::default().smoothing(Smoothing::AddK(1.0)).unwrap()),
            ("exp", Bleu::default().smoothing(Smoothing::Exp).unwrap()),
            ("effective", Bleu::default().smoothing(Smoothing::Exp).unwrap().effective_order(true)),
            ("bigrams", Bleu::new(2).unwrap()),
        ];
        let mut rouge = RougeL::default();
        let texts: Vec<(Vec<i64>, Vec<Vec<i64>>)> = case["texts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| (tokens(&text[0]), text[1].as_array().unwrap().iter().map(tokens).collect()))
            .collect();
        let near = |got: f64, name: &str| {
            let want = case["values"][name].as_f64().unwrap();
            assert!((got - want).abs() < 1e-12, "{name} of {texts:?}: {got} and not {want}");
        };
        for (name, mut bleu) in settings {
            let new = bleu.clone();
            // A second pass is as the first.
            for _ in 0..2 {
                assert!(bleu.value().is_nan());
                texts.iter().for_each(|(candidate, references)| bleu.update(candidate, references).unwrap());
                near(bleu.value(), name);
                bleu.reset();
            }
            assert_eq!(bleu, new);
        }
        near(bleu(&texts), "none");
        assert!(rouge.value().is_nan());
        texts.iter().for_each(|(candidate, references)| rouge.update(candidate, references).unwrap());
        near(rouge.value(), "fmeasure");
        near(rouge.precision(), "precision");
        near(rouge.recall(), "recall");
    }
    let none: [Vec<u8>; 0] = [];
    assert!(Bleu::default().update(&[1u8], &none).unwrap_err().to_string().contains("without references"));
    assert!(RougeL::default().update(&[1u8], &none).unwrap_err().to_string().contains("without references"));
    for wrong in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(Bleu::default().smoothing(Smoothing::AddK(wrong)).unwrap_err().to_string().contains("BLEU is smoothed by"));
    }
    assert!(Bleu::new(0).unwrap_err().to_string().contains("n-grams up to 0"));
}

/// Classes of pixels, on the axis where convolutions have them and on the last one, and pixels of no class.
#[test]
fn overlaps_of_classes_of_pixels() {
    for device in &devices() {
        let (n_classes, n, size) = (4usize, 3usize, 5usize);
        let at = |i: usize, c: usize| ((i * 7 + c * 5 + i * c) % 11) as f32;
        let n_pixels = n * size * size;
        let last: Vec<f32> = (0..n_pixels).flat_map(|i| (0..n_classes).map(move |c| at(i, c))).collect();
        // Class 3 is never a label; label 255 is of no class.
        let labels: Vec<i64> = (0..n_pixels).map(|i| if i % 6 == 5 { 255 } else { (i / 2 % 3) as i64 }).collect();
        let (mut both, mut either) = ([0u32; 4], [0u32; 4]);
        for (i, label) in labels.iter().enumerate().filter(|(_, label)| **label != 255) {
            let row = &last[i * n_classes..(i + 1) * n_classes];
            let called = row.iter().enumerate().fold(0, |best, (c, x)| if *x > row[best] { c } else { best });
            for c in [called, *label as usize] {
                either[c] += 1;
            }
            if called == *label as usize {
                both[called] += 1;
                either[called] -= 1;
            }
        }
        let wanted: Vec<f64> = both.iter().zip(either).map(|(both, either)| f64::from(*both) / f64::from(either)).collect();
        let last = Tensor::from_vec(last, [n, size, size, n_classes], device);
        let first = last.permute([0, 3, 1, 2]).contiguous();
        let labels = Tensor::from_vec(labels, [n, size, size], device);
        for (scores, axis) in [(&last, -1), (&last, 3), (&first, 1), (&first, -3)] {
            let mut matrix = ConfusionMatrix::new(n_classes).classes_on(axis);
            let mut mean = ClassScore::new(Score::IoU, Average::Macro, n_classes).classes_on(axis);
            let mut accuracy = Accuracy::default().classes_on(axis);
            for i in 0..n {
                let (scores, labels) = (scores.narrow(0, i, 1), labels.narrow(0, i, 1));
                matrix.update(&scores, &labels).unwrap();
                mean.update(&scores, &labels).unwrap();
                accuracy.update(&scores, &labels).unwrap();
            }
            assert_eq!(matrix.iou().unwrap(), wanted, "axis {axis} on {}", device.name());
            let seen: Vec<f64> = wanted.iter().copied().filter(|x| !x.is_nan()).collect();
            assert!((mean.value().unwrap() - seen.iter().sum::<f64>() / seen.len() as f64).abs() < 1e-12);
            assert!((accuracy.value().unwrap() - f64::from(both.iter().sum::<u32>()) / n_pixels as f64).abs() < 1e-12);
        }
        // The axis does not fit, or there is none.
        for axis in [-1, 0, 2, 4, -5, isize::MAX, isize::MIN] {
            let error = ConfusionMatrix::new(n_classes).classes_on(axis).update(&first, &labels).unwrap_err().to_string();
            assert!(error.contains("confusion of predictions") && error.contains("classes_on"), "{error}");
        }
        let empty = Tensor::zeros([2, 0, 3], DType::F32, device);
        let error = Accuracy::default().classes_on(1).update(&empty, &Tensor::zeros([2, 3], DType::I64, device)).unwrap_err().to_string();
        assert!(error.contains("accuracy of predictions"), "{error}");
    }
}

#[test]
fn texts() {
    let words = |text: &'static str| text.split(' ').collect::<Vec<&str>>();
    let corpus = [
        (words("the cat sat on the mat"), vec![words("the cat is on the mat"), words("there is a cat on the mat")]),
        (words("a b c d"), vec![words("a b c d")]),
    ];
    // By hand: 9/10, 6/8, 3/6 and 1/4 of the n-grams are found.
    assert!((bleu(&corpus) - (0.9f64 * 0.75 * 0.5 * 0.25).powf(0.25)).abs() < 1e-12);
    assert_eq!(bleu::<&str>(&[]), 0.0);
    assert_eq!(rouge_l::<u8>(&[], &[1]), 0.0);
    assert!((rouge_l(&words("police kill the gunman"), &words("police killed the gunman")) - 0.75).abs() < 1e-12);
}

//! Metrics against scikit-learn's (`scripts/golden_metrics.py`), batch by batch, on each device that is here.

use serde_json::Value;
use unigrad::{
    nn::metrics::{
        Accuracy, Average, ClassScore, ConfusionMatrix, LogLoss, Mae, Mape, Metric, Mse, Perplexity, PrAuc, R2, Rmse, RocAuc, Score, TopK,
        bleu, rouge_l,
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

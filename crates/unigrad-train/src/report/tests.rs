//! The page as a whole: what stands in it, and that nothing leaves it.

use super::*;

fn named(figures: &[(&str, f64)]) -> Vec<(String, f64)> {
    figures.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

fn sample() -> Report {
    let epoch = |epoch: usize| EpochRow {
        epoch,
        train: named(&[("loss", 2.0 / epoch as f64), ("accuracy", 1.0 - 0.5 / epoch as f64)]),
        val: named(&[("loss", 2.1 / epoch as f64), ("accuracy", 1.0 - 0.6 / epoch as f64), ("f<1", 0.5)]),
        seconds: 1.5,
        ..EpochRow::default()
    };
    Report {
        title: "digits <cnn> & \"co\"".to_owned(),
        settings: vec![("seed".to_owned(), "<script>alert(1)</script>".to_owned())],
        machine: vec![("device".to_owned(), "cpu:0".to_owned())],
        validation_name: "test".to_owned(),
        epochs: (1..=10).map(epoch).collect(),
        schedule: schedule_curve(&Schedule::cosine(450), 450),
        step_losses: (0..450).map(|step| (step, 2.3 / (1.0 + step as f64 / 50.0))).collect(),
        confusion: Some(vec![vec![35, 1], vec![0, 36]]),
        class_names: vec!["zero".to_owned()],
        mistakes: vec![Mistake { pixels: vec![0, 255, 128, 64], width: 2, height: 2, truth: 0, predicted: 1, confidence: 0.87 }],
        samples: Some("To be, or not".to_owned()),
    }
}

#[test]
fn the_page_shows_what_it_was_given() {
    let html = sample().to_html();
    for part in [
        "94.0%",
        "15.0 s",
        "Loss by epoch",
        "Accuracy by epoch",
        "Training loss by step",
        "Learning rate by step",
        "F&lt;1 by epoch",
        "zero read as 1: 1 of 36",
        "87.0% sure",
        "To be, or not",
        "cpu:0",
    ] {
        assert!(html.contains(part), "{part} is missing");
    }
}

#[test]
fn texts_are_escaped() {
    let html = sample().to_html();
    assert!(!html.contains("<script") && !html.contains("<cnn>"));
    assert!(html.contains("digits &lt;cnn&gt; &amp; &quot;co&quot;"));
}

#[test]
fn the_page_loads_nothing() {
    let html = sample().to_html();
    for outside in ["http:", "https:", "url(", "<link", "@import", "src=\"/", "src=\"."] {
        assert!(!html.contains(outside), "{outside}");
    }
}

#[test]
fn tags_are_balanced() {
    let html = sample().to_html();
    for tag in ["section", "div", "table", "tr", "td", "th", "svg", "figure", "details", "main", "title", "text"] {
        let opened = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn an_empty_report_is_still_a_page() {
    let html = Report::default().to_html();
    assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
    assert!(!html.contains("<section"));
}

#[test]
fn a_run_that_diverged_has_a_report() {
    let mut report = sample();
    report.epochs =
        vec![EpochRow { epoch: 1, train: named(&[("loss", f64::NAN)]), val: named(&[("accuracy", f64::NAN)]), ..EpochRow::default() }];
    report.step_losses = vec![(1, 2.3), (2, f64::INFINITY), (3, f64::NAN)];
    report.confusion = Some(vec![vec![], vec![0, 0]]);
    let html = report.to_html();
    assert!(html.contains("not a number") && !html.contains("NaN") && !html.contains("inf "));
}

#[test]
fn a_language_model_has_no_accuracy_to_show() {
    let epochs = vec![EpochRow { epoch: 1, train: named(&[("loss", 1.4)]), seconds: 75.0, ..EpochRow::default() }];
    let html = Report { epochs, ..Report::default() }.to_html();
    assert!(html.contains("1 min 15 s") && !html.to_lowercase().contains("accuracy"));
}

#[test]
fn numbers_keep_four_digits() {
    let cases = [(0.0, "0"), (0.012_345, "0.01235"), (2.512_34, "2.512"), (123_456.7, "123457"), (1e-7, "1.000e-7")];
    for (value, text) in cases {
        assert_eq!(page::number(value), text);
    }
}

/// Writes a page to look at: `UNIGRAD_SAMPLE_REPORT=report.html cargo test -p unigrad-train report`.
#[test]
fn a_page_to_look_at() {
    let Some(path) = std::env::var_os("UNIGRAD_SAMPLE_REPORT") else { return };
    let mut report = sample();
    report.title = "digits: small CNN".to_owned();
    let settings = [("model", "cnn, 1,2,3"), ("epochs", "10"), ("batch", "32"), ("learning rate", "0.002, cosine"), ("seed", "42")];
    report.settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let machine = [("device", "cpu:0 (AVX-512, 2 threads)"), ("memory", "24 GiB"), ("unigrad", "0.1.0")];
    report.machine = machine.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    report.class_names = (0..10).map(|class| class.to_string()).collect();
    let count =
        |truth: u32, predicted: u32| if truth == predicted { 35 } else { u32::from((truth * 7 + predicted * 3).is_multiple_of(23)) };
    report.confusion = Some((0..10).map(|truth| (0..10).map(|predicted| count(truth, predicted)).collect()).collect());
    let pixels = |turn: usize| (0..64).map(|at| if (at % 8 + turn + at / 8) % 5 < 2 { 40 + (at * 3) as u8 } else { 0 }).collect();
    let mistake = |turn: usize| Mistake {
        pixels: pixels(turn),
        width: 8,
        height: 8,
        truth: turn % 10,
        predicted: (turn + 3) % 10,
        confidence: 0.99 - turn as f64 / 50.0,
    };
    report.mistakes = (0..13).map(mistake).collect();
    report.step_losses = (1..=450).map(|step| (step, 2.3 / (1.0 + step as f64 / 50.0) + 0.2 * (step as f64 * 1.7).sin().abs())).collect();
    report.samples = Some("First Citizen:\nBefore we proceed any further, hear me speak.\n\nAll:\nSpeak, speak.".to_owned());
    std::fs::write(path, report.to_html()).unwrap();
}

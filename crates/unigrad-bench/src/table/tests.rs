//! Tables as data: files of any content, pages of any text, rows whose processes end in every way.

use super::{row::Bound, *};
use crate::record::Environment;
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};
use unigrad_device::Device;

/// What a page must not take for its own.
const HOSTILE: &str = "</td><script>alert('1')</script>\" & \u{1}";

fn row(name: &str, outcome: Outcome) -> RowResult {
    RowResult {
        name: name.to_owned(),
        section: "test".to_owned(),
        size: HOSTILE.to_owned(),
        divisor: 2,
        flops: 4e9,
        bytes: 1e6,
        items: 8.0,
        item: "samples".to_owned(),
        precision: Precision::Bf16,
        outcome,
    }
}

fn a_table() -> Table {
    let measured = Measured {
        ms: 40.0,
        waited_ms: 41.5,
        min_ms: 39.0,
        reps: 5,
        device_ms: None,
        first_s: 1.25,
        cold_s: Some(3.5),
        peak_bytes: 5 << 20,
        watts: Some(300.0),
        others: 0.5,
        note: HOSTILE.to_owned(),
    };
    let environment =
        Environment { hardware: HOSTILE.to_owned(), settings: vec![("threads".to_owned(), HOSTILE.to_owned())], ..Environment::default() };
    let ceilings =
        Ceilings { copy: 100.0, map: 90.0, read: 80.0, products: [(50.0, 64), (60.0, 128), (200.0, 256), (0.0, 0)], fma: Some(55.0) };
    let rows = vec![
        row("measured", Outcome::Measured(measured)),
        row("skipped", Outcome::Skipped(HOSTILE.to_owned())),
        row("failed", Outcome::Failed(HOSTILE.to_owned())),
    ];
    Table { environment, date: "2026-01-31 12:00 UTC".to_owned(), ceilings, rows }
}

#[test]
fn fractions_are_of_the_nearer_ceiling() {
    let table = a_table();
    // 4 GFLOP at 200 GFLOP/s are 20 ms, 1 MB at 100 GB/s is 0.01 ms: products bound it, to half of what it took.
    assert_eq!(table.rows[0].fraction(&table.ceilings), Some((0.5, Bound::Products(Precision::Bf16))));
    let moving = RowResult { flops: 0.0, bytes: 1e9, ..table.rows[0].clone() };
    assert_eq!(moving.fraction(&table.ceilings), Some((0.25, Bound::Memory)));
    assert_eq!(RowResult { flops: 0.0, bytes: 0.0, ..moving }.fraction(&table.ceilings), None);
    assert_eq!(table.rows[1].fraction(&table.ceilings), None);
    assert_eq!((table.rows[0].rate(), table.rows[0].joules()), (Some((200.0, "samples/s".to_owned())), Some(12.0)));
    // Eight bits are within bf16, tf32 is as precise as f32 at least; registers are the processor's ceiling.
    let of = |precision| table.ceilings.gflop_per_s(precision);
    assert_eq!([Precision::F32, Precision::Tf32, Precision::Bf16, Precision::Fp8].map(of), [55.0, 60.0, 200.0, 200.0]);
    assert_eq!(table.failed().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["failed"]);
}

/// A file of this test's own.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("unigrad-bench-{}-{name}", std::process::id()))
}

#[test]
fn files_come_back_or_are_refused() {
    let (table, path) = (a_table(), path("table.json"));
    save_table(&table, &path).unwrap();
    assert_eq!(load_table(&path).unwrap(), table);
    let whole = std::fs::read_to_string(&path).unwrap();
    // Derived figures are there for readers of the JSON.
    let value: Value = serde_json::from_str(&whole).unwrap();
    let first = &value["rows"][0];
    assert_eq!(
        (first["of_ceiling"].as_f64(), first["ceiling"].as_str(), first["unit"].as_str()),
        (Some(0.5), Some("bf16 products"), Some("samples/s"))
    );
    let refused = |text: &str, wanted: &str| {
        std::fs::write(&path, text).unwrap();
        let error = load_table(&path).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("table.json") && error.contains("help:"), "{error}");
    };
    refused("", "no JSON");
    refused("[]", "format: null");
    refused(&whole.replace("unigrad-bench-table", "unigrad-bench"), "format: \"unigrad-bench\"");
    refused(&whole.replace("\"version\":1", "\"version\":2"), "version: 2 is not 1");
    refused(&whole.replace("\"ms\":40.0", "\"ms\":-40.0"), "rows[0].ms: no number");
    refused(&whole.replace("\"precision\":\"bf16\"", "\"precision\":\"f8\""), "rows[0].precision");
    refused(&whole.replace("\"copy_gb_per_s\":100.0", "\"copy_gb_per_s\":null"), "ceilings.copy_gb_per_s");
    for at in 0..whole.len() {
        let mut bytes = whole.clone().into_bytes();
        bytes[at] = bytes[at].wrapping_add(1 + (at % 250) as u8);
        std::fs::write(&path, &bytes).unwrap();
        let _ = load_table(&path).map(|table| page(&table));
    }
    std::fs::remove_file(&path).unwrap();
}

/// Elements are closed in the order in which they were opened, attributes are quoted; how often each element is there.
fn elements(html: &str) -> BTreeMap<String, usize> {
    const VOID: [&str; 3] = ["meta", "!doctype", "rect/"];
    let (mut open, mut seen, mut rest) = (Vec::new(), BTreeMap::new(), html);
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').unwrap_or_else(|| panic!("an open tag: {}", &rest[at..]));
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split_whitespace().next().unwrap_or_else(|| panic!("a tag without a name: {tag}")).to_owned();
        *seen.entry(name.trim_matches('/').to_owned()).or_insert(0) += 1;
        if let Some(closed) = name.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(closed), "{tag}");
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    seen
}

#[test]
fn a_page_shows_every_row_and_runs_no_program() {
    let table = a_table();
    let html = page(&table);
    let seen = elements(&html);
    assert!(!seen.contains_key("script") && !seen.contains_key("link") && !seen.contains_key("img"), "{seen:?}");
    for from_elsewhere in ["http:", "https:", "url(", "@import", " src=", " href=", " onload", "\u{1}"] {
        assert!(!html.contains(from_elsewhere), "{from_elsewhere}");
    }
    assert!(html.starts_with("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"));
    for text in [
        "measured",
        "skipped",
        "failed",
        "&lt;script&gt;",
        "50.0 % of bf16 products",
        "2026-01-31 12:00 UTC",
        "1/2 of the row",
        "&#39;1&#39;",
    ] {
        assert!(html.contains(text), "{text}");
    }
    // A bar for what has a ceiling, on a track.
    assert_eq!((seen["rect"], seen["svg"]), (2, 2));
    // Half the ceiling is half the length.
    let lengths: Vec<f64> = html.split(" width=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).collect();
    assert_eq!(lengths[1] / lengths[0], 0.5, "{lengths:?}");
    // Nothing measured: still a page.
    elements(&page(&Table { rows: Vec::new(), ..table }));
}

#[cfg(unix)]
#[test]
fn a_row_that_fails_is_told_and_the_next_one_is_measured() {
    use std::process::Command;
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    let names = ["matmul_bf16_2048", "matmul_bf16_4096", "matmul_bf16_8192", "matmul_tf32_4096", "matmul_f32_4096"];
    let config = TableConfig { only: vec!["matmul".to_owned()], seconds: 0.01, longest_step: 1e6, ..TableConfig::default() };
    let measured =
        "{\"measured\":{\"ms\":2,\"waited_ms\":2,\"min_ms\":2,\"reps\":3,\"first_step_s\":0,\"peak_bytes\":1,\"others\":0,\"note\":\"\"}}";
    let script = |asked: &RowAsked| {
        let says = match names.iter().position(|name| *name == asked.name).unwrap() {
            0 => "exit 3".to_owned(),
            1 => "echo nonsense; echo '{\"error\":\"it broke\"}'".to_owned(),
            2 => format!("echo '{{\"lacks\":\"memory, {} times smaller\"}}'", asked.divisor),
            3 => format!("echo '{measured}'"),
            _ => format!("echo '{{\"first_step\":true}}'; sleep 0.05; echo '{measured}'"),
        };
        let mut command = Command::new("sh");
        command.args(["-c", &says]);
        command
    };
    let mut heard = Vec::new();
    let table = table(device, &config, &script, &mut |table| heard.push(table.rows.len())).unwrap();
    assert_eq!(heard, [0, 1, 2, 3, 4, 5]);
    assert_eq!(table.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), names);
    let failure = |at: usize| match &table.rows[at].outcome {
        Outcome::Failed(why) => why.clone(),
        other => panic!("{at}: {other:?}"),
    };
    assert!(failure(0).contains("exit status: 3") && failure(1) == "it broke" && failure(3).contains("first step"), "{table:?}");
    // Out of memory: smaller ones were tried, to the last.
    assert_eq!(table.rows[2].outcome, Outcome::Skipped("memory, 32 times smaller".to_owned()));
    let last = table.rows[4].measured().unwrap();
    assert!(last.ms == 2.0 && last.first_s > 0.0 && last.cold_s.is_none(), "{last:?}");
    assert!(table.rows[4].fraction(&table.ceilings).is_some() && table.ceilings.gb_per_s() > 0.0, "{:?}", table.ceilings);
    // Cold: two processes, of which the first one's time counts, with a folder of kernels that is gone afterwards.
    let folder = std::cell::RefCell::new(Vec::new());
    let cold = |asked: &RowAsked| {
        let mut command = Command::new("sh");
        let before = if asked.first_only { "mkdir \"$UNIGRAD_CACHE_DIR\"; sleep 0.2" } else { "test -d \"$UNIGRAD_CACHE_DIR\" || exit 9" };
        command.args(["-c", &format!("{before}; echo '{{\"first_step\":true}}'; echo '{measured}'")]);
        folder.borrow_mut().push(asked.first_only);
        command
    };
    let config = TableConfig { only: vec![names[0].to_owned()], cold: true, ..config };
    let table = super::table(device, &config, &cold, &mut |_| {}).unwrap();
    let row = table.rows[0].measured().unwrap_or_else(|| panic!("{:?}", table.rows[0]));
    assert!(row.cold_s.is_some_and(|cold| cold >= 0.2) && row.first_s < row.cold_s.unwrap_or(0.0), "{row:?}");
    assert_eq!(*folder.borrow(), [true, false]);
    let left = std::env::temp_dir().join(format!("unigrad-bench-{}-{}", std::process::id(), names[0]));
    assert!(!left.exists());
    for wrong in [
        TableConfig { seconds: 0.0, ..config.clone() },
        TableConfig { longest_step: f64::NAN, ..config.clone() },
        TableConfig { only: vec!["nothing".to_owned()], ..config },
    ] {
        assert!(super::table(device, &wrong, &script, &mut |_| {}).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_row_measures_itself_when_it_is_asked() {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").unwrap();
    let ask = |name: &str, divisor: usize, first_only: bool| {
        let mut said = Vec::new();
        serve_row(device, &RowAsked { name: name.to_owned(), divisor, seconds: 0.01, first_only }, &mut said).unwrap();
        String::from_utf8(said).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    // The smallest of each kind of row that is made of other code.
    for (name, divisor) in [
        ("elementwise_f32_1gib", 1 << 16),
        ("rms_norm_bf16", 1 << 12),
        ("adamw_148x840k", 1 << 12),
        ("matmul_fp8_8192", 32),
        ("gpt2_product_out_weight", 1 << 10),
        ("attention_bf16_d64_forward", 8 << 6),
        ("attention_bf16_d64_forward_backward", 8 << 6),
        ("mlp_tf32_b64", 64),
        ("mlp_tf32_b64_replay", 64),
        ("lstm_tf32_b32_replay", 32),
    ] {
        let said = ask(name, divisor, false);
        assert_eq!(said[0]["first_step"], true, "{name}: {said:?}");
        let measured = &said[1]["measured"];
        assert!(
            measured["ms"].as_f64().is_some_and(|ms| ms > 0.0) && measured["peak_bytes"].as_f64().is_some_and(|n| n > 0.0),
            "{name}: {said:?}"
        );
        assert!(measured["device_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{name}: {said:?}");
    }
    let said = ask("mlp_tf32_b64", 64, true);
    assert!(said.len() == 2 && said[1]["measured"]["reps"] == 0, "{said:?}");
    for (name, divisor) in [("mlp_tf32_b64", 3), ("mlp_tf32_b64", 128), ("mlp", 1), ("nothing", 1)] {
        let said = ask(name, divisor, false);
        assert!(said.len() == 1 && said[0]["error"].is_string(), "{name}: {said:?}");
    }
}

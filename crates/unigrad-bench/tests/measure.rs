//! Measuring for real: workloads of a test, of which one does more; two sides in this process; the conversation with a child; files of any content.

use std::{cell::Cell, io::Cursor, rc::Rc};
use unigrad_bench::{
    Benchmark, BenchmarkConfig, Block, Case, Certainty, Child, Environment, InProcess, Run, Sampling, Series, Side, Verdict, Weight, Work,
    Workload, compare, compare_pairs, load, measure, measure_pairs, save, serve,
};
use unigrad_device::Device;
use unigrad_tensor::Result;

fn device() -> Device {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    Device::open("cpu").unwrap()
}

/// Additions that no compiler leaves out.
fn spin(steps: usize) -> f64 {
    let mut sum = 1.0f64;
    for _ in 0..steps {
        sum = std::hint::black_box(sum * 0.999 + 1e-3);
    }
    sum
}

/// Three workloads, of which the second does `factor` times the work.
fn workloads(factor: f64) -> Vec<Workload> {
    let steps = |factor: f64| (40_000.0 * factor) as usize;
    [("first", 1.0), ("second", factor), ("third", 1.0)]
        .map(|(name, factor)| {
            Workload::new("test", name, move |_| {
                Ok(Case::new(Work::Flops(2.0 * steps(factor) as f64), move || {
                    std::hint::black_box(spin(steps(factor)));
                    Ok(())
                }))
            })
        })
        .to_vec()
}

fn side(factor: f64) -> Result<Box<dyn Side>> {
    Ok(Box::new(InProcess::new(device(), Some(1), workloads(factor))?))
}

const SPREAD: Sampling = Sampling { seconds: 0.12, n_blocks: 24, restart: 3 };

/// One try on this machine, as busy as it is: the verdicts, and what was to be found.
fn attempt(factor: f64) -> [(f64, [Verdict; 3], f64); 2] {
    let run = |factor| measure(&mut || side(factor), &SPREAD, &mut |_| {}).unwrap();
    let apart = compare(&run(1.0), &run(factor), Certainty::default());
    let (first, second) = measure_pairs(&mut || side(1.0), &mut || side(factor), &SPREAD, &mut |_| {}).unwrap();
    let turns = compare_pairs(&first, &second, Certainty::default());
    [apart, turns].map(|comparison| {
        let verdict = |at: usize| comparison.changes[at].verdict;
        (comparison.changes[1].ratio, [0, 1, 2].map(verdict), comparison.changes[1].detectable)
    })
}

#[test]
fn a_workload_that_does_more_is_found_or_said_to_be_hidden() {
    // A busy machine may hide even this, and then must say so; the rates are those of the simulations, and of the ignored test below.
    for (way, (ratio, verdicts, detectable)) in ["apart", "in turns"].into_iter().zip(attempt(2.0)) {
        println!("{way}: {ratio:.2} times as long, {verdicts:?}; seen from {:.0} %", 100.0 * detectable);
        assert!(verdicts[1] == Verdict::Slower || detectable > 0.5, "{way}: {ratio} {verdicts:?} {detectable}");
    }
}

/// `cargo test --workspace --test measure -- --ignored --nocapture how_often`: minutes.
#[test]
#[ignore = "a measurement of this machine, minutes long"]
fn how_often_slowdowns_are_found() {
    for factor in [1.0, 1.1, 1.3] {
        let mut found = [[0; 2]; 2];
        let mut hidden = [0; 2];
        for _ in 0..20 {
            for (way, (_, verdicts, detectable)) in attempt(factor).into_iter().enumerate() {
                found[way][0] += usize::from(verdicts[1] == Verdict::Slower);
                found[way][1] += usize::from(verdicts[0] == Verdict::Slower || verdicts[2] == Verdict::Slower);
                hidden[way] += usize::from(detectable > factor - 1.0);
            }
        }
        for (way, name) in ["apart", "in turns"].into_iter().enumerate() {
            let [right, wrong] = found[way];
            println!(
                "{factor} {name}: slower in {right} of 20, said to be hidden in {}; another one called slower in {wrong}",
                hidden[way]
            );
        }
    }
}

/// A side whose times are made up, which counts how often it was started.
struct Invented {
    environment: Environment,
    names: Vec<String>,
    log: Rc<Cell<Vec<String>>>,
}

impl Invented {
    fn note(&self, what: String) {
        let mut log = self.log.take();
        log.push(what);
        self.log.set(log);
    }
}

impl Side for Invented {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn block(&mut self, name: &str, _seconds: f64) -> Result<Block> {
        self.note(format!("{} {name}", self.environment.device));
        Ok(Block { samples: vec![1.0], reference: vec![1.0], ..Block::default() })
    }
}

#[test]
fn blocks_are_spread_and_take_turns() {
    let log: Rc<Cell<Vec<String>>> = Rc::default();
    let start = |name: &str, names: &[&str]| -> Result<Box<dyn Side>> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let side = Invented { environment: Environment { device: name.to_owned(), ..Environment::default() }, names, log: Rc::clone(&log) };
        side.note(format!("start {name}"));
        Ok(Box::new(side))
    };
    let spread = Sampling { seconds: 1.0, n_blocks: 3, restart: 2 };
    let (a, b) = measure_pairs(&mut || start("a", &["x", "y", "z"]), &mut || start("b", &["y", "x"]), &spread, &mut |_| {}).unwrap();
    let wanted = "start a, start b, a x, b x, b y, a y, a y, b y, b x, a x, start a, start b, a x, b x, b y, a y";
    assert_eq!(log.take().join(", "), wanted);
    assert_eq!((a.series.len(), a.series[0].blocks.len(), b.series[1].blocks.len()), (2, 3, 3));
    let none = measure_pairs(&mut || start("a", &["x"]), &mut || start("b", &["y"]), &spread, &mut |_| {});
    assert!(none.unwrap_err().to_string().contains("no workload in common"));
    for wrong in [
        Sampling { n_blocks: 0, ..SPREAD },
        Sampling { n_blocks: 61, ..SPREAD },
        Sampling { restart: 0, ..SPREAD },
        Sampling { seconds: 0.0, ..SPREAD },
    ] {
        assert!(measure(&mut || start("a", &["x"]), &wrong, &mut |_| {}).is_err(), "{wrong:?}");
    }
    // Too few blocks to say anything: said, not guessed.
    let few = compare(&a, &a, Certainty::default());
    assert!(few.changes.iter().all(|change| change.verdict == Verdict::Same && change.detectable.is_infinite()));
    assert!(few.to_string().contains("nothing"), "{few}");
}

#[test]
fn a_conversation_by_lines_has_what_a_call_has() {
    let mut side = InProcess::new(device(), Some(1), workloads(1.0)).unwrap();
    let questions = "{\"workload\":\"first\",\"seconds\":0.001}\n{\"workload\":\"none\",\"seconds\":1}\nnonsense\n";
    let mut answers = Vec::new();
    serve(&mut side, Cursor::new(questions), &mut answers).unwrap();
    let text = String::from_utf8(answers).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("\"unigrad_bench\":1") && lines[0].contains("\"workloads\":[\"first\",\"second\",\"third\"]"), "{text}");
    assert!(
        lines[1].contains("\"samples\":[") && lines[2].contains("no workload is called none") && lines[3].contains("not a question"),
        "{text}"
    );
    assert_eq!(lines.len(), 4);
}

#[cfg(unix)]
#[test]
fn a_program_that_does_not_measure_is_refused() {
    let start = |program: &str, arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Child::start(program.as_ref(), &arguments).err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(start("/nowhere/unigrad", &[]).contains("cannot be started"));
    assert!(start("true", &[]).contains("ended with exit status: 0"));
    assert!(start("sh", &["-c", "exit 3"]).contains("ended with exit status: 3"));
    assert!(start("echo", &["hello"]).contains("does not measure for others: it said \"hello\""));
    assert!(start("echo", &["{\"unigrad_bench\":1}"]).contains("place."));
    // One that ends in the middle.
    let hello = "{\"unigrad_bench\":1,\"workloads\":[\"x\"],\"place\":{\"version\":\"\",\"system\":\"\",\"processor\":\"\",\"cores\":1,\
        \"device\":\"\",\"hardware\":\"\",\"driver\":\"\",\"settings\":{}}}";
    for (then, wanted) in [
        ("exit 7", "exit status: 7"),
        ("read a; echo '{\"block\":{\"samples\":[0]}}'", "x: samples: 0 is no time"),
        ("read a; echo x", "x: samples"),
    ] {
        let script = format!("echo '{hello}'; {then}");
        let mut child = Child::start("sh".as_ref(), &["-c".to_owned(), script]).unwrap();
        let error = child.block("x", 0.1).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("help:"), "{error}");
    }
}

fn a_run() -> Run {
    let block = Block { samples: vec![1.0, 1.5], reference: vec![0.1], others: 0.5, watts: Some(90.0) };
    let environment = Environment {
        cores: 2,
        device: "cpu:0".to_owned(),
        settings: vec![("threads".to_owned(), "2".to_owned())],
        ..Environment::default()
    };
    Run { environment, series: vec![Series { name: "w".to_owned(), blocks: vec![block; 3] }] }
}

#[test]
fn files_come_back_or_are_refused() {
    let folder = std::env::temp_dir().join(format!("unigrad-bench-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.json");
    save(&a_run(), &path).unwrap();
    assert_eq!(load(&path).unwrap(), a_run());
    let whole = std::fs::read_to_string(&path).unwrap();
    let refused = |text: &str, wanted: &str| {
        std::fs::write(&path, text).unwrap();
        let error = load(&path).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("run.json") && error.contains("help:"), "{error}");
    };
    refused("", "no JSON");
    refused(&whole[..whole.len() / 2], "no JSON");
    refused("[]", "format: null");
    refused(&whole.replace("unigrad-bench", "other"), "format: \"other\"");
    refused(&whole.replace("\"version\":1", "\"version\":2"), "version: 2 is not 1");
    refused(&whole.replace("1.5", "-1.5"), "w: block 0: samples: -1.5 is no time");
    refused(&whole.replace("1.5", "\"long\""), "w: block 0: samples");
    refused(&whole.replace("1.5", "1e999"), "JSON");
    refused(&whole.replace("\"cores\":2", "\"cores\":-2"), "place.cores");
    let with = |n: usize| {
        let mut value: serde_json::Value = serde_json::from_str(&whole).unwrap();
        let block = value["workloads"][0]["blocks"][0].clone();
        value["workloads"][0]["blocks"] = serde_json::Value::Array(vec![block; n]);
        value.to_string()
    };
    refused(&with(0), "blocks: no list of 1 to 60");
    refused(&with(61), "blocks: no list of 1 to 60");
    std::fs::write(&path, with(60)).unwrap();
    assert_eq!(load(&path).unwrap().series[0].blocks.len(), 60);
    let mut twice: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let one = twice["workloads"][0].clone();
    twice["workloads"].as_array_mut().unwrap().push(one);
    refused(&twice.to_string(), "`w` is there twice");
    // Any single byte changed, and any length: a run or an error, never a panic.
    for at in 0..whole.len() {
        let mut bytes = whole.clone().into_bytes();
        bytes[at] = bytes[at].wrapping_add(1 + (at % 250) as u8);
        std::fs::write(&path, &bytes).unwrap();
        let _ = load(&path);
        std::fs::write(&path, &whole.as_bytes()[..at]).unwrap();
        assert!(load(&path).is_err());
    }
    assert!(load(folder.join("none.json")).unwrap_err().to_string().contains("none.json"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn other_places_are_told() {
    let environment = Environment::here(device(), Some(2));
    assert!(environment.differences(&environment).is_empty());
    let mut other = environment.clone();
    other.processor = "another".to_owned();
    other.driver = "newer".to_owned();
    other.settings[0].1 = "1".to_owned();
    other.settings.push(("new".to_owned(), "on".to_owned()));
    let all: Vec<(String, Weight)> = environment.differences(&other).into_iter().map(|d| (d.what, d.weight)).collect();
    let wanted = [
        ("processor", Weight::Forbids),
        ("device's driver", Weight::Explains),
        ("setting threads", Weight::Forbids),
        ("setting new", Weight::Forbids),
    ];
    assert_eq!(all, wanted.map(|(what, weight)| (what.to_owned(), weight)));
}

#[test]
fn a_benchmark_is_a_call() {
    let config = BenchmarkConfig {
        seconds: 0.02,
        n_blocks: 2,
        only: vec!["scalars".to_owned(), "small".to_owned(), "mine".to_owned(), "test".to_owned()],
    };
    let benchmark = Benchmark::new().with_config(config).with_optimizer("mine", |parameters| unigrad_nn::Sgd::new(parameters, 0.1));
    let benchmark = workloads(1.0).into_iter().fold(benchmark, Benchmark::with_workload);
    let beside = benchmark.run_beside(&[device(), device()]).unwrap();
    let names: Vec<&str> = beside.results[0].measurements.iter().map(|m| m.name.as_str()).collect();
    let wanted =
        ["add", "mul", "pow", "relu", "mlp_10_20_20_1_forward", "mlp_10_20_20_1_forward_backward", "mine", "first", "second", "third"];
    assert_eq!(names, wanted);
    for results in &beside.results {
        assert!(results.measurements.iter().all(|m| m.ms > 0.0 && m.rate > 0.0 && m.rate.is_finite()), "{results}");
        assert!(results.throughput > 0.0 && results.copy_gb_per_s > 0.0);
    }
    let text = beside.to_string();
    assert!(text.lines().count() == 11 && text.contains("mlp_10_20_20_1_forward_backward") && text.contains("x)"), "{text}");
    assert!(beside.results[0].to_string().contains("GB/s"), "{}", beside.results[0]);
    let wrong = |config| Benchmark::new().with_config(config).run(&device()).unwrap_err().to_string();
    assert!(wrong(BenchmarkConfig { only: vec!["no such".to_owned()], ..BenchmarkConfig::default() }).contains("choose from add"));
    assert!(wrong(BenchmarkConfig { n_blocks: 0, ..BenchmarkConfig::default() }).contains("0 blocks"));
}

//! Runs as files, and blocks as JSON: what `--save` writes, `--compare` reads and two processes tell each other.
//!
//! In: runs; files of any content. Out: JSON; runs, or an error with the field that is wrong.
//! Always: a file is replaced whole; one that is too large, of another version or with numbers that are no times is refused.

use crate::{
    record::{Block, Environment, Run, Series},
    statistics::MAX_VALUES,
};
use serde_json::{Value, json};
use std::{io::Read, path::Path};
use unigrad_tensor::{Error, Result};

const FORMAT: &str = "unigrad-bench";
const VERSION: u64 = 1;
/// A file of 1000 workloads has less.
const MOST_BYTES: u64 = 64 << 20;
/// Samples of a block that are believed.
const MOST_SAMPLES: usize = 10_000;
/// Workloads of a file.
const MOST_SERIES: usize = 10_000;

/// What is wrong with a value: the field, and why.
type Wrong = String;

pub(crate) fn block_to_json(block: &Block) -> Value {
    json!({ "samples": block.samples, "reference": block.reference, "others": block.others, "watts": block.watts })
}

fn numbers(value: &Value, field: &str) -> Result<Vec<f64>, Wrong> {
    let list = value[field].as_array().ok_or_else(|| format!("{field}: no list"))?;
    if list.len() > MOST_SAMPLES {
        return Err(format!("{field}: {} numbers, more than {MOST_SAMPLES}", list.len()));
    }
    let number = |value: &Value| value.as_f64().filter(|ms| ms.is_finite() && *ms > 0.0);
    list.iter().map(|value| number(value).ok_or_else(|| format!("{field}: {value} is no time above 0"))).collect()
}

pub(crate) fn block_from_json(value: &Value) -> Result<Block, Wrong> {
    let samples = numbers(value, "samples")?;
    if samples.is_empty() {
        return Err("samples: none".to_owned());
    }
    let others = value["others"].as_f64().unwrap_or(0.0);
    Ok(Block { samples, reference: numbers(value, "reference")?, others, watts: value["watts"].as_f64() })
}

pub(crate) fn environment_to_json(environment: &Environment) -> Value {
    let settings: serde_json::Map<String, Value> = environment.settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "version": environment.version, "system": environment.system, "processor": environment.processor, "cores": environment.cores, "device": environment.device,
        "hardware": environment.hardware, "driver": environment.driver, "settings": settings,
    })
}

pub(crate) fn environment_from_json(value: &Value) -> Result<Environment, Wrong> {
    let text = |field: &str| value[field].as_str().map(str::to_owned).ok_or_else(|| format!("{field}: no text"));
    let settings = value["settings"].as_object().ok_or("settings: not there")?;
    let setting = |(name, value): (&String, &Value)| {
        value.as_str().map(|value| (name.clone(), value.to_owned())).ok_or(format!("settings.{name}: no text"))
    };
    Ok(Environment {
        version: text("version")?,
        system: text("system")?,
        processor: text("processor")?,
        cores: value["cores"].as_u64().and_then(|cores| usize::try_from(cores).ok()).ok_or("cores: no number")?,
        device: text("device")?,
        hardware: text("hardware")?,
        driver: text("driver")?,
        settings: settings.iter().map(setting).collect::<Result<_, _>>()?,
    })
}

/// Writes a run.
pub fn save(run: &Run, path: impl AsRef<Path>) -> Result<()> {
    let series: Vec<Value> = run
        .series
        .iter()
        .map(|series| json!({ "name": series.name, "blocks": series.blocks.iter().map(block_to_json).collect::<Vec<_>>() }))
        .collect();
    let text =
        json!({ "format": FORMAT, "version": VERSION, "place": environment_to_json(&run.environment), "workloads": series }).to_string();
    unigrad_nn::files::replace(path.as_ref(), |file| file.write_all(text.as_bytes()))
}

/// Reads a run.
pub fn load(path: impl AsRef<Path>) -> Result<Run> {
    let path = path.as_ref();
    let help = "use a file that `bench --save` of this version wrote";
    let file = std::fs::File::open(path).map_err(|error| Error::read(path, error))?;
    let mut text = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut text).map_err(|error| Error::read(path, error))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::format(path, format!("is larger than {MOST_BYTES} bytes"), help));
    }
    let value: Value = serde_json::from_slice(&text).map_err(|error| Error::format(path, format!("is no JSON: {error}"), help))?;
    parse(&value).map_err(|wrong| Error::format(path, wrong, help))
}

fn parse(value: &Value) -> Result<Run, Wrong> {
    if value["format"] != FORMAT {
        return Err(format!("format: {} is not `{FORMAT}`", value["format"]));
    }
    if value["version"] != VERSION {
        return Err(format!("version: {} is not {VERSION}", value["version"]));
    }
    let environment = environment_from_json(&value["place"]).map_err(|wrong| format!("place.{wrong}"))?;
    let list = value["workloads"].as_array().ok_or("workloads: no list")?;
    if list.len() > MOST_SERIES {
        return Err(format!("workloads: {}, more than {MOST_SERIES}", list.len()));
    }
    let mut series: Vec<Series> = Vec::new();
    for (at, one) in list.iter().enumerate() {
        let name = one["name"].as_str().ok_or_else(|| format!("workloads[{at}].name: no text"))?;
        if series.iter().any(|known| known.name == name) {
            return Err(format!("workloads[{at}].name: `{name}` is there twice"));
        }
        let blocks = one["blocks"].as_array().filter(|blocks| (1..=MAX_VALUES).contains(&blocks.len()));
        let blocks = blocks.ok_or_else(|| format!("{name}: blocks: no list of 1 to {MAX_VALUES}"))?;
        let block = |(number, value)| block_from_json(value).map_err(|wrong| format!("{name}: block {number}: {wrong}"));
        series.push(Series { name: name.to_owned(), blocks: blocks.iter().enumerate().map(block).collect::<Result<_, _>>()? });
    }
    Ok(Run { environment, series })
}

//! `unigrad inspect`: what a file of tensors has.
//!
//! In: a file. Out: each tensor's name, dtype, shape and bytes, their sums, and what the file says beside them.
//! Always: of the data nothing is read.

use crate::{Failure, args::Inspect};
use serde_json::json;
use unigrad::nn::{Format, TensorFile};

/// Strings that tell what a file is for, beside its format.
const KINDS: [(&str, &str); 2] =
    [("unigrad.network", "a network with its architecture"), ("optimizer.steps", "a checkpoint of a training run")];
/// Characters of a string that are shown; JSON has all.
const SHOWN: usize = 200;

pub(crate) fn run(options: &Inspect) -> Result<(), Failure> {
    let file = TensorFile::open(&options.file)?;
    let tensors: Vec<_> = file.tensors().filter(|(name, ..)| name.starts_with(&options.prefix)).collect();
    if tensors.is_empty() && !options.prefix.is_empty() {
        let cause = format!("{}: no tensor's name begins with {}", options.file.display(), options.prefix);
        return Err(Failure::new(cause, "leave out `--prefix`, which lists all"));
    }
    let n_values = |shape: &[usize]| shape.iter().map(|size| *size as u64).product::<u64>();
    let values: u64 = tensors.iter().map(|(_, _, shape)| n_values(shape)).sum();
    let bytes: u64 = tensors.iter().map(|(_, dtype, shape)| n_values(shape) * dtype.size() as u64).sum();
    let aliases = file.aliases();
    let kind =
        KINDS.iter().find(|(name, _)| file.format() == Format::Safetensors && file.metadata().contains_key(*name)).map(|(_, kind)| *kind);
    if options.json {
        let tensors: Vec<_> = tensors
            .iter()
            .map(|(name, dtype, shape)| {
                let bytes = n_values(shape) * dtype.size() as u64;
                let mut tensor = json!({ "name": name, "dtype": dtype.name(), "shape": shape, "bytes": bytes });
                if let Some(first) = aliases.get(name) {
                    tensor["same_as"] = json!(first);
                }
                tensor
            })
            .collect();
        let files: Vec<_> = file.files().map(|path| path.display().to_string()).collect();
        say!(
            "{}",
            json!({
                "file": options.file.display().to_string(), "format": file.format().to_string(), "kind": kind, "files": files, "n_tensors": tensors.len(),
                "n_values": values, "bytes": bytes, "tensors": tensors, "metadata": file.metadata(),
            })
        );
        return Ok(());
    }
    let kind = kind.map_or(String::new(), |kind| format!(", {kind}"));
    say!("{}: {}{kind}", options.file.display(), file.format());
    if file.format() == Format::Index {
        file.files().for_each(|path| say!("  part {}", path.display()));
    }
    let rows: Vec<[String; 4]> = tensors
        .iter()
        .map(|(name, dtype, shape)| {
            [(*name).to_owned(), dtype.to_string(), format!("{shape:?}"), (n_values(shape) * dtype.size() as u64).to_string()]
        })
        .collect();
    let head = ["tensor", "dtype", "shape", "bytes"].map(str::to_owned);
    let widths = [0, 1, 2, 3].map(|column| rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or(0));
    for row in [&head].into_iter().chain(&rows) {
        let [a, b, c, d] = widths;
        let same = aliases.get(row[0].as_str()).map_or(String::new(), |first| format!("  the same as {first}"));
        say!("  {:a$}  {:b$}  {:c$}  {:>d$}{same}", row[0], row[1], row[2], row[3]);
    }
    say!("{} tensors, {values} values, {bytes} bytes ({:.2} GB)", tensors.len(), bytes as f64 / 1e9);
    if !file.metadata().is_empty() {
        say!("metadata:");
        for (name, text) in file.metadata() {
            let n = text.chars().count();
            let start: String = text.chars().take(SHOWN).collect();
            let more = if n > SHOWN { format!("… ({n} characters; `--json` prints all)") } else { String::new() };
            say!("  {name}: {start}{more}");
        }
    }
    Ok(())
}

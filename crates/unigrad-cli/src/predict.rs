//! `unigrad predict`: answers of a model file to rows of tables, image files and texts, and texts that it continues.
//!
//! Always: every input is answered before anything is written; an answer is a line of a CSV table, with a column for each number, or a JSON object. A text that is continued is printed as
//! it is where it is alone.

use crate::{
    Failure,
    args::{Predict, Writing},
};
use serde_json::{Value, json};
use std::{
    io::{self, Read},
    path::Path,
};
use unigrad::{
    data::lines_of_text,
    nn::{Archive, files, models::Sampling},
    prelude::*,
    train::network::{Answer, Generation, Predictor, Takes, Writer},
};

/// Bytes of a text that is continued or classified.
const TEXT_BYTES: u64 = 16 << 20;

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    let device = match &options.device {
        Some(name) => Device::open(name)?,
        None => Device::best()?,
    };
    let archive = Archive::load(&options.model)?;
    if Writer::is_in(&archive) {
        let texts = texts(options)?;
        return write(options, Writer::from_archive(archive, &options.model, &device)?, &texts);
    }
    if let Some(name) = first_of(&options.writing) {
        let cause = format!("`{name}` is of models that continue texts, and {} does not", options.model.display());
        return Err(Failure::new(cause, format!("leave `{name}` out, or name a model that was trained on a text")));
    }
    let mut predictor = Predictor::from_archive(archive, &options.model, &device)?;
    if !options.prompt.is_empty() && predictor.takes() != Takes::Texts {
        let cause = format!("`--prompt` is of models of texts, and {} takes none", options.model.display());
        return Err(Failure::new(cause, "name files of the kind that it was trained on"));
    }
    // What it is of: a file, and a row of it where it is a table or a list.
    let mut answers: Vec<(String, Option<usize>, Answer)> = Vec::new();
    match predictor.takes() {
        Takes::Tables => {
            let csv = options.written.csv().options()?;
            for path in &options.inputs {
                let rows = predictor.table(path, &csv)?;
                answers.extend(rows.into_iter().enumerate().map(|(row, answer)| (path.display().to_string(), Some(row + 1), answer)));
            }
        }
        Takes::Images => {
            let of_files = predictor.images(&options.inputs)?;
            answers.extend(options.inputs.iter().zip(of_files).map(|(path, answer)| (path.display().to_string(), None, answer)));
        }
        Takes::Arrays => {
            for path in &options.inputs {
                let rows = predictor.arrays(path)?;
                answers.extend(rows.into_iter().enumerate().map(|(row, answer)| (path.display().to_string(), Some(row + 1), answer)));
            }
        }
        Takes::Texts => {
            for (input, text) in texts(options)? {
                let lines = if input == PROMPT { vec![text] } else { lines_of_text(&text, &input)? };
                let found = predictor.texts(&lines).map_err(|error| named(&input, error))?;
                answers.extend(found.into_iter().enumerate().map(|(row, answer)| (input.clone(), Some(row + 1), answer)));
            }
        }
    }
    let columns = predictor.columns();
    if options.json {
        for (input, row, answer) in &answers {
            let mut line = match answer {
                Answer::Class { name, probability } => json!({ "input": input, "class": name, "probability": probability }),
                Answer::Number(number) => json!({ "input": input, "number": number }),
                Answer::Numbers(numbers) => {
                    let named: serde_json::Map<String, Value> = columns.iter().cloned().zip(numbers.iter().map(|x| json!(x))).collect();
                    json!({ "input": input, "numbers": named })
                }
            };
            if let (Some(row), Some(line)) = (row, line.as_object_mut()) {
                line.insert("row".to_owned(), json!(row));
            }
            say!("{line}");
        }
        return Ok(());
    }
    let has_rows = answers.iter().any(|(_, row, _)| row.is_some());
    let has_classes = answers.iter().any(|(.., answer)| matches!(answer, Answer::Class { .. }));
    let header = match &columns[..] {
        _ if has_classes => "class,probability".to_owned(),
        [] | [_] => "number".to_owned(),
        several => several.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(","),
    };
    let mut lines = vec![format!("input,{}{header}", if has_rows { "row," } else { "" })];
    for (input, row, answer) in &answers {
        let row = row.map_or_else(String::new, |row| format!("{row},"));
        let answer = match answer {
            Answer::Class { name, probability } => format!("{},{probability:.4}", quoted(name)),
            Answer::Number(number) => number.to_string(),
            Answer::Numbers(numbers) => numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(","),
        };
        lines.push(format!("{},{row}{answer}", quoted(input)));
    }
    table(options, &lines)
}

/// Writes a CSV table where it is wanted.
fn table(options: &Predict, lines: &[String]) -> Result<(), Failure> {
    match &options.out {
        Some(path) => Ok(files::replace(path, |file| lines.iter().try_for_each(|line| writeln!(file, "{line}")))?),
        None => {
            lines.iter().for_each(|line| say!("{line}"));
            Ok(())
        }
    }
}

/// What an input from the command line is called.
const PROMPT: &str = "--prompt";
/// Standard input among files.
const STANDARD_INPUT: &str = "-";

/// Texts of the command line, of files and of standard input, each with where it is from.
fn texts(options: &Predict) -> Result<Vec<(String, String)>, Failure> {
    let mut texts: Vec<(String, String)> = options.prompt.iter().map(|text| (PROMPT.to_owned(), text.clone())).collect();
    for path in &options.inputs {
        let (name, bytes) = match path.as_os_str() == STANDARD_INPUT {
            true => {
                let mut bytes = Vec::new();
                io::stdin().lock().take(TEXT_BYTES + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > TEXT_BYTES {
                    let cause = format!("standard input has more than {TEXT_BYTES} bytes");
                    return Err(Failure::new(cause, "give the beginning of a text only"));
                }
                ("standard input".to_owned(), bytes)
            }
            false => (path.display().to_string(), files::read_at_most(path, TEXT_BYTES)?),
        };
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| Failure::new(format!("{name}: is no text in UTF-8"), "save it as UTF-8"))?;
        texts.push((name, text));
    }
    Ok(texts)
}

/// The first setting of writing that was given.
fn first_of(writing: &Writing) -> Option<&'static str> {
    let Writing { max_tokens, temperature, top_k, top_p, seed } = writing;
    let given = [
        ("--max-tokens", max_tokens.is_some()),
        ("--temperature", temperature.is_some()),
        ("--top-k", top_k.is_some()),
        ("--top-p", top_p.is_some()),
        ("--seed", seed.is_some()),
    ];
    given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
}

/// Continues texts.
fn write(options: &Predict, mut writer: Writer, texts: &[(String, String)]) -> Result<(), Failure> {
    let (given, usual) = (&options.writing, Generation::default());
    let generation = Generation {
        max_tokens: given.max_tokens.map_or(usual.max_tokens, |n| n as usize),
        sampling: Sampling {
            temperature: given.temperature.unwrap_or(usual.sampling.temperature),
            top_k: given.top_k.map(|k| k as usize),
            top_p: given.top_p,
        },
        seed: given.seed.unwrap_or(usual.seed),
    };
    let mut written = Vec::with_capacity(texts.len());
    for (input, beginning) in texts {
        let answer = writer.write(beginning, &generation).map_err(|error| named(input, error))?;
        written.push((input, beginning, answer));
    }
    if options.json {
        for (input, beginning, answer) in &written {
            let line: Value = json!({ "input": input, "prompt": beginning, "continuation": answer.continuation });
            say!("{line}");
        }
        return Ok(());
    }
    if let ([(_, _, answer)], None) = (&written[..], &options.out) {
        say!("{}", answer.text);
        return Ok(());
    }
    let mut lines = vec!["input,prompt,continuation".to_owned()];
    lines.extend(
        written
            .iter()
            .map(|(input, beginning, answer)| format!("{},{},{}", quoted(input), quoted(beginning), quoted(&answer.continuation))),
    );
    table(options, &lines)
}

/// An error with the input that it is of.
fn named(input: &str, error: unigrad::Error) -> unigrad::Error {
    match error {
        unigrad::Error::Argument { cause, help } => unigrad::Error::format(Path::new(input), cause, help),
        other => other,
    }
}

/// A cell of a CSV table.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

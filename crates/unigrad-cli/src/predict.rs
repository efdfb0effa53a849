//! `unigrad predict`: answers of a model file to rows of tables or image files.
//!
//! Always: every input is answered before anything is written; an answer is a line of a CSV table, or a JSON object.

use crate::{Failure, args::Predict};
use serde_json::json;
use unigrad::{
    nn::files,
    prelude::*,
    train::network::{Answer, CsvData, Predictor},
};

pub(crate) fn run(options: &Predict) -> Result<(), Failure> {
    let device = match &options.device {
        Some(name) => Device::open(name)?,
        None => Device::best()?,
    };
    let mut predictor = Predictor::load(&options.model, &device)?;
    // What it is of: a file, and a row of it where it is a table.
    let mut answers: Vec<(String, Option<usize>, Answer)> = Vec::new();
    if predictor.takes_tables() {
        let csv = CsvData { delimiter: options.delimiter, ..CsvData::default() }.options()?;
        for path in &options.inputs {
            let rows = predictor.table(path, &csv)?;
            answers.extend(rows.into_iter().enumerate().map(|(row, answer)| (path.display().to_string(), Some(row + 1), answer)));
        }
    } else {
        let of_files = predictor.images(&options.inputs)?;
        answers.extend(options.inputs.iter().zip(of_files).map(|(path, answer)| (path.display().to_string(), None, answer)));
    }
    if options.json {
        for (input, row, answer) in &answers {
            let mut line = match answer {
                Answer::Class { name, probability } => json!({ "input": input, "class": name, "probability": probability }),
                Answer::Number(number) => json!({ "input": input, "number": number }),
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
    let mut lines =
        vec![format!("input,{}{}", if has_rows { "row," } else { "" }, if has_classes { "class,probability" } else { "number" })];
    for (input, row, answer) in &answers {
        let row = row.map_or_else(String::new, |row| format!("{row},"));
        let answer = match answer {
            Answer::Class { name, probability } => format!("{},{probability:.4}", quoted(name)),
            Answer::Number(number) => number.to_string(),
        };
        lines.push(format!("{},{row}{answer}", quoted(input)));
    }
    match &options.out {
        Some(path) => Ok(files::replace(path, |file| lines.iter().try_for_each(|line| writeln!(file, "{line}")))?),
        None => {
            lines.iter().for_each(|line| say!("{line}"));
            Ok(())
        }
    }
}

/// A cell of a CSV table.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

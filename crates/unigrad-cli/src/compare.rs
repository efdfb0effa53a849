//! `unigrad compare`: several runs in one page.

use crate::{Failure, args::Compare};
use unigrad::{nn::files, train};

pub(crate) fn run(options: &Compare) -> Result<(), Failure> {
    let page = train::compare(&options.runs)?;
    files::replace(&options.out, |file| file.write_all(page.as_bytes()))?;
    say!("{}: {} runs", options.out.display(), options.runs.len());
    Ok(())
}

//! What is printed of the output of test binaries.
//!
//! In: the lines of `cargo test`. Out: the lines to print at once, and what is to be read at the end: why tests were skipped, and the whole output of
//! the tests that failed.
//! Always: a binary that ends without a result (it crashed) is shown as one that failed.

use std::collections::BTreeMap;
use std::fmt;

/// As much of a failed binary's output as a log should hold.
const MOST_LINES: usize = 300;

#[derive(Debug, Default)]
pub(super) struct Output {
    verbose: bool,
    /// The lines of the binary that runs, empty between binaries.
    block: Vec<String>,
    failures: Vec<Vec<String>>,
    /// What was said after `SKIPPED: `, and how often.
    skipped: BTreeMap<String, usize>,
}

impl Output {
    pub(super) fn new(verbose: bool) -> Output {
        Output { verbose, ..Output::default() }
    }

    /// Takes the next line, and gives the lines to print now.
    pub(super) fn read(&mut self, line: &str) -> Vec<String> {
        if let Some(why) = line.strip_prefix("SKIPPED: ") {
            *self.skipped.entry(why.trim_end().to_owned()).or_default() += 1;
        }
        let begins = line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test"));
        let mut shown = Vec::new();
        if begins {
            shown = self.crashed();
        }
        let inside = begins || !self.block.is_empty();
        if inside {
            self.block.push(line.to_owned());
        }
        let result = line.strip_prefix("test result: ");
        if let Some(result) = result {
            let block = std::mem::take(&mut self.block);
            if result.starts_with("FAILED") {
                let from = block.iter().position(|line| line == "failures:").unwrap_or(0);
                self.fail(&block[from..]);
            }
        }
        if self.verbose {
            return vec![line.to_owned()];
        }
        if !inside || result.is_some() {
            shown.push(line.to_owned());
        }
        shown
    }

    /// To be called after the last line.
    pub(super) fn end(&mut self) {
        self.crashed();
    }

    /// Keeps what else there is to read of a failure.
    pub(super) fn note(&mut self, text: &str) {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        self.fail(&lines[lines.len().saturating_sub(MOST_LINES)..]);
    }

    fn crashed(&mut self) -> Vec<String> {
        let block = std::mem::take(&mut self.block);
        if !block.is_empty() {
            self.fail(&block);
        }
        block
    }

    fn fail(&mut self, lines: &[String]) {
        let mut kept = lines[..lines.len().min(MOST_LINES)].to_vec();
        if lines.len() > MOST_LINES {
            kept.push(format!("({} more lines)", lines.len() - MOST_LINES));
        }
        self.failures.push(kept);
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.skipped.iter().try_for_each(|(why, times)| writeln!(f, "skipped {times} times: {why}"))?;
        self.failures.iter().flatten().try_for_each(|line| writeln!(f, "{line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(verbose: bool, text: &str) -> (String, String) {
        let mut output = Output::new(verbose);
        let shown: Vec<_> = text.lines().flat_map(|line| output.read(line)).collect();
        output.end();
        (shown.join("\n"), output.to_string())
    }

    const PASSED: &str = "\nrunning 2 tests\ntest a ... ok\ntest b ... ok\n\nsuccesses:\n\n---- a stdout ----\nSKIPPED: no GPU\n\ntest result: ok. 2 passed\n";
    const FAILED: &str = "\nrunning 1 test\ntest c ... FAILED\n\nfailures:\n\n---- c stdout ----\n1 is not 2\n\nfailures:\n    c\n\ntest result: FAILED. 0 passed\n";

    #[test]
    fn a_line_for_what_passed_and_all_of_what_failed() {
        let (shown, end) = read(false, &format!("{PASSED}{FAILED}{PASSED}"));
        assert_eq!(shown, "\ntest result: ok. 2 passed\n\ntest result: FAILED. 0 passed\n\ntest result: ok. 2 passed");
        assert_eq!(
            end,
            "skipped 2 times: no GPU\nfailures:\n\n---- c stdout ----\n1 is not 2\n\nfailures:\n    c\n\ntest result: FAILED. 0 passed\n"
        );
        assert_eq!(read(true, PASSED).0, PASSED.trim_end_matches('\n'), "all of it, if asked for");
    }

    #[test]
    fn a_binary_without_a_result_failed() {
        let crashed = "running 3 tests\ntest d ... ok";
        let (shown, end) = read(false, &format!("{crashed}\n{PASSED}"));
        assert!(shown.starts_with(crashed) && end.contains(crashed), "{shown}{end}");
        assert!(read(false, crashed).1.contains(crashed));
    }
}

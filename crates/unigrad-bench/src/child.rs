//! Another program that measures: started as a child, it is asked for blocks line by line, in JSON.
//!
//! In: a program that serves ([`serve`]): it says hello on standard output, then answers each line of standard input. Out: a [`Side`].
//! Always: a program that ends, says something else or says nothing is an error with its name; the child ends when its side is dropped.
//! Never: waits for ever for a program that does not know this conversation.

use crate::{
    file,
    measure::Side,
    record::{Block, Environment},
};
use serde_json::{Value, json};
use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};
use unigrad_tensor::{Error, Result};

const PROTOCOL: u64 = 1;
/// A line has at most so many bytes.
const LONGEST: u64 = 16 << 20;
/// A device may take its time to open, and a first start to compile.
const HELLO: Duration = Duration::from_secs(120);
/// After which a child that was told to end is ended.
const END: Duration = Duration::from_secs(5);

fn line_of(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.take(LONGEST).read_until(b'\n', &mut line)?;
    Ok(if line.is_empty() { None } else { Some(String::from_utf8_lossy(&line).trim().to_owned()) })
}

/// Answers questions until there are no more. A block that fails is answered with its error, and the next one is measured.
pub fn serve(side: &mut dyn Side, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let hello = json!({ "unigrad_bench": PROTOCOL, "place": file::environment_to_json(side.environment()), "workloads": side.names() });
    writeln!(output, "{hello}")?;
    output.flush()?;
    while let Some(line) = line_of(&mut input)? {
        let asked: Value = serde_json::from_str(&line).unwrap_or(Value::Null);
        let answer = match (asked["workload"].as_str(), asked["seconds"].as_f64()) {
            (Some(name), Some(seconds)) => match side.block(name, seconds) {
                Ok(block) => json!({ "block": file::block_to_json(&block) }),
                Err(error) => json!({ "error": error.to_string() }),
            },
            _ => json!({ "error": format!("not a question: {line}") }),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

/// A child that measures.
pub struct Child {
    program: PathBuf,
    child: process::Child,
    /// `None` when it was told to end.
    questions: Option<process::ChildStdin>,
    answers: Receiver<String>,
    environment: Environment,
    names: Vec<String>,
}

impl Child {
    /// Starts a program that serves when it is called with these arguments. Its standard error is this process's.
    pub fn start(program: &Path, arguments: &[String]) -> Result<Child> {
        let help = "name a program of unigrad that has `bench --against`";
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child =
            command.spawn().map_err(|error| Error::argument(format!("{}: cannot be started: {error}", program.display()), help))?;
        let (questions, output) = (child.stdin.take(), child.stdout.take());
        let (send, answers) = sync_channel(4);
        // It ends with the child's output, or when the receiver is gone.
        std::thread::spawn(move || {
            let Some(output) = output else { return };
            let mut output = BufReader::new(output);
            while let Ok(Some(line)) = line_of(&mut output) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut side =
            Child { program: program.to_owned(), child, questions, answers, environment: Environment::default(), names: Vec::new() };
        let hello = match side.answers.recv_timeout(HELLO) {
            Ok(line) => serde_json::from_str(&line).unwrap_or(Value::String(line)),
            Err(RecvTimeoutError::Timeout) => return Err(side.broken(&format!("said nothing for {} s", HELLO.as_secs()), help)),
            Err(RecvTimeoutError::Disconnected) => return Err(side.ended(help)),
        };
        if hello["unigrad_bench"] != PROTOCOL {
            return Err(side.broken(&format!("does not measure for others: it said {}", short(&hello)), help));
        }
        side.environment = file::environment_from_json(&hello["place"]).map_err(|wrong| side.broken(&format!("place.{wrong}"), help))?;
        let names = hello["workloads"].as_array().into_iter().flatten();
        side.names = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
        Ok(side)
    }

    fn broken(&self, cause: &str, help: &str) -> Error {
        Error::argument(format!("{}: {cause}", self.program.display()), help)
    }

    fn ended(&mut self, help: &str) -> Error {
        self.questions = None;
        let cause = match self.child.wait() {
            Ok(status) => format!("ended with {status}"),
            Err(error) => format!("ended, and the system does not tell how: {error}"),
        };
        self.broken(&cause, help)
    }
}

/// The beginning of what was said.
fn short(said: &Value) -> String {
    said.to_string().chars().take(80).collect()
}

impl Side for Child {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn block(&mut self, name: &str, seconds: f64) -> Result<Block> {
        let help = "see what it printed above; run its `bench` alone";
        let question = json!({ "workload": name, "seconds": seconds });
        let asked =
            self.questions.as_mut().is_some_and(|questions| writeln!(questions, "{question}").and_then(|()| questions.flush()).is_ok());
        let answer = if asked { self.answers.recv().ok() } else { None };
        let Some(answer) = answer else { return Err(self.ended(help)) };
        let answer: Value = serde_json::from_str(&answer).unwrap_or(Value::String(answer));
        if let Some(error) = answer["error"].as_str() {
            return Err(self.broken(&format!("{name}: {error}"), help));
        }
        file::block_from_json(&answer["block"]).map_err(|wrong| self.broken(&format!("{name}: {wrong}: {}", short(&answer)), help))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // The end of its input tells it to end.
        self.questions = None;
        let begin = Instant::now();
        while begin.elapsed() < END {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return,
            }
        }
        // Whatever becomes of it, this program goes on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

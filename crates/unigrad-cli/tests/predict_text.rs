//! `predict` of models of texts as a user runs it: beginnings from arguments, files and standard input, how freely it is written, classes of texts, and what is
//! refused.

mod support;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
};
use support::{Folder, refused, run, stdout, text, unigrad};

/// What a command that ends well prints.
fn ok(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {} {}", stdout(&output), String::from_utf8_lossy(&output.stderr));
    stdout(&output)
}

const CPU: [&str; 2] = ["--device", "cpu"];

/// A text in which each character follows from the one before.
fn alphabet(folder: &Folder) -> PathBuf {
    let path = folder.path("alphabet.txt");
    fs::write(&path, "abcdefgh\n".repeat(60)).unwrap();
    path
}

/// A language model of layers in a file of this configuration.
fn trained(folder: &Folder, name: &str, unit: &str, layers: &str) -> PathBuf {
    let (data, out) = (alphabet(folder), folder.path(name));
    let words = folder.path("words.txt");
    fs::write(&words, "One two, three four. ".repeat(40)).unwrap();
    let data = if unit == "word" { words } else { data };
    let config = folder.path(&format!("{name}.toml"));
    let text_of = format!(
        "[data.text]\nfile = {:?}\ncontext = 8\nstride = 3\nunit = \"{unit}\"\n[network]\nlayers = [{layers}]\n[optimizer.adam]\nlr = 0.02\n\
         [train]\nmax_epochs = 8\nbatch_size = 16\n",
        text(&data)
    );
    fs::write(&config, text_of).unwrap();
    ok(&[&["train", "config", text(&config), "--out", text(&out), "--quiet"], &CPU[..]].concat());
    out.join("model.safetensors")
}

const LSTM: &str = "{ embedding = { size = 8 } }, { lstm = { hidden = 24 } }, \"output\"";

fn predict(model: &Path, rest: &[&str]) -> Vec<String> {
    ["predict", "--model", text(model)].iter().chain(rest).chain(&CPU).map(|word| (*word).to_owned()).collect()
}

fn said(model: &Path, rest: &[&str]) -> String {
    let words = predict(model, rest);
    ok(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn no(model: &Path, rest: &[&str], parts: &[&str]) {
    let words = predict(model, rest);
    refused(&words.iter().map(String::as_str).collect::<Vec<_>>(), parts);
}

#[test]
fn a_text_is_continued_from_arguments_files_and_standard_input() {
    let folder = Folder::new("writing");
    let model = trained(&folder, "characters", "character", LSTM);
    let likeliest = ["--temperature", "0", "--max-tokens", "12"];
    let plain = said(&model, &[&["--prompt", "abc"], &likeliest[..]].concat());
    assert_eq!(plain, "abcdefgh\nabcdef\n");
    // A beginning longer than the model sees, and none to be written.
    assert_eq!(said(&model, &[&["--prompt", "abcdefgh\nabcdefgh\nab"], &likeliest[..]].concat()), "abcdefgh\nabcdefgh\nabcdefgh\nabcde\n");
    assert_eq!(said(&model, &["--prompt", "abc", "--max-tokens", "0"]), "abc\n");
    let file = folder.path("beginning.txt");
    fs::write(&file, "abc").unwrap();
    assert_eq!(said(&model, &[&[text(&file)], &likeliest[..]].concat()), plain);
    let words = predict(&model, &[&["-"], &likeliest[..]].concat());
    let mut child = unigrad(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"abc").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(stdout(&output), plain);
    // Several are a table, or objects.
    let both = ["--prompt", "abc", "--prompt", "fgh\n", text(&file)];
    let table = said(&model, &[&both[..], &likeliest].concat());
    assert_eq!(table.matches("defgh\nabcdef").count(), 2, "{table}");
    assert!(
        table.starts_with("input,prompt,continuation\n--prompt,abc,\"defgh\nabcdef\"\n--prompt,\"fgh\n\",\"abcdefgh\nabc\"\n"),
        "{table}"
    );
    let out = folder.path("out.csv");
    said(&model, &[&both[..], &likeliest, &["--out", text(&out)]].concat());
    assert_eq!(fs::read_to_string(&out).unwrap(), table);
    let json = said(&model, &[&both[..], &likeliest, &["--json"]].concat());
    assert_eq!(json.lines().count(), 3);
    assert!(json.contains("\"continuation\":\"defgh\\nabcdef\"") && json.contains("\"prompt\":\"abc\""), "{json}");
    // What is drawn follows from the seed; among one it is the likeliest.
    let drawn = |more: &[&str]| said(&model, &[&["--prompt", "abc", "--temperature", "3", "--max-tokens", "30"], more].concat());
    assert_eq!(drawn(&["--seed", "1"]), drawn(&["--seed", "1"]));
    assert_ne!(drawn(&["--seed", "1"]), drawn(&["--seed", "2"]));
    let whole = said(&model, &["--prompt", "abc", "--temperature", "0", "--max-tokens", "30"]);
    assert_eq!((drawn(&["--top-k", "1"]), drawn(&["--top-p", "1e-6"])), (whole.clone(), whole));
    // What cannot be.
    no(&model, &["--prompt", "abX"], &["--prompt", "the character 'X' at place 3", "never seen"]);
    fs::write(&file, "äb").unwrap();
    no(&model, &[text(&file)], &["beginning.txt", "the character 'ä' at place 1"]);
    fs::write(&file, [0xff, 0xfe]).unwrap();
    no(&model, &[text(&file)], &["beginning.txt", "UTF-8"]);
    no(&model, &["--prompt", ""], &["empty"]);
    no(&model, &[], &["<INPUT>"]);
    no(&model, &[text(&folder.path("none.txt"))], &["none.txt"]);
    for (flag, value) in [("--temperature", "-1"), ("--top-k", "0"), ("--top-p", "0"), ("--top-p", "1.5"), ("--max-tokens", "-3")] {
        no(&model, &["--prompt", "abc", flag, value], &[flag]);
    }
}

#[test]
fn a_model_of_words_writes_words() {
    let folder = Folder::new("words");
    let model = trained(&folder, "words", "word", LSTM);
    let said_ = said(&model, &["--prompt", "One two", "--temperature", "0", "--max-tokens", "4"]);
    assert_eq!(said_, "One two , three four .\n");
    no(&model, &["--prompt", "one seven"], &["the word `seven` at place 2"]);
}

#[test]
fn the_gpt_of_the_command_is_continued_too() {
    let folder = Folder::new("gpt-writing");
    let (data, out) = (alphabet(&folder), folder.path("gpt"));
    let sizes = ["--steps", "120", "--ctx", "16", "--layers", "1", "--heads", "2", "--dim", "32", "--lr", "0.01", "--sample", "2"];
    ok(&[&["train", "gpt", "--text", text(&data), "--out", text(&out), "--quiet"], &sizes[..], &CPU].concat());
    let model = out.join("model.safetensors");
    assert_eq!(said(&model, &["--prompt", "cde", "--temperature", "0", "--max-tokens", "8"]), "cdefgh\nabcd\n");
    no(&model, &["--prompt", "cdé"], &["the character 'é' at place 3"]);
}

#[test]
fn what_continues_no_text_is_refused() {
    let folder = Folder::new("no-writing");
    // Layers that see what comes after, which a text that is being written does not have.
    let ahead = "{ embedding = { size = 8 } }, { lstm = { hidden = 8, bidirectional = true } }, \"output\"";
    no(&trained(&folder, "ahead", "character", ahead), &["--prompt", "abc"], &["look at what comes after", "causal = true"]);
    let attention = "{ embedding = { size = 8 } }, { transformer_encoder = { heads = 2, hidden = 8 } }, \"output\"";
    no(&trained(&folder, "attention", "character", attention), &["--prompt", "abc"], &["look at what comes after"]);
    let causal = "{ embedding = { size = 8 } }, { transformer_encoder = { heads = 2, hidden = 8, causal = true } }, \"output\"";
    said(&trained(&folder, "causal", "character", causal), &["--prompt", "abc"]);
    // A model of tables continues nothing.
    let (table, out) = (folder.path("data.csv"), folder.path("table"));
    fs::write(&table, "a,b\n".to_owned() + &(0..40).map(|i| format!("{i},{}\n", ["x", "y"][i % 2])).collect::<String>()).unwrap();
    ok(&[&["train", "csv", "--data", text(&table), "--target", "b", "--epochs", "1", "--out", text(&out), "--quiet"], &CPU[..]].concat());
    let model = out.join("model.safetensors");
    no(&model, &["--prompt", "abc"], &["--prompt", "takes none"]);
    no(&model, &[text(&table), "--top-k", "3"], &["--top-k", "does not"]);
    no(&folder.path("none.safetensors"), &["--prompt", "abc"], &["none.safetensors"]);
}

#[test]
fn texts_are_given_their_classes() {
    let folder = Folder::new("classes");
    let (data, out, config) = (folder.path("texts.csv"), folder.path("out"), folder.path("texts.toml"));
    let good = ["a good film", "good and fine", "fine music", "very good"];
    let bad = ["a bad film", "bad and dull", "dull music", "very bad"];
    let rows = (0..12).map(|i| format!("{},praise\n{},blame\n", good[i % 4], bad[i % 4])).collect::<String>();
    fs::write(&data, format!("text,kind\n{rows}")).unwrap();
    let config_text = format!(
        "loss = \"cross_entropy\"\n[data.texts]\nfile = {:?}\ntext = \"text\"\nlabel = \"kind\"\nlength = 4\n[network]\nlayers = [{{ embedding_bag = {{ size = 8, padding_idx = 0 }} }}, \
         \"output\"]\n[optimizer.adam]\nlr = 0.05\n[train]\nmax_epochs = 20\nbatch_size = 8\n",
        text(&data)
    );
    fs::write(&config, config_text).unwrap();
    ok(&[&["train", "config", text(&config), "--out", text(&out), "--quiet"], &CPU[..]].concat());
    let model = out.join("model.safetensors");
    let lines = folder.path("new.txt");
    fs::write(&lines, "dull film\n\nfine good strange words\n").unwrap();
    let answers = said(&model, &[text(&lines), "--prompt", "Very good"]);
    let classes: Vec<&str> = answers.lines().map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(classes, ["class", "praise", "blame", "praise"], "{answers}");
    assert!(said(&model, &["--prompt", "bad", "--json"]).contains("\"class\":\"blame\""));
    no(&model, &["--prompt", "xyzzy"], &["text 1", "nothing that the model knows"]);
    no(&model, &["--prompt", "bad", "--seed", "1"], &["--seed"]);
}

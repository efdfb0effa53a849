//! Training that is killed and started again until it is done: the weights of a run that was not disturbed, to the last bit.
//!
//! Rows of `kills/table.rs` are trained by processes that are killed (SIGKILL on Unix) at random moments, and begun again with the same folder. A kill counts if a
//! checkpoint was there and the row was not done: only then the next process goes on from something. All kinds of optimizers, wrappers, schedules, samplers and
//! sources that the library's sources have must stand in two rows at least; a kind that is new fails the test until it has them.

#[path = "kills/by_hand.rs"]
mod by_hand;
#[path = "kills/kinds.rs"]
mod kinds;
mod support;
#[path = "kills/table.rs"]
mod table;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use support::{Folder, cpu};
use table::{Life, ROWS};
use unigrad_nn::{Archive, random::Rng};
use unigrad_train::{CHECKPOINT, Result};

/// What a process is told: its folder, its rows, and whether it saves checkpoints.
const FOLDER: &str = "UNIGRAD_TEST_KILLS_FOLDER";
const WHICH: &str = "UNIGRAD_TEST_KILLS_ROWS";
const SAVES: &str = "UNIGRAD_TEST_KILLS_SAVES";
/// What a process runs, by name.
const CHILD: &str = "trains_what_it_is_asked_to";
/// Kills of each row.
const KILLS: usize = 2;
/// Kills in all, of which the proof is made.
const AT_LEAST: usize = 100;
/// Processes that are killed at the same time.
const LANES: usize = 2;
/// Attempts to kill a row in time.
const TRIES: usize = 8;

fn folder_of(root: &Path, row: usize) -> PathBuf {
    root.join(format!("row-{row}"))
}

fn result_of(root: &Path, row: usize) -> PathBuf {
    folder_of(root, row).join("result.safetensors")
}

/// A process of the test below: trains rows one after the other, and tells each step.
#[test]
fn trains_what_it_is_asked_to() -> Result<()> {
    let Some(root) = std::env::var_os(FOLDER).map(PathBuf::from) else { return Ok(()) };
    let (device, _alone) = cpu();
    let saves = std::env::var_os(SAVES).is_some();
    for row in std::env::var(WHICH).unwrap().split(',').map(|row| row.parse::<usize>().unwrap()) {
        let result = result_of(&root, row);
        if result.exists() {
            continue;
        }
        println!("\n#row {row}");
        let life = Life { device, folder: folder_of(&root, row), saves };
        (ROWS[row].train)(&life)?.save(&result)?;
        println!("\n#done {row}");
    }
    Ok(())
}

/// This program as a process that trains some rows.
fn process(root: &Path, rows: &[usize], saves: bool) -> Command {
    let rows: Vec<String> = rows.iter().map(usize::to_string).collect();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([CHILD, "--exact", "--nocapture", "--test-threads=1"]).env(FOLDER, root).env(WHICH, rows.join(","));
    if saves {
        command.env(SAVES, "1");
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Trains the rows in processes that are killed; how often each was, with something saved and not done.
fn killed(root: &Path, rows: &[usize], seed: u64) -> Vec<(usize, usize)> {
    let mut counts: Vec<(usize, usize)> = rows.iter().map(|row| (*row, 0)).collect();
    let mut tries = vec![0; ROWS.len()];
    let mut rng = Rng::new(seed, 0);
    let errors = root.join(format!("errors-{seed}"));
    loop {
        let mut child = process(root, rows, true).stderr(fs::File::create(&errors).unwrap()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut line, mut row, mut seen, mut last) = (String::new(), usize::MAX, 0, Instant::now());
        // So many steps are let be; then a part of the next one or two.
        let mut wait = 1 + rng.below(4);
        let mut is_killed = false;
        while output.read_line(&mut line).unwrap() > 0 {
            if let Some(number) = line.trim().strip_prefix("#row ") {
                (row, seen) = (number.parse().unwrap(), 0);
                wait = 1 + rng.below(4);
            } else if line.trim() == "#step" {
                seen += 1;
                let (length, count) = (last.elapsed(), counts.iter().find(|(known, _)| *known == row).unwrap().1);
                if seen >= wait && count < KILLS && tries[row] < TRIES {
                    tries[row] += 1;
                    std::thread::sleep(length.min(Duration::from_millis(100)).mul_f64(1.5 * rng.uniform()));
                    child.kill().unwrap();
                    is_killed = true;
                    break;
                }
                last = Instant::now();
            }
            line.clear();
        }
        // Until the process is gone: it holds the pipe.
        std::io::copy(&mut output, &mut std::io::sink()).unwrap();
        let status = child.wait().unwrap();
        if !is_killed {
            assert!(status.success(), "row {row} ({}): {}", ROWS[row].text, fs::read_to_string(&errors).unwrap());
            return counts;
        }
        if folder_of(root, row).join(CHECKPOINT).exists() && !result_of(root, row).exists() {
            counts.iter_mut().filter(|(known, _)| *known == row).for_each(|(_, count)| *count += 1);
        }
    }
}

#[test]
fn killed_a_hundred_times_and_the_same_to_the_last_bit() {
    if std::env::var_os(FOLDER).is_some() {
        return;
    }
    let begin = Instant::now();
    let (whole, parts) = (Folder::new("kills-whole"), Folder::new("kills-parts"));
    [&whole, &parts].iter().for_each(|folder| fs::create_dir_all(&folder.0).unwrap());
    let all: Vec<usize> = (0..ROWS.len()).collect();
    let counts: Vec<(usize, usize)> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES)
            .map(|lane| {
                let rows: Vec<usize> = all.iter().copied().skip(lane).step_by(LANES).collect();
                let root = &parts.0;
                scope.spawn(move || killed(root, &rows, 1 + lane as u64))
            })
            .collect();
        // Without checkpoints, and never disturbed.
        let output = process(&whole.0, &all, false).stderr(Stdio::piped()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    let mut different = Vec::new();
    for row in all {
        let [wanted, got] = [&whole, &parts].map(|folder| Archive::load(result_of(&folder.0, row)).unwrap());
        assert!(!wanted.tensors.is_empty(), "{}", ROWS[row].text);
        if wanted != got {
            let which: Vec<&String> = wanted.tensors.iter().filter(|(name, t)| got.tensors.get(*name) != Some(t)).map(|(n, _)| n).collect();
            different.push(format!("row {row} ({}): {which:?}; figures alike: {}", ROWS[row].text, wanted.metadata == got.metadata));
        }
    }
    let kills: usize = counts.iter().map(|(_, count)| count).sum();
    let never: Vec<&str> = counts.iter().filter(|(_, count)| *count == 0).map(|(row, _)| ROWS[*row].text).collect();
    println!("{} rows, {kills} kills that left something to go on from, in {:?}; never killed: {never:?}", ROWS.len(), begin.elapsed());
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(kills >= AT_LEAST, "{kills} kills show too little");
}

#[test]
fn every_kind_stands_twice() {
    let texts: Vec<String> = ROWS.iter().map(|row| kinds::whole_text(row.text)).collect();
    let (kinds, mut missing) = (kinds::all(), Vec::new());
    assert!(kinds.len() > 80, "{} kinds: the sources are not read as they are written", kinds.len());
    for kind in &kinds {
        let n = texts.iter().filter(|text| kind.stands_in(text)).count();
        if n < 2 {
            missing.push(format!("{} ({}): in {n} rows, looked for as {:?}", kind.name, kind.place, kind.patterns));
        }
    }
    println!(
        "{} kinds in {} rows: {}",
        kinds.len(),
        ROWS.len(),
        kinds.iter().map(|kind| kind.name.as_str()).collect::<Vec<_>>().join(", ")
    );
    assert!(missing.is_empty(), "give these two rows of `kills/table.rs` each:\n{}", missing.join("\n"));
}

//! How often a comparison is right, by simulation: machines with noise of several kinds, programs that are alike, and programs of which one workload is
//! slower. A run has the settings of `unigrad bench --save`: 16 workloads, 24 blocks, 8 processes.

use unigrad_bench::{Block, Certainty, Comparison, Run, Series, Verdict, compare, compare_pairs};

const WORKLOADS: usize = 16;
const BLOCKS: usize = 24;
const SAMPLES: usize = 12;
const TRIES: usize = 60;

/// A generator with a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Student's t with 2 degrees of freedom: no variance.
    fn heavy(&mut self) -> f64 {
        let normal = self.normal();
        let chi = self.normal().powi(2) + self.normal().powi(2);
        normal / (chi / 2.0).sqrt()
    }
}

/// What a machine does to times. Logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Noise {
    /// Blocks and samples differ by 2 % each.
    Quiet,
    /// By 6 % each.
    Normal,
    /// By 3 %, without a variance.
    HeavyTails,
    /// The machine's speed walks at random from block to block, 4 % a step, through both runs.
    Walk,
    /// It gets slower all the time, by 1 % a block, through both runs.
    Drift,
    /// A block is in one of two states, a quarter apart, as a processor's clocks are; a state lasts some blocks.
    Bimodal,
    /// As before, but the reference does not see it, and each block is in a state of its own.
    OwnModes,
    /// Most samples are held up by other programs, for up to twice their time.
    Busy,
    /// Each process has luck of its own with where its memory lies: 2 % for each workload; a process measures three blocks.
    Processes,
}

const ALL: [Noise; 9] = [
    Noise::Quiet,
    Noise::Processes,
    Noise::Normal,
    Noise::HeavyTails,
    Noise::Walk,
    Noise::Drift,
    Noise::Bimodal,
    Noise::OwnModes,
    Noise::Busy,
];

/// A machine over time.
struct Machine {
    noise: Noise,
    random: Random,
    walk: f64,
    blocks: usize,
    slow: bool,
    /// Of the process that measures now; the sides of a comparison have one each.
    luck: [[f64; WORKLOADS]; 2],
}

impl Machine {
    fn new(noise: Noise, seed: u64) -> Machine {
        Machine { noise, random: Random(seed), walk: 0.0, blocks: 0, slow: false, luck: [[0.0; WORKLOADS]; 2] }
    }

    /// A round of blocks, one of each workload, which take `ms` of their own.
    fn round(&mut self, side: usize, number: usize, ms: &[f64; WORKLOADS]) -> Vec<Block> {
        let r = &mut self.random;
        if self.noise == Noise::Processes && number.is_multiple_of(3) {
            self.luck[side] = std::array::from_fn(|_| 0.02 * r.normal());
        }
        let luck = self.luck[side];
        self.blocks += 1;
        self.walk += 0.04 * r.normal();
        self.slow = if r.uniform() < 0.3 { r.uniform() < 0.4 } else { self.slow };
        let all = match self.noise {
            Noise::Walk => self.walk,
            Noise::Drift => 0.01 * self.blocks as f64,
            Noise::Bimodal => f64::from(u8::from(self.slow)) * 1.25f64.ln(),
            _ => 0.0,
        };
        ms.iter()
            .zip(luck)
            .map(|(ms, luck)| {
                let own = luck
                    + match self.noise {
                        Noise::Quiet => 0.02 * r.normal(),
                        Noise::Normal => 0.06 * r.normal(),
                        Noise::HeavyTails => 0.03 * r.heavy(),
                        Noise::OwnModes => f64::from(u8::from(r.uniform() < 0.4)) * 1.25f64.ln(),
                        _ => 0.015 * r.normal(),
                    };
                let mut sample = |scale: f64| {
                    let noise = match self.noise {
                        Noise::Normal => 0.06 * r.normal(),
                        Noise::HeavyTails => 0.03 * r.heavy(),
                        Noise::Busy if r.uniform() < 0.6 => (1.0 + 2.0 * r.uniform()).ln(),
                        _ => 0.02 * r.normal(),
                    };
                    scale * (all + noise).exp()
                };
                Block {
                    samples: (0..SAMPLES).map(|_| sample(ms * own.exp())).collect(),
                    reference: (0..10).map(|_| sample(1.0)).collect(),
                    ..Block::default()
                }
            })
            .collect()
    }
}

fn run(rounds: Vec<Vec<Block>>) -> Run {
    let mut series: Vec<Series> = (0..WORKLOADS).map(|i| Series { name: format!("w{i}"), blocks: Vec::new() }).collect();
    for round in rounds {
        series.iter_mut().zip(round).for_each(|(series, block)| series.blocks.push(block));
    }
    Run { series, ..Run::default() }
}

/// The program before, and now: one of its workloads takes `factor` as long.
fn times(factor: f64) -> [[f64; WORKLOADS]; 2] {
    let before: [f64; WORKLOADS] = std::array::from_fn(|i| 0.3 * (i + 1) as f64);
    let mut now = before;
    now[3] *= factor;
    [before, now]
}

fn one_after_the_other(noise: Noise, factor: f64, seed: u64) -> Comparison {
    let mut machine = Machine::new(noise, seed);
    let [before, now] = times(factor).map(|ms| run((0..BLOCKS).map(|number| machine.round(0, number, &ms)).collect()));
    compare(&before, &now, Certainty::default())
}

fn in_turns(noise: Noise, factor: f64, seed: u64) -> Comparison {
    let mut machine = Machine::new(noise, seed);
    let ms = times(factor);
    let mut rounds = [Vec::new(), Vec::new()];
    for block in 0..BLOCKS {
        let order = if block % 2 == 0 { [0, 1] } else { [1, 0] };
        order.into_iter().for_each(|side: usize| rounds[side].push(machine.round(side, block, &ms[side])));
    }
    let [before, now] = rounds.map(run);
    compare_pairs(&before, &now, Certainty::default())
}

type Way = (&'static str, fn(Noise, f64, u64) -> Comparison);
const WAYS: [Way; 2] = [("one after the other", one_after_the_other), ("in turns", in_turns)];

fn is_slower(comparison: &Comparison) -> bool {
    comparison.changes[3].verdict == Verdict::Slower
}

#[test]
fn a_program_is_not_slower_than_itself() {
    for (way, measure) in WAYS {
        for noise in ALL {
            let wrong = (0..TRIES).filter(|seed| measure(noise, 1.0, *seed as u64).slower().next().is_some()).count();
            println!("{way}, {noise:?}: {wrong} of {TRIES} say slower");
            assert!(wrong * 20 <= TRIES, "{way}, {noise:?}: {wrong} of {TRIES} say that a program is slower than itself");
        }
    }
}

#[test]
fn thirty_percent_are_found_or_said_to_be_hidden() {
    for (way, measure) in WAYS {
        for noise in ALL {
            let tries: Vec<Comparison> = (0..TRIES).map(|seed| measure(noise, 1.3, 1000 + seed as u64)).collect();
            let found = tries.iter().filter(|comparison| is_slower(comparison)).count();
            let hidden = tries.iter().filter(|comparison| comparison.changes[3].detectable > 0.3).count();
            println!("{way}, {noise:?}: 30 % found in {found} of {TRIES}, said to be hidden in {hidden}");
            // Where a comparison says that it would have seen 30 %, it did.
            let missed = tries.iter().filter(|comparison| !is_slower(comparison) && comparison.changes[3].detectable <= 0.3).count();
            assert!(missed * 20 <= TRIES, "{way}, {noise:?}: {missed} of {TRIES} missed");
            // The walk of a machine by more than 30 % in a run hides them from runs of different times, and from nothing else.
            let must = noise != Noise::Walk || way == "in turns";
            assert!(!must || found * 20 >= TRIES * 19, "{way}, {noise:?}: found in {found} of {TRIES}");
        }
    }
}

#[test]
fn ten_percent_are_found_where_both_runs_are_quiet() {
    for (way, measure) in WAYS {
        let tries: Vec<Comparison> = (0..TRIES).map(|seed| measure(Noise::Quiet, 1.1, 2000 + seed as u64)).collect();
        let quiet: Vec<&Comparison> = tries.iter().filter(|c| c.changes[3].spread.0.max(c.changes[3].spread.1) < 0.03).collect();
        let found = quiet.iter().filter(|comparison| is_slower(comparison)).count();
        println!("{way}: 10 % found in {found} of {} with a spread below 3 %", quiet.len());
        assert!(quiet.len() * 2 > TRIES && found * 20 >= quiet.len() * 19, "{way}: {found} of {}", quiet.len());
    }
}

#[test]
fn what_became_faster_is_told_and_is_no_slowdown() {
    let comparison = in_turns(Noise::Quiet, 0.7, 7);
    assert_eq!(comparison.changes[3].verdict, Verdict::Faster);
    assert_eq!(comparison.slower().count(), 0);
    let text = comparison.to_string();
    assert!(text.contains("w3") && text.contains("faster"), "{text}");
}

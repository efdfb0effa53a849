//! A row: what it does, what it needs, and what was measured of it.

use super::ceilings::Ceilings;
use crate::{case::Case, record::Environment};
use unigrad_device::Device;
use unigrad_tensor::Result;

/// In what the products of a row are computed: which ceiling they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// `f32`.
    F32,
    /// `f32` whose factors may be rounded to TF32.
    Tf32,
    /// `bf16`, with sums in `f32`.
    Bf16,
    /// 8-bit floats, within `bf16`.
    Fp8,
}

impl Precision {
    pub(super) const ALL: [Precision; 4] = [Precision::F32, Precision::Tf32, Precision::Bf16, Precision::Fp8];

    /// As rows' names spell it.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Tf32 => "tf32",
            Precision::Bf16 => "bf16",
            Precision::Fp8 => "fp8",
        }
    }
}

type Prepare = Box<dyn Fn(&Device) -> Result<Case>>;

/// A row at one size.
pub(super) struct SizedRow {
    /// Bytes of the device's memory that it takes, roughly.
    pub(super) memory: f64,
    /// Operations of a step, and bytes that it must move; 0 where not known.
    pub(super) flops: f64,
    pub(super) bytes: f64,
    pub(super) items: (f64, &'static str),
    pub(super) precision: Precision,
    pub(super) note: String,
    pub(super) prepare: Prepare,
}

/// A row at any size.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) section: &'static str,
    /// It can be made smaller by powers of two up to this.
    pub(super) most: usize,
    pub(super) sized: Box<dyn Fn(usize) -> SizedRow>,
}

/// What bounds a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Bytes by the memory's rate.
    Memory,
    /// Operations by the rate of products.
    Products(Precision),
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bound::Memory => write!(f, "memory"),
            Bound::Products(precision) => write!(f, "{} products", precision.name()),
        }
    }
}

impl SizedRow {
    /// The least milliseconds that a step can take, and why; `None` where nothing is known.
    pub(super) fn least_ms(&self, ceilings: &Ceilings) -> Option<(f64, Bound)> {
        least_ms(self.flops, self.bytes, self.precision, ceilings)
    }
}

fn least_ms(flops: f64, bytes: f64, precision: Precision, ceilings: &Ceilings) -> Option<(f64, Bound)> {
    let ms = |work: f64, giga: f64| (work > 0.0 && giga > 0.0).then(|| work / giga / 1e6);
    let by_memory = ms(bytes, ceilings.gb_per_s()).map(|ms| (ms, Bound::Memory));
    let by_products = ms(flops, ceilings.gflop_per_s(precision)).map(|ms| (ms, Bound::Products(precision)));
    [by_memory, by_products].into_iter().flatten().max_by(|a, b| a.0.total_cmp(&b.0))
}

/// What was measured of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Milliseconds of a step where steps follow each other and the host waits once for many: the median of rounds.
    pub ms: f64,
    /// Where the host waits after every step: the median.
    pub waited_ms: f64,
    /// The fastest of those.
    pub min_ms: f64,
    /// Steps that were waited for.
    pub reps: usize,
    /// Milliseconds of its launches together, by the device's clock (where it has none, by the host's).
    pub device_ms: Option<f64>,
    /// Seconds from the process's start to the end of the first step, kernels from the user's cache or, where the run asked for cold ones, from the cache that the
    /// cold process filled.
    pub first_s: f64,
    /// The same with an empty cache of kernels.
    pub cold_s: Option<f64>,
    /// The most memory that the steps had allocated, all tensors included.
    pub peak_bytes: u64,
    /// Watts that the device drew during the steps, where it tells.
    pub watts: Option<f64>,
    /// Cores that other processes used meanwhile.
    pub others: f64,
    /// Losses and such.
    pub note: String,
}

/// How a row ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was measured.
    Measured(Measured),
    /// It does not fit the device: why.
    Skipped(String),
    /// It failed: why.
    Failed(String),
}

/// A row of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RowResult {
    /// Its name.
    pub name: String,
    /// Its section's name.
    pub section: String,
    /// Its size.
    pub size: String,
    /// How many times it was made smaller to fit the device; 1 where it was not.
    pub divisor: usize,
    /// Operations of a step, and bytes that it must move; 0 where not known.
    pub flops: f64,
    /// See `flops`.
    pub bytes: f64,
    /// Things that a step does, and what they are called.
    pub items: f64,
    /// See `items`.
    pub item: String,
    /// In what its products are computed.
    pub precision: Precision,
    /// What came of it.
    pub outcome: Outcome,
}

impl RowResult {
    /// What was measured, if it was.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Measured(measured) => Some(measured),
            Outcome::Skipped(_) | Outcome::Failed(_) => None,
        }
    }

    /// The part of the ceiling that was reached, and which ceiling it is: the least time that the ceilings allow, divided by the time.
    pub fn fraction(&self, ceilings: &Ceilings) -> Option<(f64, Bound)> {
        let measured = self.measured().filter(|measured| measured.ms > 0.0)?;
        let (least, bound) = least_ms(self.flops, self.bytes, self.precision, ceilings)?;
        Some((least / measured.ms, bound))
    }

    /// What a second does, and its unit.
    pub fn rate(&self) -> Option<(f64, String)> {
        let measured = self.measured().filter(|measured| measured.ms > 0.0)?;
        let per_second = |n: f64| n / (measured.ms * 1e-3);
        Some(match self.item.as_str() {
            "flops" => (per_second(self.flops) / 1e12, "TFLOP/s".to_owned()),
            "bytes" => (per_second(self.bytes) / 1e9, "GB/s".to_owned()),
            item => (per_second(self.items), format!("{item}/s")),
        })
    }

    /// Joules of a step, from watts and time.
    pub fn joules(&self) -> Option<f64> {
        let measured = self.measured()?;
        measured.watts.map(|watts| watts * measured.ms * 1e-3)
    }
}

/// A run of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Where.
    pub environment: Environment,
    /// When it began: `2026-01-31 12:00 UTC`.
    pub date: String,
    /// What the device does at most.
    pub ceilings: Ceilings,
    /// Each row.
    pub rows: Vec<RowResult>,
}

impl Table {
    /// Rows that failed.
    pub fn failed(&self) -> impl Iterator<Item = &RowResult> {
        self.rows.iter().filter(|row| matches!(row.outcome, Outcome::Failed(_)))
    }
}

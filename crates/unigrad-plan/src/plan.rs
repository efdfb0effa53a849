//! The plan: launches with places for arguments, as data and as text.

use crate::build::Built;
use crate::capture::Capture;
use crate::chunks::Apart;
use crate::commit::ScalarCheck;
use crate::ir::{Id, Ir, IrNode, IrOp};
use crate::limit::{Placed, laid_out};
use crate::lower::Launch;
use crate::memory::{BufferPlace, Layout};
use crate::peak::{self, Peak};
use crate::permutes::{self, Sunk};
use crate::{bases, build, copies, cross, fuse, group, in_place, join, lower, physical, relayout, step_sums, sum, transpose};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::fmt;
use unigrad_graph::{Op, Origin};
use unigrad_kernel::{Arg, AttentionGrad, Channels, Kernel, Library, Limits, Region};
use unigrad_scalar::DType;

/// What changes how a graph is compiled. Part of a plan's key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// Whether ops share kernels. Off: every op is its own launch, the oracle for fusion's tests.
    pub fusion: bool,
    /// What one launch of the device can pass.
    pub limits: Limits,
    /// What a value may cost, in additions per element, to be computed again by each kernel that reads it rather than stored.
    pub recompute: usize,
    /// Whether launches that need nothing of each other are joined into one.
    pub joins: bool,
    /// Whether an index out of range ends the evaluation at its launch: then nothing that can still be asked for is overwritten before.
    pub errors_at_once: bool,
    /// Whether sums down the columns of what rows are made of go with the rows.
    pub crossed: bool,
    /// Whether sums of a product's operand go with the product.
    pub summed: bool,
    /// Whether products of `F32` may round their operands to TF32.
    pub tf32: bool,
    /// The device's library of products, if it has one.
    pub library: Option<Library>,
    /// Where convolutions have their channels in memory.
    pub channels: Channels,
    /// Most bytes of the arena, if it can be: wide rows are made by chunks, and what is kept for later launches is made again instead.
    pub arena: Option<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fusion: true,
            limits: Limits::NONE,
            recompute: 3,
            joins: false,
            crossed: false,
            summed: false,
            errors_at_once: false,
            tf32: false,
            library: None,
            channels: Channels::First,
            arena: None,
        }
    }
}

/// One launch of a plan.
#[derive(Clone, Debug)]
pub struct PlannedLaunch {
    /// What runs.
    pub kernel: Kernel,
    /// Where each argument is.
    pub args: Vec<BufferPlace>,
    /// Which of the capture's scalars each kernel scalar is.
    pub scalars: Vec<u32>,
    /// What it computes.
    pub name: String,
    /// Where the user wrote it.
    pub origin: Origin,
    /// Outputs that take the memory of an input over here, by position.
    pub overwrites: Vec<u32>,
    /// Memory that it is the first to write, in bytes: what is there before has no owner any more.
    pub begins: Vec<(BufferPlace, usize)>,
}

/// How to compute the outputs of a capture.
#[derive(Clone, Debug)]
pub struct Plan {
    /// In order.
    pub launches: Vec<PlannedLaunch>,
    /// Bytes of the arena for intermediates.
    pub arena: usize,
    /// Where most of the arena is in use, and by what.
    pub peak: Peak,
    /// Launches that run again, so that the arena stays within a limit.
    pub again: usize,
    /// Chunks of rows by which the widest values are made, so that the arena stays within a limit; 0 where all rows are made at once.
    pub chunks: usize,
    /// For every output of the capture: the output whose memory it is (its own position, unless two are one value).
    pub outputs: Vec<u32>,
    /// For every output: the input whose memory it takes over. Where that cannot be, the output's memory begins as a copy of the input.
    pub donated: Vec<Option<u32>>,
    /// Run-time scalars that must be in range for the plan to run.
    pub checks: Vec<ScalarCheck>,
    /// Why the plan is not fused although that was wanted: a gap of the compiler, which costs time but changes no value.
    pub unfused_because: Option<String>,
}

/// Compiles a capture. What cannot be lowered in its fused form is compiled without fusion.
pub fn plan(capture: &Capture, options: Options) -> Result<Plan, String> {
    if capture.is_named() {
        return plan(&physical::physical(capture)?, options);
    }
    #[cfg(any(test, feature = "testing"))]
    crate::testing::observe(capture, options);
    match attempt(capture, options) {
        Err(reason) if options.fusion => match attempt(capture, Options { fusion: false, ..options }) {
            Ok(plan) => Ok(Plan { unfused_because: Some(reason), ..plan }),
            Err(_) => Err(reason),
        },
        fused => fused,
    }
}

/// A plan as it is before anything has a place in memory.
pub(crate) struct Unplaced {
    pub(crate) ir: Ir,
    /// The node of every output.
    pub(crate) outputs: Vec<Id>,
    /// For every output, the input whose contents it replaces, if it is an assignment over one.
    pub(crate) replaced: Vec<Option<u32>>,
    pub(crate) checks: Vec<ScalarCheck>,
    pub(crate) launches: Vec<Launch>,
}

pub(crate) fn unplaced(capture: &Capture, options: Options) -> Result<Unplaced, String> {
    let Built { ir, mut outputs, replaced, checks, turns } = build::build(capture, options)?;
    let Sunk { ir, results, turned_back } = permutes::rewrite(ir, &mut outputs, &turns);
    // Unless it is asked for whatever it costs.
    if turned_back > results / 2 && options.channels != Channels::Last {
        return unplaced(capture, Options { channels: Channels::First, ..options });
    }
    let mut ir = prune(ir, &mut outputs);
    if options.fusion {
        ir = step_sums::rewrite(ir, &mut outputs);
        ir = prune(ir, &mut outputs);
        ir = transpose::rewrite(ir, &mut outputs);
        ir = prune(ir, &mut outputs);
    }
    let launches = launches_of(&ir, &outputs, &Apart::default(), options)?;
    Ok(Unplaced { ir, outputs, replaced, checks, launches })
}

/// Kernels for a graph, in an order in which they can run.
pub(crate) fn launches_of(ir: &Ir, outputs: &[Id], apart: &Apart, options: Options) -> Result<Vec<Launch>, String> {
    let wanted: FxHashSet<u32> = outputs.iter().copied().collect();
    let fused = fuse::fuse(ir, &wanted, apart, options)?;
    let mut launches = lower::lower(ir, &fused, options)?;
    for launch in &mut launches {
        if let Kernel::Contract(contract) = &mut launch.kernel {
            contract.tf32 =
                options.tf32 && [contract.a.dtype, contract.b.dtype].contains(&DType::F32) && contract.compute_dtype() == DType::F32;
        } else if let Kernel::Attention(kernel) | Kernel::AttentionGrad(AttentionGrad { forward: kernel, .. }) = &mut launch.kernel {
            kernel.tf32 = options.tf32 && kernel.dtype == DType::F32;
        }
    }
    if options.fusion {
        relayout::rewrite(&mut launches, &wanted)?;
        copies::rewrite(&mut launches, &wanted, options.limits.shares)?;
    }
    // A chunk's rows wait for nothing.
    let small = if apart.chunk_of.is_empty() { group::SMALL } else { 0 };
    if !options.fusion {
        return Ok(launches);
    }
    let launches = group::group(launches, small)?;
    let launches = if options.joins { join::join(launches, small) } else { launches };
    let launches = if options.crossed { cross::cross(launches) } else { launches };
    Ok(if options.summed { sum::sum(launches, options) } else { launches })
}

pub(crate) fn attempt(capture: &Capture, options: Options) -> Result<Plan, String> {
    let Placed { unplaced, layout, again, chunks } = laid_out(unplaced(capture, options)?, &capture.donatable, options)?;
    let Unplaced { ir, outputs, checks, launches, .. } = unplaced;
    let mut planned = place(&ir, &launches, &layout)?;
    bases::rewrite(&mut planned);
    let peak = peak::of(&ir, &launches, &outputs, &layout)?;
    let mut first_of: FxHashMap<u32, u32> = FxHashMap::default();
    let outputs = outputs.iter().enumerate().map(|(at, id)| *first_of.entry(*id).or_insert(at as u32)).collect();
    let (arena, donated) = (layout.arena, layout.donated);
    Ok(Plan { launches: planned, arena, peak, again, chunks, outputs, donated, checks, unfused_because: None })
}

/// The launches with a place for every argument, without those that would only copy what lies where it is wanted.
pub(crate) fn place(ir: &Ir, launches: &[Launch], layout: &Layout) -> Result<Vec<PlannedLaunch>, String> {
    let place = |id: u32| layout.place.get(&id).copied().ok_or_else(|| ir.impossible(id, "it has no place in memory"));
    let (mut begun, mut overwritten): (FxHashSet<u32>, FxHashSet<u32>) = Default::default();
    let heirs = layout.donated.iter().enumerate().filter_map(|(output, input)| Some(((*input)?, output as u32))).collect();
    let mut planned = Vec::with_capacity(launches.len());
    for (launch, needless) in launches.iter().zip(&layout.needless) {
        let (mut begins, mut overwrites) = (Vec::new(), Vec::new());
        // By place: what the launch reads there.
        let mut reads: FxHashMap<BufferPlace, SmallVec<[u32; 1]>> = FxHashMap::default();
        for id in group::reads(launch) {
            if let Some(at) = layout.place.get(&id) {
                reads.entry(*at).or_default().push(id);
            }
        }
        for id in group::writes(launch) {
            let is_first = begun.insert(id);
            let at = place(id)?;
            match at {
                BufferPlace::External(_) => return Err(ir.impossible(id, "a launch writes an input")),
                BufferPlace::Output(output) if layout.donated[output as usize].is_some() => {
                    overwrites.extend((!needless && overwritten.insert(output)).then_some(output));
                    continue;
                }
                // It takes the place of what the launch reads there.
                BufferPlace::Arena(_) if reads.get(&at).is_some_and(|reads| reads.iter().any(|read| *read != id)) => continue,
                BufferPlace::Output(_) | BufferPlace::Arena(_) => {}
            }
            if is_first && !needless {
                begins.push((at, ir.bytes(id)?));
            }
        }
        if *needless {
            continue;
        }
        let mut launch = PlannedLaunch {
            kernel: launch.kernel.clone(),
            args: launch.args.iter().map(|id| place(*id)).collect::<Result<_, String>>()?,
            scalars: launch.scalars.clone(),
            name: launch.name.clone(),
            origin: launch.origin,
            overwrites,
            begins,
        };
        in_place::unite(&mut launch, &heirs);
        planned.push(launch);
    }
    Ok(planned)
}

/// Drops nodes that no output needs; rewriting leaves some behind.
fn prune(ir: Ir, outputs: &mut [u32]) -> Ir {
    let mut needed = vec![false; ir.nodes.len()];
    outputs.iter().for_each(|id| needed[*id as usize] = true);
    for (id, node) in ir.nodes.iter().enumerate().rev() {
        if needed[id] {
            node.inputs.iter().for_each(|input| needed[*input as usize] = true);
        }
    }
    for (id, node) in ir.nodes.iter().enumerate() {
        // A kernel with several parts writes them all.
        if matches!(node.op, IrOp::Op(Op::Part(_))) && needed[node.inputs[0] as usize] {
            needed[id] = true;
        }
    }
    if needed.iter().all(|needed| *needed) {
        return ir;
    }
    let mut renamed = vec![0u32; needed.len()];
    let mut kept = Ir::default();
    for (id, node) in ir.nodes.into_iter().enumerate().filter(|(id, _)| needed[*id]) {
        renamed[id] = kept.nodes.len() as u32;
        let inputs = node.inputs.iter().map(|input| renamed[*input as usize]).collect();
        kept.nodes.push(IrNode { inputs, ..node });
    }
    outputs.iter_mut().for_each(|id| *id = renamed[*id as usize]);
    kept
}

pub(crate) fn bytes(bytes: f64) -> String {
    match bytes {
        b if b >= 1e9 => format!("{:.2} GB", b / 1e9),
        b if b >= 1e6 => format!("{:.2} MB", b / 1e6),
        b if b >= 1e3 => format!("{:.1} kB", b / 1e3),
        b => format!("{b:.0} B"),
    }
}

/// As floats, for they may be beyond all memory; from 0.0, for an empty sum of floats is -0.0.
fn as_float(bytes: impl Iterator<Item = usize>) -> f64 {
    bytes.fold(0.0, |sum, bytes| sum + bytes as f64)
}

/// Bytes that a region reads, or writes.
fn region_traffic(region: &Region, write: bool) -> f64 {
    let args = region.args.iter().enumerate().filter(|(_, arg)| arg.write == write);
    as_float(args.map(|(at, _)| region.touched_bytes(at)))
}

impl PlannedLaunch {
    /// Bytes read and written, each element once.
    pub fn traffic(&self) -> (f64, f64) {
        let all = |write: bool| as_float(self.kernel.args().iter().filter(|a| a.write == write).map(Arg::bytes));
        if let Kernel::Region(region) = &self.kernel {
            return (region_traffic(region, false), region_traffic(region, true));
        }
        (all(false), all(true))
    }

    /// The extents that matter, for the plan's text.
    pub fn extents(&self) -> String {
        let join = |sizes: &[usize]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        match &self.kernel {
            Kernel::Region(r) if r.n_parallel < r.axes.len() => {
                format!("{} / {}", join(&r.axes[..r.n_parallel]), join(&r.axes[r.n_parallel..]))
            }
            Kernel::Region(r) => join(&r.axes),
            Kernel::Grouped(g) => format!("{} of {}", g.lens.len(), g.lens.iter().sum::<usize>()),
            Kernel::Joined(joined) => format!("{} parts", joined.parts.len()),
            Kernel::Crossed(crossed) => format!("{} / {} and {} down", crossed.rows.rows(), crossed.rows.row_len(), crossed.columns.len()),
            Kernel::Contract(c) if c.batch_len() == 1 => format!("{}x{}x{}", c.m_len(), c.n_len(), c.k_len()),
            Kernel::Contract(c) => format!("{} of {}x{}x{}", c.batch_len(), c.m_len(), c.n_len(), c.k_len()),
            Kernel::Summed(unigrad_kernel::Summed { product: c, sums }) => {
                format!("{}x{}x{} and {} sums", c.m_len(), c.n_len(), c.k_len(), sums.region.rows())
            }
            Kernel::Attention(a) | Kernel::AttentionGrad(unigrad_kernel::AttentionGrad { forward: a, .. }) => {
                format!("{}x{}x{}x{}", a.batch, a.heads, a.q_len, a.k_len)
            }
            Kernel::Scan(_) | Kernel::Scatter(_) | Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => {
                self.kernel.args().last().map_or_else(|| "-".to_owned(), |a| a.len.to_string())
            }
        }
    }

    /// One aligned line: kind, name, extents, traffic, and the user's line.
    pub fn line(&self) -> String {
        let (read, write) = self.traffic();
        let path = self.origin.file();
        let file = path.rsplit_once(['/', '\\']).map_or(path, |(_, file)| file);
        let dtype = self.kernel.args().last().map_or("", |a| a.dtype.name());
        let name: String = self.name.chars().take(34).collect();
        format!(
            "{:<14} {name:<34} {:<24} {dtype:<4} read {:>9}  write {:>9}  {file}:{}",
            self.kernel.kind(),
            self.extents(),
            bytes(read),
            bytes(write),
            self.origin.line(),
        )
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, launch) in self.launches.iter().enumerate() {
            writeln!(f, "{:>4}  {}", i + 1, launch.line())?;
        }
        if let Some(reason) = &self.unfused_because {
            writeln!(f, "      not fused: {reason}")?;
        }
        if self.chunks > 0 {
            writeln!(f, "      wide rows in {} chunks to save memory", self.chunks)?;
        }
        if self.again > 0 {
            writeln!(f, "      {} launches run again to save memory", self.again)?;
        }
        let in_place = self.donated.iter().flatten().count();
        let arena = bytes(self.arena as f64);
        write!(f, "      {} launches, arena {arena}, {} outputs, {in_place} of them in place", self.launches.len(), self.outputs.len())
    }
}

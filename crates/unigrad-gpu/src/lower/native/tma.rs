//! Products on NVIDIA Hopper whose operands its tensor memory accelerator (TMA) brings: halves, and `F32`, rounded to TF32 or not.
//!
//! Two warpgroups multiply, and a thread beside them asks for boxes of both operands, stage after stage; a pair of barriers in shared memory for each stage says that
//! it is there, and that it may be written again. Workgroups are as many as compute units have room for, and take tile after tile: while one works on its sums, stages of the
//! next tile are on their way.
//!
//! A stage holds 128 bytes of `k` of both operands, in the layout of 128-byte swizzles: line `x` has 128 bytes at `128 x`, whose 16-byte pieces are exchanged by XOR with `x % 8`.
//! Where an operand runs along `k`, lines are lanes; else blocks of as many lanes as a line has elements have a line for each `k`. Instructions of halves read both. Those of TF32 want
//! shared memory along `k`, but take their first operand from registers: one that runs along its lanes is loaded there ([`Way::Registers`]), four lanes at once, in an order in which
//! the eight threads of a load never meet in a bank.
//!
//! Where TF32 is not allowed, threads multiply `F32` themselves ([`Way::Threads`]): each has 16 rows and 8 (or 4) columns of a warp's 64 by 64 (or 32), four `k` at a time. What eight threads load at once lies
//! in different banks: rows of an operand along `k` are neighbouring threads', four columns of one thread are loaded in an order that is turned from pair to pair of threads.
//!
//! The instructions: <https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-instructions>,
//! <https://docs.nvidia.com/cuda/parallel-thread-execution/#data-movement-and-conversion-instructions-cp-async-bulk-tensor>.
//!
//! Always: where TF32 is allowed, `F32` is rounded to nearest, ties to even, by the accelerator; sums are in `F32`, in an order that sizes alone decide. What lies beyond the operands is zero.

use super::attention::raw;
use super::wgmma::MATRIX;
use std::fmt::Write;
use unigrad_ir::{Dialect, MapDim, Place, Raw, Target, TensorMap, Value};
use unigrad_scalar::DType;

/// Threads that multiply: two warpgroups.
pub(in crate::lower) const MULTIPLIERS: u32 = 256;
/// Threads beside them: a warpgroup, which leaves its registers to the others, or a warp, where the registers of two workgroups have to suffice as they are.
const PRODUCERS: u32 = 128;
const PRODUCERS_OF_TWO: u32 = 32;
/// Bytes of a line, of a stage's barriers, and what swizzles need stages aligned to.
const LINE: u32 = 128;
const BARRIERS: u32 = 16;
const ALIGNMENT: u32 = 1024;
/// Warps that say that they have read a stage.
const READERS: u32 = MULTIPLIERS / 32;
/// Lanes of halves in 16 bytes, which a thread adds up at once.
pub(in crate::lower) const RUN: u32 = 8;
/// Dimensions of a tensor map at most.
const MOST_DIMS: usize = 5;
/// Indices of a box at most.
const MOST_BOX: u32 = 256;

/// Whether a target has these instructions.
pub(in crate::lower) fn available(target: &Target) -> bool {
    super::wgmma::available(target) && target.tensor_maps() && target.max_threads >= MULTIPLIERS + PRODUCERS
}

/// Elements of `k` in a stage.
pub(in crate::lower) fn depth(dtype: DType) -> u32 {
    LINE / dtype.size() as u32
}

type Dims = Vec<(u64, i64)>;

/// An operand of the loop.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::lower) struct Operand {
    pub(in crate::lower) dtype: DType,
    /// Whether neighbours along `k` are neighbours in memory; else neighbouring lanes are.
    pub(in crate::lower) k_major: bool,
    /// Lanes of a tile.
    pub(in crate::lower) tile: u32,
    /// Elements before the first.
    pub(in crate::lower) offset: u64,
    /// Dimensions of lanes, of `k` and of the batch, outermost first: size, and elements from one to the next.
    pub(in crate::lower) lanes: Dims,
    pub(in crate::lower) k: Dims,
    pub(in crate::lower) batch: Dims,
}

impl Operand {
    /// Lanes of a box.
    fn lanes_boxed(&self) -> u32 {
        if self.k_major { self.tile.min(MOST_BOX) } else { depth(self.dtype) }
    }

    /// How its memory is described, rounded to TF32 or not; `None` if it has too many dimensions, or boxes that go from one index of an outer dimension to the next.
    fn map(&self, rounded: bool) -> Option<TensorMap> {
        let depth = depth(self.dtype);
        let run = |dims: &Dims, boxed: u32| -> Option<(MapDim, Vec<MapDim>)> {
            let ((size, stride), outer) = dims.split_last()?;
            if !outer.is_empty() && !size.is_multiple_of(boxed.into()) {
                return None;
            }
            let dim =
                |size: u64, stride: i64, boxed: u32| Some(MapDim { size, stride: u64::try_from(stride).ok().filter(|by| *by > 0)?, boxed });
            let outer = outer.iter().rev().map(|(size, stride)| dim(*size, *stride, 1)).collect::<Option<_>>()?;
            Some((dim(*size, *stride, boxed)?, outer))
        };
        let (lanes, outer_lanes) = run(&self.lanes, self.lanes_boxed())?;
        let (k, outer_k) = run(&self.k, depth)?;
        // Items of a batch that share memory need no dimension.
        let batch: Vec<(u64, i64)> = self.batch.iter().rev().filter(|(_, stride)| *stride != 0).copied().collect();
        let batch = batch.into_iter().map(|(size, stride)| Some(MapDim { size, stride: u64::try_from(stride).ok()?, boxed: 1 }));
        let inner = if self.k_major { [k, lanes] } else { [lanes, k] };
        let all = inner.into_iter().chain(outer_lanes).chain(outer_k).map(Some).chain(batch).collect::<Option<Vec<_>>>()?;
        let fits = all.len() <= MOST_DIMS && all.iter().all(|dim| dim.size <= 1 << 32 && dim.stride.saturating_mul(8) < 1 << 40);
        fits.then_some(TensorMap { param: 0, offset: self.offset, rounded, dims: all })
    }

    /// Where a box is that begins with these numbers, as a list in C.
    fn corner(&self, lane: &str, k: &str, batch: &str) -> String {
        let (mut lanes, mut ks) = (indices(&self.lanes, lane), indices(&self.k, k));
        let items = indices(&self.batch, batch)
            .into_iter()
            .zip(self.batch.iter().rev())
            .filter(|(_, (_, stride))| *stride != 0)
            .map(|(index, _)| index);
        let (lane, k) = (lanes.remove(0), ks.remove(0));
        let inner = if self.k_major { [k, lane] } else { [lane, k] };
        inner.into_iter().chain(lanes).chain(ks).chain(items).collect::<Vec<_>>().join(", ")
    }

    fn n_dims(&self) -> usize {
        self.lanes.len() + self.k.len() + self.batch.iter().filter(|(_, stride)| *stride != 0).count()
    }

    /// Asks for a stage's boxes. `lane` and `batch` are numbers, `k_at` the first of the stage's `k`.
    fn ask(&self, map: u32, at: u32, lane: &str, batch: &str) -> String {
        let (lanes, function) = (self.lanes_boxed(), format!("ug_tma_{}", self.n_dims()));
        (0..self.tile / lanes)
            .map(|i| {
                let corner = self.corner(&format!("({lane} + {}u)", i * lanes), "k_at", batch);
                // A block of lanes has a line for each.
                let to = at + i * lanes * LINE;
                format!("    {function}(smem + at + {to}u, &ug_map{map}, there, {corner});\n")
            })
            .collect()
    }
}

/// The indices of number `x`, innermost first, as C.
fn indices(dims: &Dims, x: &str) -> Vec<String> {
    let mut below = 1u64;
    let each = |(at, (size, _)): (usize, &(u64, i64))| {
        let index = match (at, below) {
            (0, 1) => x.to_owned(),
            (0, below) => format!("{x} / {below}u"),
            (_, below) => format!("{x} / {below}u % {size}u"),
        };
        below *= size;
        index
    };
    dims.iter().enumerate().rev().map(each).collect()
}

/// Where the instructions have their first operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lower) enum Way {
    /// In shared memory: `a`, of whose 128 rows each warpgroup has 64.
    Shared,
    /// In registers: the operand that runs along its lanes, of which a warp has 32. If `columns`, that is `b`, and the product is turned.
    Registers { columns: bool },
    /// Nowhere: threads multiply and add, in `F32`.
    Threads,
}

/// Sizes of the loop.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::lower) struct Loop {
    pub(in crate::lower) way: Way,
    pub(in crate::lower) a: Operand,
    pub(in crate::lower) b: Operand,
    /// Length of the sums, and elements of it in a part: a multiple of [`depth`].
    pub(in crate::lower) k: u64,
    pub(in crate::lower) part: u64,
    pub(in crate::lower) stages: u32,
    /// Workgroups that share a compute unit, 1 or 2: of two, one multiplies while the other works on its sums.
    pub(in crate::lower) at_once: u32,
}

/// Neighbouring columns of sums that a thread has taken ([`Loop::take`]).
pub(in crate::lower) struct Pieces {
    /// So many for a tile.
    pub(in crate::lower) count: u32,
    pub(in crate::lower) columns: u32,
    /// What they are taken as: `F32`, or a half type that all of them are rounded to.
    pub(in crate::lower) dtype: DType,
}

impl Loop {
    /// How the operands' memory is described; `None` if one is too many-sided for it ([`Operand::map`]), or the way does not take them.
    pub(in crate::lower) fn maps(&self) -> Option<[TensorMap; 2]> {
        let is_taken = match (self.way, self.dtype()) {
            (Way::Shared, DType::F16 | DType::BF16) | (Way::Threads, DType::F32) => true,
            (Way::Shared, DType::F32) => self.a.k_major && self.b.k_major,
            (Way::Registers { .. }, DType::F32) => self.held().is_some_and(|(held, other)| !held.k_major && other.k_major),
            _ => false,
        };
        let rounded = self.dtype() == DType::F32 && self.way != Way::Threads;
        (is_taken && self.a.dtype == self.b.dtype).then_some([self.a.map(rounded)?, self.b.map(rounded)?])
    }

    /// Stages that fit in so many bytes of shared memory, of tiles of so many rows and columns.
    pub(in crate::lower) fn stages_in(bytes: usize, rows: u32, columns: u32) -> u32 {
        let stage = (rows + columns) * LINE + BARRIERS;
        u32::try_from(bytes).unwrap_or(u32::MAX).saturating_sub(ALIGNMENT) / stage
    }

    fn dtype(&self) -> DType {
        self.a.dtype
    }

    /// Threads of a workgroup.
    pub(in crate::lower) fn threads(&self) -> u32 {
        MULTIPLIERS + if self.at_once > 1 { PRODUCERS_OF_TWO } else { PRODUCERS }
    }

    fn stage_bytes(&self) -> u32 {
        (self.a.tile + self.b.tile) * LINE
    }

    /// Bytes of shared memory: stages, aligned to what swizzles need, and two barriers for each.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        self.stages * (self.stage_bytes() + BARRIERS) + ALIGNMENT
    }

    /// Sums that a thread holds.
    pub(in crate::lower) fn sums(&self) -> u32 {
        self.a.tile * self.b.tile / MULTIPLIERS
    }

    fn n_stages(&self) -> u64 {
        self.part.min(self.k).div_ceil(depth(self.dtype()).into())
    }

    /// The operand in registers and the other one, where one is.
    fn held(&self) -> Option<(&Operand, &Operand)> {
        match self.way {
            Way::Shared | Way::Threads => None,
            Way::Registers { columns: true } => Some((&self.b, &self.a)),
            Way::Registers { columns: false } => Some((&self.a, &self.b)),
        }
    }

    /// Lanes of the operand in registers that both warpgroups share out; else each has all of them, and half of the other operand's.
    fn shares_held(&self) -> bool {
        self.held().is_some_and(|(held, _)| held.tile == MULTIPLIERS)
    }

    /// Columns of an instruction.
    fn width(&self) -> u32 {
        match self.held() {
            None => self.b.tile,
            Some((_, other)) if self.shares_held() => other.tile,
            Some((_, other)) => other.tile / 2,
        }
    }

    /// Before all tiles. Place: the stages' shared memory.
    pub(in crate::lower) fn setup(&self, stages: Place) -> Raw {
        let (count, all) = (self.stages, self.stages * self.stage_bytes());
        let text = format!(
            r#"const unsigned smem = ((unsigned)__cvta_generic_to_shared($p0$) + 1023u) & ~1023u;
const unsigned bars = smem + {all}u;
const unsigned wg = __shfl_sync(0xffffffffu, threadIdx.x >> 7, 0);
if (threadIdx.x == 0u) {{
  #pragma unroll
  for (unsigned i = 0; i < {count}u; ++i) {{ ug_tma_init(bars + i * 16u, 1u); ug_tma_init(bars + i * 16u + 8u, {READERS}u); }}
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}}
__syncthreads();
unsigned stage = 0u, phase = 0u;
"#
        );
        self.statement(&text, &[], &[stages])
    }

    /// Before the tiles of those that multiply, or of the producer: registers that it does not need go to them. Of two workgroups each thread has 96.
    pub(in crate::lower) fn role(&self, multiplies: bool) -> Raw {
        let text = match (self.at_once > 1, multiplies) {
            (true, _) => "",
            (false, true) => "asm volatile(\"setmaxnreg.inc.sync.aligned.u32 232;\");",
            (false, false) => "asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\");",
        };
        self.statement(text, &[], &[])
    }

    /// What the producer does for a tile. Values: the tile's first row and first column, the batch item, the part's first `k`.
    pub(in crate::lower) fn produce(&self, maps: [u32; 2], values: [Value; 4]) -> Raw {
        let asks = self.a.ask(maps[0], 0, "$v0$", "$v2$") + &self.b.ask(maps[1], self.a.tile * LINE, "$v1$", "$v2$");
        let text = format!(
            r#"if (threadIdx.x == {MULTIPLIERS}u) {{
  #pragma unroll 1
  for (unsigned t = 0; t < {n}u; ++t) {{
    const unsigned at = stage * {bytes}u, there = bars + stage * 16u, k_at = $v3$ + t * {depth}u;
    ug_tma_wait(there + 8u, phase ^ 1u);
    ug_tma_expect(there, {bytes}u);
{asks}    if (++stage == {stages}u) {{ stage = 0u; phase ^= 1u; }}
  }}
}}
"#,
            n = self.n_stages(),
            bytes = self.stage_bytes(),
            depth = depth(self.dtype()),
            stages = self.stages,
        );
        self.statement(&text, &values, &[])
    }

    /// The sums of a tile. Place: the array of sums.
    pub(in crate::lower) fn multiply(&self, sums: Place) -> Raw {
        let text = match self.held() {
            Some((held, _)) => self.by_registers(held),
            None if self.way == Way::Threads => self.by_threads(),
            None => self.by_shared(""),
        };
        self.statement(&text, &[], &[sums])
    }

    /// Whether a tile's lanes of an operand can be added up on the way ([`Loop::multiply_and_add`]).
    pub(in crate::lower) fn adds(&self, of_b: bool) -> bool {
        let operand = self.operand(of_b);
        self.way == Way::Shared && operand.dtype.size() == 2 && !operand.k_major && operand.tile / RUN <= MULTIPLIERS
    }

    fn operand(&self, of_b: bool) -> &Operand {
        if of_b { &self.b } else { &self.a }
    }

    /// Warps that leave sums of a tile's lanes, one row each, and the threads of a warp that do: thread `x` has run `x` of the tile's (see [`Loop::multiply_and_add`]).
    pub(in crate::lower) fn leaves(&self, of_b: bool) -> (u32, u32) {
        (READERS, (self.operand(of_b).tile / RUN).min(32))
    }

    /// As [`Loop::multiply`], and where the value, the number of a tile, is 0, the sums of an operand's lanes over all of `k` in the part. Places: the sums, and eight
    /// of a run of lanes. While the matrix instructions work, threads add up what they find in the stage: runs of eight lanes are threads', and the threads of a run
    /// share out its lines. Sums of a warp's threads for a run are added at the end; those of warps are the caller's to add.
    pub(in crate::lower) fn multiply_and_add(&self, of_b: bool, tile: Value, sums: [Place; 2]) -> Raw {
        let operand = self.operand(of_b);
        let runs = operand.tile / RUN;
        let (lines, sharing) = (depth(operand.dtype), MULTIPLIERS / runs);
        let unpack = if operand.dtype == DType::F16 { "ug_tma_unpack_f16" } else { "ug_tma_unpack_bf16" };
        let add = format!(
            r#"  if ($v0$ == 0u) {{
    const unsigned run = threadIdx.x % {runs}u, first = threadIdx.x / {runs}u, block = at + {start}u + (run >> 3) * {block}u;
    #pragma unroll
    for (unsigned i = 0; i < {each}u; ++i) {{
      const unsigned line = first + i * {sharing}u;
      unsigned x[4];
      ug_tma_words(x, block + line * 128u + ((run & 7u ^ line & 7u) << 4));
      {unpack}($p1$, x);
    }}
  }}
"#,
            start = if of_b { self.a.tile * LINE } else { 0 },
            block = lines * LINE,
            each = lines / sharing,
        );
        // Threads of a warp that have the same run.
        let mut together = String::new();
        let mut by = runs;
        while by < 32 {
            let _ = writeln!(together, "    $p1$[i] += __shfl_xor_sync(0xffffffffu, $p1$[i], {by}u);");
            by *= 2;
        }
        let text = format!(
            r#"#pragma unroll
for (unsigned i = 0; i < {RUN}u; ++i) $p1$[i] = 0.f;
{multiply}
if ($v0$ == 0u) {{
  #pragma unroll
  for (unsigned i = 0; i < {RUN}u; ++i) {{
{together}  }}
}}
"#,
            multiply = self.by_shared(&add),
        );
        self.statement(&text, &[tile], &sums)
    }

    fn next_stage(&self) -> String {
        format!("before = stage; if (++stage == {}u) {{ stage = 0u; phase ^= 1u; }}", self.stages)
    }

    /// `beside` is done with a stage while the instructions work.
    fn by_shared(&self, beside: &str) -> String {
        // Addresses in descriptors count 16 bytes.
        let (steps, [a_step, b_step]) = (4u32, [&self.a, &self.b].map(|o| if o.k_major { 2 } else { LINE }));
        let multiplications: String = (0..steps)
            .map(|at| {
                let add = if at == 0 { "t" } else { "1u" };
                format!("  ug_tma_multiply($p0$, da + {}ull, db + {}ull, {add});\n", at * a_step, at * b_step)
            })
            .collect();
        let lanes = |o: &Operand| if o.k_major { 16 } else { depth(o.dtype) * LINE };
        format!(
            r#"{{
unsigned before = 0u;
#pragma unroll 1
for (unsigned t = 0; t < {n}u; ++t) {{
  ug_tma_wait(bars + stage * 16u, phase);
  const unsigned at = smem + stage * {bytes}u;
  const unsigned long long da = ug_matrix(at + wg * {half}u, {a_lanes}u, 1024u), db = ug_matrix(at + {b_at}u, {b_lanes}u, 1024u);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
{multiplications}  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
{beside}  if (t > 0u) {{
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    ug_tma_release(bars + before * 16u + 8u);
  }}
  {next}
}}
asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
ug_tma_release(bars + before * 16u + 8u);
}}"#,
            n = self.n_stages(),
            bytes = self.stage_bytes(),
            half = 64 * LINE,
            a_lanes = lanes(&self.a),
            b_at = self.a.tile * LINE,
            b_lanes = lanes(&self.b),
            next = self.next_stage(),
        )
    }

    /// By halves of a stage, whose registers take turns: one half is loaded while the other is multiplied.
    fn by_registers(&self, held: &Operand) -> String {
        let (sums, width) = (self.sums() / 2, self.width());
        let held_at = if matches!(self.way, Way::Registers { columns: true }) { self.a.tile * LINE } else { 0 };
        let other_at = if held_at == 0 { held.tile * LINE } else { 0 };
        let (mine, part) = if self.shares_held() { ("warp", 0) } else { ("(warp & 3u)", width * LINE) };
        let block = 32 * LINE;
        let half = |at: u32| {
            let release = if at == 0 {
                "if (t > 0u) { asm volatile(\"wgmma.wait_group.sync.aligned 1;\" ::: \"memory\"); ug_tma_release(bars + before * 16u + 8u); }"
            } else {
                "asm volatile(\"wgmma.wait_group.sync.aligned 1;\" ::: \"memory\");"
            };
            let mut text = format!(
                "  ug_tma_hold(held{at}, at + {held_at}u + mine, {}u, chunk, quad);\n  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n",
                at * 2
            );
            for kk in 0..2 {
                let add = if at + kk == 0 { "t" } else { "1u" };
                for which in 0..2 {
                    let from = (kk * 2 + which) * 4;
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        text,
                        "  ug_tma_multiply_held($p0$ + {}, held{at} + {from}, db + {}ull, {add});",
                        which * sums,
                        (at * 2 + kk) * 2
                    );
                }
            }
            text + &format!("  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n  {release}\n")
        };
        format!(
            r#"{{
{THREADS_OF_INSTRUCTIONS}const unsigned mine = {mine} * {block}u;
unsigned before = 0u, held0[16], held1[16];
#pragma unroll 1
for (unsigned t = 0; t < {n}u; ++t) {{
  ug_tma_wait(bars + stage * 16u, phase);
  const unsigned at = smem + stage * {bytes}u;
  const unsigned long long db = ug_matrix(at + {other_at}u + wg * {part}u, 16u, 1024u);
{first}{second}  {next}
}}
asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
ug_tma_release(bars + before * 16u + 8u);
}}"#,
            n = self.n_stages(),
            bytes = self.stage_bytes(),
            first = half(0),
            second = half(1),
            next = self.next_stage(),
        )
    }

    /// Blocks of 32 columns of a warp.
    fn blocks(&self) -> u32 {
        self.b.tile / 128
    }

    /// Sum `row * columns + column` of a thread is that of a row and a column of its own.
    fn by_threads(&self) -> String {
        let (blocks, columns) = (self.blocks(), self.blocks() * 4);
        let block = 32 * LINE;
        // Eight rows of a thread for four `k`: `x[row][k]`.
        let rows = if self.a.k_major {
            format!("ug_tma_line(x[i], a_at + (half * 8u + i) * {four}u + (i & 1u ? a_odd : a_even));", four = 4 * LINE)
        } else {
            // Four rows at once, of each `k`.
            "if (i < 2u) { \n#pragma unroll\nfor (unsigned k = 0; k < 4u; ++k) { float y[4];              ug_tma_line(y, a_at + half * 4096u + (at_k + k) * 128u + ((row + i * 4u ^ (at_k + k) & 7u) << 4));              x[i * 4u][k] = y[0]; x[i * 4u + 1u][k] = y[1]; x[i * 4u + 2u][k] = y[2]; x[i * 4u + 3u][k] = y[3]; } }"
                .to_owned()
        };
        // The columns of a thread for four `k`: `y[column][k]`.
        let cols = if self.b.k_major {
            format!(
                "\n#pragma unroll\nfor (unsigned c = 0; c < 4u; ++c) {{ const unsigned line = column * 4u + (c + turn & 3u);                  ug_tma_line(y[j * 4u + c], b_at + j * {block}u + line * 128u + ((at_k / 4u ^ line & 7u) << 4)); }}"
            )
        } else {
            format!(
                "\n#pragma unroll\nfor (unsigned k = 0; k < 4u; ++k) {{ float z[4]; ug_tma_line(z, b_at + j * {block}u + (at_k + k) * 128u + ((column ^ (at_k + k) & 7u) << 4));                  y[j * 4u][k] = z[0]; y[j * 4u + 1u][k] = z[1]; y[j * 4u + 2u][k] = z[2]; y[j * 4u + 3u][k] = z[3]; }}"
            )
        };
        // Along `k`, lines of 64 rows, or of the warp's columns, follow each other; else blocks of 32.
        let (a_at, b_at) = (64 * LINE, self.blocks() * block);
        let a_first = if self.a.k_major { format!(" + row * {LINE}u") } else { String::new() };
        format!(
            r#"{{
{threads}const unsigned turn = column >> 1;
#pragma unroll
for (int i = 0; i < {sums}; ++i) $p0$[i] = 0.f;
#pragma unroll 1
for (unsigned t = 0; t < {n}u; ++t) {{
  ug_tma_wait(bars + stage * 16u, phase);
  const unsigned at = smem + stage * {bytes}u;
  const unsigned a_at = at + (warp & 1u) * {a_at}u{a_first}, b_at = at + {b_first}u + (warp >> 1) * {b_at}u;
  #pragma unroll 1
  for (unsigned at_k = 0; at_k < {depth}u; at_k += 4u) {{
    const unsigned a_even = (at_k / 4u ^ row) << 4, a_odd = a_even ^ 64u;
    (void)a_even; (void)a_odd; (void)turn;
    float y[{columns}][4];
    #pragma unroll
    for (unsigned j = 0; j < {blocks}u; ++j) {{ {cols} }}
    #pragma unroll
    for (unsigned half = 0; half < 2u; ++half) {{
      float x[8][4];
      #pragma unroll
      for (unsigned i = 0; i < 8u; ++i) {{ {rows} }}
      #pragma unroll
      for (unsigned k = 0; k < 4u; ++k)
        #pragma unroll
        for (unsigned i = 0; i < 8u; ++i)
          #pragma unroll
          for (unsigned j = 0; j < {columns}u; ++j) {{ float& sum = $p0$[(half * 8u + i) * {columns}u + j]; sum = __fmaf_rn(x[i][k], y[j][k], sum); }}
    }}
  }}
  __syncwarp();
  ug_tma_release(bars + stage * 16u + 8u);
  if (++stage == {stages}u) {{ stage = 0u; phase ^= 1u; }}
}}
}}"#,
            threads = THREADS_OF_A_WARP,
            sums = self.sums(),
            n = self.n_stages(),
            bytes = self.stage_bytes(),
            b_first = self.a.tile * LINE,
            depth = depth(self.dtype()),
            stages = self.stages,
        )
    }

    /// How sums are taken out; `stored` is the type that they are stored as, where nothing else is done with them.
    pub(in crate::lower) fn pieces(&self, stored: Option<DType>) -> Pieces {
        let columns = if matches!(self.way, Way::Registers { columns: true } | Way::Threads) { 4 } else { 8 };
        // Rounded before threads exchange them, they are half as much to exchange.
        let dtype = stored.filter(|dtype| columns == 8 && matches!(dtype, DType::F16 | DType::BF16)).unwrap_or(DType::F32);
        Pieces { count: self.sums() / columns, columns, dtype }
    }

    /// Takes piece `v0` of the sums, and says where it is: places are the sums, an array of [`Pieces::columns`], and one of two (`U32`): its row and its first column within the tile.
    pub(in crate::lower) fn take(&self, pieces: &Pieces, piece: Value, places: [Place; 3]) -> Raw {
        let sums = self.sums();
        let Pieces { count, columns, dtype } = *pieces;
        // Which sums, for each piece: a pair of neighbouring columns of each of four threads, or four columns of one.
        let sum = |piece: u32, at: u32| match self.way {
            // Blocks of 8 columns, in which a thread has two of row `g` and two of row `g + 8`.
            Way::Shared => 4 * (4 * (piece / 2) + at / 2) + 2 * (piece % 2) + at % 2,
            Way::Registers { columns: true } => (at / 2) * (sums / 2) + 4 * (piece / 2) + 2 * (at % 2) + piece % 2,
            Way::Registers { columns: false } => {
                let (row, block) = (piece % 4, piece / 4);
                (row / 2) * (sums / 2) + 4 * (4 * block + at / 2) + 2 * (row % 2) + at % 2
            }
            Way::Threads => piece * 4 + at,
        };
        let mut cases = String::new();
        for piece in 0..count {
            // Writing to a string cannot fail.
            let _ = write!(cases, "  case {piece}u:");
            for at in 0..columns {
                let _ = write!(cases, " x[{at}] = $p0$[{}];", sum(piece, at));
            }
            cases.push_str(" break;\n");
        }
        let turned = "float* const y = x; ug_tma_turn(y, quad, 2u);";
        let turn = match (columns, dtype) {
            (8, DType::F16) => "unsigned y[4]; ug_tma_pack_f16(y, x); ug_tma_turn(y, quad, 1u);",
            (8, DType::BF16) => "unsigned y[4]; ug_tma_pack_bf16(y, x); ug_tma_turn(y, quad, 1u);",
            (8, _) => turned,
            // Columns of an operand along `k` were loaded in a turned order.
            _ if self.way == Way::Threads && self.b.k_major => "float* const y = x; ug_tma_turn_back(y, column >> 1);",
            _ => "float* const y = x;",
        };
        let spread = if self.shares_held() { "warp * 32u".to_owned() } else { "(warp & 3u) * 32u".to_owned() };
        let side = if self.shares_held() { String::new() } else { format!("(warp >> 2) * {}u + ", self.width()) };
        let (row, column) = match self.way {
            Way::Shared => ("warp * 16u + (lane >> 2) + ($v0$ & 1u) * 8u".to_owned(), "($v0$ >> 1) * 32u + quad * 8u".to_owned()),
            Way::Registers { columns: true } => {
                (format!("{side}($v0$ >> 1) * 8u + quad * 2u + ($v0$ & 1u)"), format!("{spread} + chunk * 4u"))
            }
            Way::Registers { columns: false } => {
                (format!("{spread} + chunk * 4u + ($v0$ & 3u)"), format!("{side}($v0$ >> 2) * 32u + quad * 8u"))
            }
            Way::Threads => {
                let blocks = self.blocks();
                let which = format!("($v0$ / {blocks}u)");
                let row = if self.a.k_major {
                    format!("{which} * 4u + row")
                } else {
                    format!("({which} >> 2) * 16u + row * 4u + ({which} & 3u)")
                };
                (format!("(warp & 1u) * 64u + {row}"), format!("(warp >> 1) * {}u + $v0$ % {blocks}u * 32u + column * 4u", blocks * 32))
            }
        };
        let threads = if self.way == Way::Threads { THREADS_OF_A_WARP } else { THREADS_OF_INSTRUCTIONS };
        let text = format!(
            r#"{{
{threads}float x[{columns}];
switch ($v0$) {{
{cases}  default: __trap();
}}
{turn}
memcpy($p1$, y, sizeof($p1$));
$p2$[0] = {row};
$p2$[1] = {column};
}}"#
        );
        self.statement(&text, &[piece], &places)
    }

    fn statement(&self, text: &str, values: &[Value], places: &[Place]) -> Raw {
        let preludes = vec![COMMON.to_owned(), MATRIX.to_owned(), self.multiplication()];
        let preludes = preludes.into_iter().map(|text| (Dialect::Cuda, text)).collect();
        Raw { texts: vec![(Dialect::Cuda, raw(text))], preludes, values: values.to_vec(), places: places.to_vec() }
    }

    /// The instruction as a function.
    fn multiplication(&self) -> String {
        if self.way == Way::Threads {
            return String::new();
        }
        let n = self.width();
        let sums = n / 2;
        let registers = (0..sums).map(|i| format!("%{i}")).collect::<Vec<_>>().join(", ");
        let operands = (0..sums).map(|i| format!("\"+f\"(d[{i}])")).collect::<Vec<_>>().join(", ");
        let at = |i: u32| format!("%{}", sums + i);
        // `maps` takes no other types.
        let (shape, turned) = if self.dtype() == DType::F32 {
            (format!("m64n{n}k8.f32.tf32.tf32"), false)
        } else {
            let half = if self.dtype() == DType::F16 { "f16" } else { "bf16" };
            (format!("m64n{n}k16.f32.{half}.{half}"), true)
        };
        if self.held().is_some() {
            return format!(
                r#"static __device__ __forceinline__ void ug_tma_multiply_held(float* d, const unsigned* a, unsigned long long b, unsigned add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, {add}, 0; wgmma.mma_async.sync.aligned.{shape} {{{registers}}}, {{{a0}, {a1}, {a2}, {a3}}}, {b}, p, 1, 1; }}"
    : {operands} : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}}
"#,
                a0 = at(0),
                a1 = at(1),
                a2 = at(2),
                a3 = at(3),
                b = at(4),
                add = at(5),
            );
        }
        let turned = if turned { format!(", {}, {}", u32::from(!self.a.k_major), u32::from(!self.b.k_major)) } else { String::new() };
        format!(
            r#"static __device__ __forceinline__ void ug_tma_multiply(float* d, unsigned long long a, unsigned long long b, unsigned add) {{
  asm volatile("{{ .reg .pred p; setp.ne.b32 p, {add}, 0; wgmma.mma_async.sync.aligned.{shape} {{{registers}}}, {a}, {b}, p, 1, 1{turned}; }}"
    : {operands} : "l"(a), "l"(b), "r"(add));
}}
"#,
            a = at(0),
            b = at(1),
            add = at(2),
        )
    }
}

/// What a thread has: of an instruction's sums, and of its first operand in registers.
const THREADS_OF_INSTRUCTIONS: &str = "const unsigned lane = threadIdx.x & 31u, quad = lane & 3u, chunk = (lane >> 3) + 4u * (lane >> 2 & 1u), warp = threadIdx.x >> 5;\n\
    (void)quad; (void)chunk;\n";
/// The same where threads multiply: of four rows and eight columns one each, and so many steps further.
const THREADS_OF_A_WARP: &str =
    "const unsigned row = threadIdx.x >> 3 & 3u, column = threadIdx.x & 7u, warp = threadIdx.x >> 5;\n(void)row; (void)column;\n";

/// Barriers in shared memory, boxes, registers of TF32's first operand, and the turn that gives thread `q` of four neighbours block `q` of 8 columns.
const COMMON: &str = r#"static __device__ __forceinline__ void ug_tma_init(unsigned bar, unsigned count) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(count) : "memory"); }
static __device__ __forceinline__ void ug_tma_expect(unsigned bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void ug_tma_wait(unsigned bar, unsigned phase) {
  asm volatile("{ .reg .pred p; UG_WAIT_%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @p bra UG_DONE_%=; bra UG_WAIT_%=; UG_DONE_%=: }" :: "r"(bar), "r"(phase) : "memory");
}
static __device__ __forceinline__ void ug_tma_release(unsigned bar) {
  if ((threadIdx.x & 31u) == 0u) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory");
}
static __device__ __forceinline__ void ug_tma_2(unsigned to, const ug_tensor_map* map, unsigned bar, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" :: "r"(to), "l"(map), "r"(bar), "r"(x), "r"(y) : "memory");
}
static __device__ __forceinline__ void ug_tma_3(unsigned to, const ug_tensor_map* map, unsigned bar, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" :: "r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z) : "memory");
}
static __device__ __forceinline__ void ug_tma_4(unsigned to, const ug_tensor_map* map, unsigned bar, int x, int y, int z, int u) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
    :: "r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(u) : "memory");
}
static __device__ __forceinline__ void ug_tma_5(unsigned to, const ug_tensor_map* map, unsigned bar, int x, int y, int z, int u, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
    :: "r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v) : "memory");
}
static __device__ __forceinline__ void ug_tma_hold(unsigned* held, unsigned at, unsigned first, unsigned chunk, unsigned quad) {
  #pragma unroll
  for (unsigned kk = 0; kk < 2u; ++kk) {
    #pragma unroll
    for (unsigned h = 0; h < 2u; ++h) {
      const unsigned row = (first + kk) * 8u + h * 4u + quad;
      unsigned* to = held + kk * 8u + h * 2u;
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[4]), "=r"(to[5]) : "r"(at + row * 128u + ((chunk ^ row & 7u) << 4)) : "memory");
    }
  }
}
template <class T> static __device__ __forceinline__ void ug_tma_turn(T* x, unsigned quad, const unsigned each) {
  #pragma unroll
  for (unsigned by = 1; by < 4u; by *= 2u)
    #pragma unroll
    for (unsigned i = 0; i < 4u; ++i)
      if (!(i & by))
        #pragma unroll
        for (unsigned c = 0; c < each; ++c) {
          T& low = x[each * i + c]; T& high = x[each * (i | by) + c];
          const T got = __shfl_xor_sync(0xffffffffu, quad & by ? low : high, by);
          if (quad & by) low = got; else high = got;
        }
}
static __device__ __forceinline__ void ug_tma_turn_back(float* x, unsigned by) {
  if (by & 1u) { const float last = x[3]; x[3] = x[2]; x[2] = x[1]; x[1] = x[0]; x[0] = last; }
  if (by & 2u) { const float a = x[0], b = x[1]; x[0] = x[2]; x[1] = x[3]; x[2] = a; x[3] = b; }
}
static __device__ __forceinline__ void ug_tma_line(float* x, unsigned at) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]) : "r"(at));
}
static __device__ __forceinline__ void ug_tma_words(unsigned* x, unsigned at) {
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(at) : "memory");
}
static __device__ __forceinline__ void ug_tma_unpack_bf16(float* sums, const unsigned* x) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) { sums[2 * i] += __uint_as_float(x[i] << 16); sums[2 * i + 1] += __uint_as_float(x[i] & 0xffff0000u); }
}
static __device__ __forceinline__ void ug_tma_unpack_f16(float* sums, const unsigned* x) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    float low, high;
    asm("{ .reg .f16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h; }" : "=f"(low), "=f"(high) : "r"(x[i]));
    sums[2 * i] += low; sums[2 * i + 1] += high;
  }
}
static __device__ __forceinline__ void ug_tma_pack_f16(unsigned* to, const float* x) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(to[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
}
static __device__ __forceinline__ void ug_tma_pack_bf16(unsigned* to, const float* x) {
  #pragma unroll
  for (int i = 0; i < 4; ++i) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(to[i]) : "f"(x[2 * i + 1]), "f"(x[2 * i]));
}
"#;

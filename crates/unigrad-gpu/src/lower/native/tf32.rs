//! Products of `F32` rounded to TF32 on NVIDIA GPUs since Ampere: matrix instructions of warps, on operands of any strides.
//!
//! A stage holds [`BK`] elements of `k` of both operands in shared memory. Asynchronous copies bring it there: of 16 bytes where an operand has aligned runs of
//! four elements, else of one element, neighbouring threads along the direction in which the operand runs. One that runs along `k` lies lane by lane, 128 bytes each,
//! whose 16-byte pieces are exchanged by XOR with `lane % 8`; one that runs along its lanes lies row by row of `k`, whose distance is 8 or 24 more than a multiple of 32
//! elements. So what the threads of an instruction read lies in different banks, either way. The warps share out rows, columns and the stage's `k`.
//! Registers of the instructions' operands: <https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-fragment-mma-1688>.
//!
//! Always: elements are rounded to nearest, ties away from zero (`cvt.rna`), sums are in `F32`, in an order that sizes alone decide. What lies beyond the operands is zero.
//! Never: multiplies 64-bit addresses in the loop: operands have fewer than 2^31 elements.

use super::attention::raw;
use super::copies::architecture;
use super::made::{COMMIT, Pieces, Spread, Statements, put};
use unigrad_ir::{Dialect, Place, Raw, Target, Value};

/// Elements of `k` in a stage.
pub(in crate::lower) const BK: u32 = 32;
/// Threads and warps of a workgroup.
pub(in crate::lower) const THREADS: u32 = 256;
const WARPS: u32 = THREADS / 32;
/// Sums of a thread at most, and so many that two workgroups have room on a unit.
const MOST_SUMS: u32 = 128;
const FEW_SUMS: u32 = 64;
/// Elements of `k`, rows and columns of an instruction.
const DEPTH: u32 = 8;
const ROWS: u32 = 16;
const COLUMNS: u32 = 8;
/// The least and the largest side of a tile: powers of two between them.
pub(in crate::lower) const LEAST_TILE: u32 = 16;
pub(in crate::lower) const MOST_TILE: u32 = 256;

/// Whether a target has these instructions.
pub(in crate::lower) fn available(target: &Target) -> bool {
    architecture(target).is_some_and(|arch| arch >= 80)
}

/// An operand of the loop.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Operand {
    /// Whether neighbours along `k` are copied together; else neighbouring lanes are.
    pub(in crate::lower) k_major: bool,
    /// Whether its elements are not copied: the threads make them, and put them into the stage ([`Loop::put`]).
    pub(in crate::lower) made: bool,
    /// Whether they are copied four at a time.
    pub(in crate::lower) wide: bool,
    /// Lanes of a tile: rows of `a`, columns of `b`.
    pub(in crate::lower) tile: u32,
    /// Lanes that there are.
    pub(in crate::lower) lanes: u64,
    /// Dimensions of the lanes and of `k`, outermost first: size, and elements from one to the next.
    pub(in crate::lower) dims: Dims,
    pub(in crate::lower) k: Dims,
}

type Dims = Vec<(u64, i64)>;

/// How a workgroup's warps share a tile out: along rows, along columns, along the `k` of a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lower) struct Warps {
    down: u32,
    across: u32,
    deep: u32,
}

impl Warps {
    /// The way that moves least through shared memory for a tile of so many stages; `None` if a thread would have too many sums, or warps too little of the tile.
    pub(in crate::lower) fn of(bm: u32, bn: u32, n_stages: u64) -> Option<Warps> {
        let bits = WARPS.ilog2();
        let ways = (0..=bits).flat_map(|down| (0..=bits - down).map(move |across| (down, across)));
        let all = ways.map(|(down, across)| Warps { down: 1 << down, across: 1 << across, deep: WARPS >> (down + across) });
        let fits = |way: &Warps| {
            let (rows, columns) = (bm / way.down, bn / way.across);
            rows >= ROWS && columns >= COLUMNS && way.deep <= BK / DEPTH && rows * columns / 32 <= MOST_SUMS
        };
        // Loads of all stages; and what warps that share out `k` add up, one after the other, while the others wait.
        let cost = |way: &Warps| n_stages as f64 * way.loads(bm, bn) + 8.0 * f64::from(way.deep);
        all.filter(fits).min_by(|x, y| cost(x).total_cmp(&cost(y)))
    }

    /// Loads from shared memory for an instruction.
    pub(in crate::lower) fn loads(&self, bm: u32, bn: u32) -> f64 {
        let (rows, columns) = (bm / self.down / ROWS, bn / self.across / COLUMNS);
        f64::from(4 * rows + 2 * columns) / f64::from(rows * columns)
    }
}

/// Sizes of the loop.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Loop {
    pub(in crate::lower) a: Operand,
    pub(in crate::lower) b: Operand,
    /// Length of the sums, and elements of it in a part: a multiple of [`BK`].
    pub(in crate::lower) k: u64,
    pub(in crate::lower) part: u64,
    /// Whether stages can reach beyond the end of `k`.
    pub(in crate::lower) masked: bool,
    /// Stages in shared memory: at least 2 rounds of them.
    pub(in crate::lower) stages: u32,
    /// Stages of a round, between two waits of all threads.
    pub(in crate::lower) round: u32,
    pub(in crate::lower) warps: Warps,
}

/// Elements of the offset of element `x`, as C: 32 bits, in which sums may wrap on the way.
pub(super) fn offset(dims: &Dims, x: &str) -> String {
    let mut terms = Vec::new();
    let mut below = 1;
    for (at, (size, stride)) in dims.iter().enumerate().rev() {
        let index = match (at, below) {
            (0, 1) => format!("({x})"),
            (0, below) => format!("({x}) / {below}u"),
            (_, 1) => format!("({x}) % {size}u"),
            (_, below) => format!("({x}) / {below}u % {size}u"),
        };
        if *stride != 0 {
            terms.push(format!("({index}) * {}u", *stride as u32));
        }
        below *= size;
    }
    if terms.is_empty() { "0u".to_owned() } else { terms.join(" + ") }
}

impl Operand {
    /// Elements from one row of `k` to the next, where it lies so.
    fn pitch(&self) -> u32 {
        self.tile + 8
    }

    /// Bytes of a stage.
    fn bytes(&self) -> u32 {
        if self.k_major { self.tile * BK * 4 } else { BK * self.pitch() * 4 }
    }

    /// Whether the offsets of a stage's `k` come from a table.
    fn has_table(&self) -> bool {
        !self.k_major && !self.made && self.k.len() > 1
    }

    /// Where the pieces of a thread are.
    pub(in crate::lower) fn spread(&self) -> Spread {
        let each = if self.wide { 4 } else { 1 };
        let across = if self.k_major { BK } else { self.tile } / each;
        let n_pieces = self.tile * BK / each;
        let (k_major, tile, lanes) = (self.k_major, self.tile, self.lanes);
        let pieces = (n_pieces / THREADS).max(1);
        Spread { k_major, tile, lanes, each, pieces, across, step: THREADS / across, threads: n_pieces.min(THREADS) }
    }

    /// Bytes of a stage from piece to piece of a thread.
    fn step(&self) -> u32 {
        self.spread().step * if self.k_major { 128 } else { self.pitch() * 4 }
    }

    /// The offset of `k`, a row of the stage whose first `k` is `k_next`.
    fn row_offset(&self, name: &str, k: &str) -> String {
        if self.has_table() { format!("{name}_table[slot * {BK}u + {k}]") } else { offset(&self.k, &format!("k_next + {k}")) }
    }

    /// What stays the same for a thread. `place`, `first` and `base` are the operand's memory, first lane and first element.
    fn setup(&self, name: &str, first: &str, base: &str) -> String {
        let (tile, lanes, Spread { each, pieces, across, step, .. }) = (self.tile, self.lanes, self.spread());
        let is_masked = !lanes.is_multiple_of(tile.into());
        let there = |lane: &str| if is_masked { format!("{lane} < {lanes}u") } else { "true".to_owned() };
        let whole = |lane: &str| if is_masked { format!("({lane} < {lanes}u ? {lane} : 0u)") } else { lane.to_owned() };
        let (fast, slow) = (format!("tid % {across}u * {each}u"), format!("tid / {across}u"));
        if self.k_major {
            let at = format!("({first} + {name}_lane + {step}u * i)");
            let to = format!(
                "const unsigned {name}_k = {fast}, {name}_lane = {slow};\n\
                 const unsigned {name}_to = {name}_lane * 128u + ((({name}_k >> 2) ^ ({name}_lane & 7u)) << 4) + ({name}_k & 3u) * 4u;\n"
            );
            if self.made {
                return to;
            }
            format!(
                "{to}unsigned {name}_from[{pieces}]; unsigned {name}_there = 0u;\n\
                 #pragma unroll\nfor (unsigned i = 0; i < {pieces}u; ++i) {{\n  const unsigned x = {at};\n  \
                 {name}_from[i] = {base} + {offset};\n  {name}_there |= (unsigned)({there}) << i;\n}}\n",
                there = there("x"),
                offset = offset(&self.dims, &whole("x")),
            )
        } else {
            let to = format!(
                "const unsigned {name}_lane = {fast}, {name}_k = {slow};\n\
                 const unsigned {name}_to = ({name}_k * {pitch}u + {name}_lane) * 4u;\n",
                pitch = self.pitch(),
            );
            if self.made {
                return to;
            }
            format!(
                "{to}const unsigned {name}_x = {first} + {name}_lane;\n\
                 const bool {name}_there = {there};\n\
                 const unsigned {name}_from = {base} + {offset};\n",
                there = there(&format!("{name}_x")),
                offset = offset(&self.dims, &whole(&format!("{name}_x"))),
            )
        }
    }

    /// Copies the stage that begins at `k_next` to `to`.
    fn copy(&self, name: &str, place: &str, at: u32, (k, masked): (u64, bool)) -> String {
        if self.made {
            return String::new();
        }
        let Spread { pieces, step: rows, threads, .. } = self.spread();
        let (copy, step) = (if self.wide { "ug_tf32_copy16" } else { "ug_tf32_copy4" }, self.step());
        let memory = format!("(const float*){place}");
        // More threads than copies.
        let guard = if threads < THREADS { format!("if (tid < {threads}u) ") } else { String::new() };
        if self.k_major {
            let there = if masked { format!("k_next + {name}_k < {k}u") } else { "true".to_owned() };
            return format!(
                "{guard}{{ const bool k_there = {there}; const unsigned ahead = k_there ? {ahead} : 0u;\n\
                 #pragma unroll\nfor (unsigned i = 0; i < {pieces}u; ++i) {{\n  const bool there = k_there && ({name}_there >> i & 1u);\n  \
                 {copy}(smem + {at}u + to + {name}_to + i * {step}u, {memory} + (there ? {name}_from[i] + ahead : 0u), there);\n}} }}\n",
                ahead = offset(&self.k, &format!("k_next + {name}_k")),
            );
        }
        let there = if masked { format!("{name}_there && k_next + k < {k}u") } else { format!("{name}_there") };
        format!(
            "{guard}{{\n#pragma unroll\nfor (unsigned i = 0; i < {pieces}u; ++i) {{\n  const unsigned k = {name}_k + i * {rows}u;\n  const bool there = {there};\n  \
             {copy}(smem + {at}u + to + {name}_to + i * {step}u, {memory} + (there ? {name}_from + {offset} : 0u), there);\n}} }}\n",
            offset = self.row_offset(name, "k"),
        )
    }

    /// Declares where in a stage, in elements, the thread's own element of lane `x` and `k` is: `NAME_of(x, k)`, for multiples of 8; and where lanes lie one behind the
    /// other the byte of the line that the thread names to `ldmatrix`: `NAME_line(x, k)`, from which on four 8 x 4 matrices follow each other along lanes first, or along `k`.
    fn address(&self, name: &str, at: u32, lanes_first: bool) -> String {
        if !self.k_major {
            return format!(
                "auto {name}_of = [&](unsigned x, unsigned k) {{ return {}u + (k + t) * {}u + x + g; }};\n",
                at / 4,
                self.pitch()
            );
        }
        let (lane, piece) = if lanes_first { ("(tid >> 3 & 1u)", "(tid >> 4 & 1u)") } else { ("(tid >> 4 & 1u)", "(tid >> 3 & 1u)") };
        format!(
            "auto {name}_of = [&](unsigned x, unsigned k) {{ return {words}u + (x + g) * 32u + (((k >> 2) ^ g) << 2) + t; }};\n\
             auto {name}_line = [&](unsigned x, unsigned k) {{ return smem + {at}u + (x + (tid & 7u) + {lane} * 8u) * 128u + ((((k >> 2) + {piece}) ^ (tid & 7u)) << 4); }};\n",
            words = at / 4,
        )
    }

    /// Loads the rows' factors `x[i]` of a step along `k`.
    fn load_rows(&self, n_rows: u32) -> String {
        let body = if self.k_major {
            "ug_tf32_lines(x[i], a_line(warp_row + i * 16u, k) + from * 4u);".to_owned()
        } else {
            // The next four of `k` are four rows further.
            let next = 4 * self.pitch();
            format!(
                "const float* const at = stages + from + a_of(warp_row + i * 16u, k);\n\
                 x[i][0] = ug_tf32_round(at[0]); x[i][1] = ug_tf32_round(at[8]); x[i][2] = ug_tf32_round(at[{next}]); x[i][3] = ug_tf32_round(at[{}]);",
                next + 8
            )
        };
        format!("#pragma unroll\nfor (unsigned i = 0; i < {n_rows}u; ++i) {{ {body} }}\n")
    }

    /// Loads the columns' factors `y[j]` of a step along `k`.
    fn load_columns(&self, n_columns: u32) -> String {
        if self.k_major && n_columns.is_multiple_of(2) {
            return format!(
                "#pragma unroll\nfor (unsigned j = 0; j < {n_columns}u; j += 2u) {{\n  unsigned both[4]; ug_tf32_lines(both, b_line(warp_column + j * 8u, k) + from * 4u);\n  \
                 y[j][0] = both[0]; y[j][1] = both[1]; y[j + 1u][0] = both[2]; y[j + 1u][1] = both[3];\n}}\n"
            );
        }
        let next = if self.k_major {
            "b_of(warp_column + j * 8u, k + 4u)".to_owned()
        } else {
            format!("b_of(warp_column + j * 8u, k) + {}u", 4 * self.pitch())
        };
        format!(
            "#pragma unroll\nfor (unsigned j = 0; j < {n_columns}u; ++j) {{\n  y[j][0] = ug_tf32_round(stages[from + b_of(warp_column + j * 8u, k)]);\n  \
             y[j][1] = ug_tf32_round(stages[from + {next}]);\n}}\n"
        )
    }
}

impl Loop {
    fn stage_bytes(&self) -> u32 {
        self.a.bytes() + self.b.bytes()
    }

    /// Whether stages know where they begin without a table, which is made anew for each.
    pub(in crate::lower) fn has_tables(&self) -> bool {
        self.tables() > 0
    }

    fn tables(&self) -> u32 {
        u32::from(self.a.has_table()) + u32::from(self.b.has_table())
    }

    /// Elements from row to row of the sums in shared memory.
    pub(in crate::lower) fn ld(&self) -> u32 {
        self.b.tile + 8
    }

    /// Bytes of shared memory: stages and tables, later sums.
    pub(in crate::lower) fn shared_bytes(&self) -> u32 {
        self.bytes_of_stages().max(self.a.tile * self.ld() * 4)
    }

    fn bytes_of_stages(&self) -> u32 {
        self.stages * (self.stage_bytes() + self.tables() * BK * 4)
    }

    /// How many sums of each point [`Loop::write_sums`] leaves in shared memory, `ld` elements a row, a tile behind the other: one for each share of `k` where there is room.
    pub(in crate::lower) fn sums_apart(&self) -> u32 {
        let has_room = self.warps.deep * self.a.tile * self.ld() * 4 <= self.bytes_of_stages();
        if has_room { self.warps.deep } else { 1 }
    }

    /// How many workgroups a unit should have room for.
    pub(in crate::lower) fn at_once(&self) -> u32 {
        if self.sums() <= FEW_SUMS { 2 } else { 1 }
    }

    /// Sums that a thread holds.
    pub(in crate::lower) fn sums(&self) -> u32 {
        self.a.tile * self.b.tile * self.warps.deep / THREADS
    }

    pub(in crate::lower) fn n_stages(&self) -> u64 {
        self.part.min(self.k).div_ceil(BK.into())
    }

    /// Rows and columns of a warp.
    fn block(&self) -> [u32; 2] {
        [self.a.tile / self.warps.down, self.b.tile / self.warps.across]
    }

    /// The loop as a statement. Places: `a`, `b`, shared memory, the array of sums (floats). Values (`U32`): the tile's first row and first column, the batch item's
    /// first element of `a` and of `b`, the part's first `k`.
    pub(in crate::lower) fn statement(&self, values: [Value; 5], places: [Place; 4]) -> Raw {
        Raw {
            texts: vec![(Dialect::Cuda, raw(&self.text()))],
            preludes: vec![(Dialect::Cuda, PRELUDE.to_owned())],
            values: values.to_vec(),
            places: places.to_vec(),
        }
    }

    /// The loop as statements, for operands that the threads make. A round is one stage then.
    pub(in crate::lower) fn statements(&self, values: [Value; 5], places: [Place; 4]) -> Statements {
        let Pieces { setup, before, after, end, ahead } = self.pieces();
        let after = format!("{again}{after}", again = self.again());
        let [setup, before, after, end] = [setup, before, after, end].map(|text| raw(&text));
        Statements::new(Pieces { setup, before, after, end, ahead }, &[PRELUDE.to_owned()], values, places)
    }

    /// A statement that puts the elements of a thread, by [`Operand::spread`] in their order, into the stage of the last `copy`.
    pub(in crate::lower) fn put(&self, a: bool, made: Place) -> Raw {
        let (name, operand) = if a { ("a", &self.a) } else { ("b", &self.b) };
        put(&format!("{name}_at + {name}_to"), &operand.spread(), operand.step(), made)
    }

    /// What is done to the tables in each round: of the stage that is copied next, in the next round.
    fn again(&self) -> String {
        let mut next = String::new();
        for (name, operand) in [("a", &self.a), ("b", &self.b)] {
            if operand.has_table() {
                next += &format!("{name}_table[slot * {BK}u + tid] = {};\n", offset(&operand.k, "k_next + tid"));
            }
        }
        if next.is_empty() { next } else { format!("if (tid < {BK}u) {{ {next} }}\n") }
    }

    fn pieces(&self) -> Pieces {
        let (stages, stage) = (self.stages, self.stage_bytes());
        let ahead = stages / self.round - 1;
        let Warps { down, across, deep } = self.warps;
        let [rows, columns] = self.block();
        let (n_rows, n_columns) = (rows / ROWS, columns / COLUMNS);
        let b_at = self.a.bytes();
        let mut setup = self.a.setup("a", "$v0$", "$v2$") + &self.b.setup("b", "$v1$", "$v3$");
        let (mut fill, mut tables_at) = (String::new(), stages * stage / 4);
        for (name, operand) in [("a", &self.a), ("b", &self.b)] {
            if operand.has_table() {
                setup += &format!("unsigned* const {name}_table = (unsigned*)stages + {tables_at}u;\n");
                fill += &format!("{name}_table[i] = {};\n", offset(&operand.k, "k_next + i"));
                tables_at += stages * BK;
            }
        }
        let prepare = if fill.is_empty() {
            String::new()
        } else {
            format!("for (unsigned i = tid; i < {all}u; i += {THREADS}u) {{ {fill} }}\n__syncthreads();\n", all = stages * BK)
        };
        let copies = self.a.copy("a", "$p0$", 0, (self.k, self.masked)) + &self.b.copy("b", "$p1$", b_at, (self.k, self.masked));
        let (declare, keep) = if self.a.made || self.b.made {
            (format!("unsigned made_to = 0;\nconst unsigned a_at = smem, b_at = smem + {b_at}u;\n"), "made_to = to;\n")
        } else {
            (String::new(), "")
        };
        let addresses = self.a.address("a", 0, true) + &self.b.address("b", b_at, false);
        let (rows_in, columns_in) = (self.a.load_rows(n_rows), self.b.load_columns(n_columns));
        let setup = format!(
            r#"const unsigned tid = threadIdx.x, warp = tid >> 5, g = (tid & 31u) >> 2, t = tid & 3u;
float* const stages = $p2$;
const unsigned smem = (unsigned)__cvta_generic_to_shared(stages);
const unsigned warp_column = warp % {across}u * {columns}u, warp_row = warp / {across}u % {down}u * {rows}u, warp_k = warp / {of_k}u;
unsigned k_next = $v4$, to = 0, slot = 0;
{declare}{setup}{addresses}{prepare}auto copy = [&]() {{
{keep}{copies}k_next += {BK}u; to += {stage}u; if (to == {all}u) to = 0; slot = slot + 1u == {stages}u ? 0u : slot + 1u;
}};
#pragma unroll
for (unsigned i = 0; i < {sums}u; ++i) $p3$[i] = 0.0f;
unsigned from = 0;
"#,
            of_k = across * down,
            all = stage * stages,
            sums = self.sums(),
        );
        let before = format!("asm volatile(\"cp.async.wait_group {};\" ::: \"memory\");\n__syncthreads();\n", ahead - 1);
        let after = format!(
            r#"#pragma unroll
  for (unsigned step = 0; step < {steps}u; ++step) {{
    const unsigned k = (step * {deep}u + warp_k) * {DEPTH}u;
    unsigned x[{n_rows}][4], y[{n_columns}][2];
    {rows_in}{columns_in}#pragma unroll
    for (unsigned i = 0; i < {n_rows}u; ++i) {{
      #pragma unroll
      for (unsigned j = 0; j < {n_columns}u; ++j) ug_tf32_multiply($p3$ + (i * {n_columns}u + j) * 4u, x[i], y[j][0], y[j][1]);
    }}
  }}
  from += {stage_len}u; if (from == {all_len}u) from = 0;
"#,
            steps = BK / DEPTH / deep,
            stage_len = stage / 4,
            all_len = stage * stages / 4,
        );
        Pieces { setup, before, after, end: "asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n__syncthreads();\n".to_owned(), ahead }
    }

    fn text(&self) -> String {
        let (round, n_stages, again) = (self.round, self.n_stages(), self.again());
        let Pieces { setup, before, after, end, ahead } = self.pieces();
        format!(
            r#"{{
{setup}#pragma unroll
for (unsigned s = 0; s < {ahead}u; ++s) {{
  #pragma unroll
  for (unsigned r = 0; r < {round}u; ++r)
    if (s * {round}u + r < {n_stages}u) copy();
  {COMMIT}
}}
#pragma unroll 1
for (unsigned tile = 0; tile < {n_stages}u; tile += {round}u) {{
  {before}#pragma unroll
  for (unsigned r = 0; r < {round}u; ++r)
    if (tile + r + {ahead_stages}u < {n_stages}u) copy();
  {COMMIT}
  {again}#pragma unroll
  for (unsigned r = 0; r < {round}u; ++r) {{
  {rest}
  {after}  }}
}}
{end}}}"#,
            ahead_stages = ahead * round,
            rest = if n_stages.is_multiple_of(round.into()) { String::new() } else { format!("if (tile + r >= {n_stages}u) break;") },
        )
    }

    /// A statement that writes the sums to shared memory, row by row, [`Loop::ld`] elements apart: each warp's share of `k` to a tile of its own
    /// ([`Loop::sums_apart`]), or one after the other to the same. No thread reads them before a barrier. Places: shared memory, the array of sums.
    pub(in crate::lower) fn write_sums(&self, shared: Place, sums: Place) -> Raw {
        let Warps { down, across, deep } = self.warps;
        let [rows, columns] = self.block();
        let apart = self.sums_apart();
        let (turns, before, wait) = if apart < deep {
            let before = "if (part > 0u) { const float2 before = *at; sum.x += before.x; sum.y += before.y; }";
            (deep, before, "__syncthreads();")
        } else {
            (1, "", "")
        };
        let text = format!(
            r#"{{
const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5, share = warp / {of_k}u;
float* const to = $p0$ + share % {apart}u * {tile}u + (warp / {across}u % {down}u * {rows}u + (lane >> 2)) * {ld}u + warp % {across}u * {columns}u + (lane & 3u) * 2u;
#pragma unroll 1
for (unsigned part = 0; part < {turns}u; ++part) {{
  if (share / {apart}u == part) {{
    #pragma unroll
    for (unsigned i = 0; i < {n_rows}u; ++i) {{
      #pragma unroll
      for (unsigned j = 0; j < {n_columns}u; ++j) {{
        #pragma unroll
        for (unsigned half = 0; half < 2u; ++half) {{
          float2* const at = (float2*)(to + (i * 16u + half * 8u) * {ld}u + j * 8u);
          const unsigned from = (i * {n_columns}u + j) * 4u + half * 2u;
          float2 sum = make_float2($p1$[from], $p1$[from + 1u]);
          {before}
          *at = sum;
        }}
      }}
    }}
  }}
  {wait}
}}
}}"#,
            ld = self.ld(),
            tile = self.a.tile * self.ld(),
            of_k = across * down,
            n_rows = rows / ROWS,
            n_columns = columns / COLUMNS,
        );
        Raw { texts: vec![(Dialect::Cuda, raw(&text))], preludes: Vec::new(), values: Vec::new(), places: vec![shared, sums] }
    }
}

const PRELUDE: &str = r#"static __device__ __forceinline__ void ug_tf32_copy16(unsigned to, const float* from, bool there) {
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void ug_tf32_copy4(unsigned to, const float* from, bool there) {
  int bytes = there ? 4 : 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}
static __device__ __forceinline__ unsigned ug_tf32_round(float x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}
static __device__ __forceinline__ void ug_tf32_lines(unsigned (&r)[4], unsigned at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
  for (int i = 0; i < 4; ++i) r[i] = ug_tf32_round(__uint_as_float(r[i]));
}
static __device__ __forceinline__ void ug_tf32_multiply(float* d, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
"#;

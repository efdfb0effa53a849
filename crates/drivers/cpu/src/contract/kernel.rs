//! Microkernels: the innermost loops of contractions, one table per element type and instruction set.
//!
//! In: packed panels, or rows of `b` as they lie. Out: a tile of `c`, stored or accumulated.
//! Always: an element of `c` is one chain of multiply-adds in the order of `k`, whatever the tile's shape, so that how work is
//! partitioned never shows in the result; any number of rows and columns is computed, in as many tiles as it takes.
//! Never: reads beyond the rows and columns it is told of.

use super::pack::{self, PackArgs, RowsArgs};
use super::vector::{Lanes, LoadFrom, Vector};
use crate::simd::{Bf16, Tier, ask_for};
use half::{bf16, f16};
use unigrad_scalar::DType;

/// `c[rows, cols] (+)= a b` over `kc` steps; `a` has `rows` contiguous elements every `a_step`, `b` `cols` every `b_step`.
#[derive(Clone, Copy)]
pub(crate) struct TileArgs<T> {
    pub(crate) kc: usize,
    pub(crate) a: *const T,
    /// The number of rows, where `a` is a packed panel.
    pub(crate) a_step: usize,
    pub(crate) b: *const T,
    pub(crate) b_step: usize,
    pub(crate) c: *mut T,
    pub(crate) ldc: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) accumulate: bool,
    pub(crate) ahead: Ahead,
}

/// Memory to ask for while a tile is computed: a line at each step of `k`. What does not change a result.
#[derive(Clone, Copy)]
pub(crate) struct Ahead {
    from: *const u8,
    /// Bytes from a step to the next.
    step: usize,
}

impl Ahead {
    /// Nothing that is not there: what `near` points to.
    pub(crate) fn none<T>(near: *const T) -> Ahead {
        Ahead { from: near.cast(), step: 0 }
    }

    /// Part `i` of `parts` of `len` elements, within `steps` steps.
    pub(crate) fn part<T>(from: *const T, len: usize, i: usize, parts: usize, steps: usize) -> Ahead {
        let bytes = (len * size_of::<T>()).div_ceil(parts.max(1));
        Ahead { from: from.cast::<u8>().wrapping_add(i * bytes), step: bytes.div_ceil(steps.max(1)) }
    }
}

/// `c[row * c_row + col * c_col] (+)= Σ_k a[row * lda + k] * b[col * ldb + k]`, with `b` of another stored type perhaps.
#[derive(Clone, Copy)]
pub(crate) struct DotArgs<T> {
    pub(crate) k: usize,
    pub(crate) a: *const T,
    pub(crate) lda: usize,
    pub(crate) b: *const u8,
    pub(crate) b_dtype: DType,
    pub(crate) ldb: i64,
    pub(crate) c: *mut T,
    pub(crate) c_row: usize,
    pub(crate) c_col: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) accumulate: bool,
}

/// The loops for one element type on one tier.
#[derive(Debug)]
pub(crate) struct Kernels<T> {
    pub(crate) tier: Tier,
    /// Rows of a full tile, and the width of a packed panel of `a`.
    pub(crate) mr: usize,
    /// Columns of a full tile, and the width of a packed panel of `b`.
    pub(crate) nr: usize,
    pub(crate) lanes: usize,
    /// Most steps of `k` between touches of a tile of `c`: a panel of `b` (`kc x nr`) fits the first-level cache.
    pub(crate) kc: usize,
    /// Panels have a multiple of so many steps: what is beyond the last is zero.
    pub(crate) k_multiple: usize,
    pub(crate) tile: unsafe fn(&TileArgs<T>),
    /// Where the processor is told a tile's rows and columns before it.
    pub(crate) shapes: Option<Shapes>,
    /// As `tile`, with `a` row-major: `nr` elements from row to row, 1 from step to step.
    pub(crate) tile_by_rows: unsafe fn(&TileArgs<T>),
    pub(crate) pack: unsafe fn(&PackArgs<'_, T>),
    pub(crate) pack_a: PackA<T>,
    /// Packs rows of some stored types, of `a` only where its panels are like those of `b`; of others none, and says so.
    pub(crate) pack_rows: unsafe fn(&RowsArgs<'_, T>) -> bool,
    /// Dot products, for stored types that `dot_loads` lists.
    pub(crate) dot: unsafe fn(&DotArgs<T>),
    pub(crate) dot_loads: &'static [DType],
}

/// What a processor with tiles is told.
#[derive(Debug)]
pub(crate) struct Shapes {
    /// The rows and columns of the tiles that follow.
    pub(crate) set: unsafe fn(usize, usize),
    /// That none follow.
    pub(crate) clear: unsafe fn(),
}

/// [`Kernels::kc`] where nothing else is said.
const KC: usize = 320;

/// How panels of `a` are packed.
pub(crate) enum PackA<T> {
    /// As those of `b`: steps one after the other.
    Same,
    /// In an order of their own.
    Own(unsafe fn(&PackArgs<'_, T>)),
}

impl<T> std::fmt::Debug for PackA<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            PackA::Same => "Same",
            PackA::Own(_) => "Own",
        })
    }
}

impl<T> Kernels<T> {
    /// Rows of a panel of `a`, where there are `m`: equal panels rather than full ones and a thin last one, but where full ones cost what thin ones do.
    pub(crate) fn panel_rows(&self, m: usize) -> usize {
        match self.pack_a {
            PackA::Same => m.div_ceil(m.div_ceil(self.mr).max(1)).max(1),
            PackA::Own(_) => m.clamp(1, self.mr),
        }
    }

    /// The widest tile for `rows` rows where `b` is used in place: no more sums at once than a full tile has registers for.
    pub(crate) fn wide(&self, rows: usize) -> usize {
        widest(rows, self.mr) * self.lanes
    }
}

/// Registers of columns in a full tile.
const FULL: usize = 2;
/// Steps of `k` from which on a tile asks for its part of `c` before it begins.
const ASK_STEPS: usize = 64;

/// Registers of columns in the widest tile of `rows` rows, where a full one has `mr`: no more sums than a full tile has, and beside them as many registers
/// of `b` as there are columns, in place of the full tile's `FULL`, and one of `a`. A single row needs none for `b`.
const fn widest(rows: usize, mr: usize) -> usize {
    let most = mr * FULL + FULL;
    if rows == 1 && mr * FULL >= 8 || rows * 8 + 8 <= most {
        8
    } else if rows * 4 + 4 <= most {
        4
    } else {
        FULL
    }
}

/// An element type that contractions compute in.
pub(crate) trait Compute: super::pack::FromAny + Copy + Default + PartialEq + Send + Sync + std::fmt::Debug + 'static {
    const DTYPE: DType;
    fn kernels(tier: Tier) -> &'static Kernels<Self>;
    /// The loops that multiply `bf16` by this way, where they are not those of [`Compute::kernels`].
    fn bf16(way: Bf16) -> Option<&'static Kernels<Self>>;
    fn plus(self, other: Self) -> Self;
}

/// One tile of `MR` rows and `NV` registers of columns; rows of `a` are `a_row` elements apart, steps `a_step`.
#[inline(always)]
unsafe fn tile<V: Vector, const MR: usize, const NV: usize, const TAIL: bool>(t: &TileArgs<V::Elem>, a_row: usize, a_step: usize) {
    // SAFETY: `a` holds `MR` rows of `kc` elements, `b` has `cols` elements in each of `kc` rows, `c` `cols` in each of `MR` rows;
    // `NV` registers hold `cols` columns, of which `TAIL` says that the last is partial.
    unsafe {
        let last = t.cols - (NV - 1) * V::LANES;
        let (mut a, mut b, mut ahead) = (t.a, t.b, t.ahead.from);
        let mut acc = [[V::load_span(a, 0, 0); NV]; MR];
        if t.kc >= ASK_STEPS {
            // The sums are added to it, or written there, all at once: it should be near by then.
            for i in 0..MR {
                for j in 0..NV {
                    ask_for::<true>(t.c.wrapping_add(i * t.ldc + j * V::LANES).cast());
                }
            }
        }
        for _ in 0..t.kc {
            ask_for::<false>(ahead);
            ahead = ahead.wrapping_add(t.ahead.step);
            let mut row = [acc[0][0]; NV];
            for (j, x) in row.iter_mut().enumerate() {
                let p = b.add(j * V::LANES);
                *x = if TAIL && j + 1 == NV { V::load_span(p, 0, last) } else { V::load(p) };
            }
            for (i, acc) in acc.iter_mut().enumerate() {
                let x = V::splat(*a.add(i * a_row));
                for (acc, y) in acc.iter_mut().zip(row) {
                    *acc = acc.fma(x, y);
                }
            }
            a = a.wrapping_add(a_step);
            b = b.wrapping_add(t.b_step);
        }
        for (i, acc) in acc.iter().enumerate() {
            for (j, x) in acc.iter().enumerate() {
                let p = t.c.add(i * t.ldc + j * V::LANES);
                if TAIL && j + 1 == NV {
                    let x = if t.accumulate { V::load_span(p, 0, last).add(*x) } else { *x };
                    x.store_first(p, last);
                } else {
                    let x = if t.accumulate { V::load(p).add(*x) } else { *x };
                    x.store(p);
                }
            }
        }
    }
}

/// Any rows and columns, a register at a time: what is taller than the tallest tile.
#[inline(always)]
unsafe fn strips<V: Vector>(t: &TileArgs<V::Elem>, a_row: usize, a_step: usize) {
    for row in 0..t.rows {
        for col in (0..t.cols).step_by(V::LANES) {
            // SAFETY: the row and the columns are inside the arguments'.
            unsafe {
                let (a, c) = (t.a.add(row * a_row), t.c.add(row * t.ldc + col));
                let cols = (t.cols - col).min(V::LANES);
                tile::<V, 1, 1, true>(&TileArgs { a, b: t.b.wrapping_add(col), c, rows: 1, cols, ..*t }, a_row, a_step);
            }
        }
    }
}

#[inline(always)]
unsafe fn dot<V: Vector + LoadFrom<S>, S, const R: usize, const C: usize>(d: &DotArgs<V::Elem>, row: usize, col: usize) {
    // SAFETY: rows `row..row + R` of `a` and columns `col..col + C` of `b` hold `k` contiguous elements each.
    unsafe {
        let zero = V::load_span(d.a, 0, 0);
        let mut a = [d.a; R];
        for (r, p) in a.iter_mut().enumerate() {
            *p = d.a.add((row + r) * d.lda);
        }
        let mut b = [d.b.cast::<S>(); C];
        for (c, p) in b.iter_mut().enumerate() {
            *p = p.wrapping_offset((col + c) as isize * d.ldb as isize);
        }
        let mut acc = [[zero; C]; R];
        let mut k = 0;
        while k < d.k {
            let n = d.k - k;
            let mut y = [zero; C];
            for c in 0..C {
                y[c] = if n >= V::LANES { V::widen(b[c].add(k)) } else { V::widen_span(b[c].add(k), 0, n) };
            }
            for r in 0..R {
                let x = if n >= V::LANES { V::load(a[r].add(k)) } else { V::load_span(a[r].add(k), 0, n) };
                for c in 0..C {
                    acc[r][c] = acc[r][c].fma(x, y[c]);
                }
            }
            k += V::LANES;
        }
        for r in 0..R {
            let mut sums = [acc[r][0].sum(); C];
            if C == 4 {
                let four = V::sums([acc[r][0], acc[r][1 % C], acc[r][2 % C], acc[r][3 % C]]);
                sums.copy_from_slice(&four[..C]);
            } else {
                for c in 0..C {
                    sums[c] = acc[r][c].sum();
                }
            }
            let at = d.c.add((row + r) * d.c_row + col * d.c_col);
            if d.c_col == 1 && !d.accumulate {
                // One store.
                std::ptr::copy_nonoverlapping(sums.as_ptr(), at, C);
                continue;
            }
            for c in 0..C {
                let p = at.add(c * d.c_col);
                let mut out = [sums[c]; 1];
                if d.accumulate {
                    // One-lane vector addition keeps this generic over the element type.
                    V::splat(*p).add(V::splat(out[0])).store_first(out.as_mut_ptr(), 1);
                }
                *p = out[0];
            }
        }
    }
}

#[inline(always)]
unsafe fn dots<V: Vector + LoadFrom<S>, S>(d: &DotArgs<V::Elem>) {
    // Columns outside: the few rows of `a` stay in the nearest cache while `b` streams past once.
    let mut col = 0;
    while col < d.cols {
        let wide = d.cols - col >= 4;
        let mut row = 0;
        while row < d.rows {
            let rows = (d.rows - row).min(4);
            // SAFETY: the rows and columns are inside the arguments'.
            unsafe {
                match (rows, wide) {
                    (4, true) => dot::<V, S, 4, 4>(d, row, col),
                    (3, true) => dot::<V, S, 3, 4>(d, row, col),
                    (2, true) => dot::<V, S, 2, 4>(d, row, col),
                    (_, true) => dot::<V, S, 1, 4>(d, row, col),
                    (4, false) => dot::<V, S, 4, 1>(d, row, col),
                    (3, false) => dot::<V, S, 3, 1>(d, row, col),
                    (2, false) => dot::<V, S, 2, 1>(d, row, col),
                    (_, false) => dot::<V, S, 1, 1>(d, row, col),
                }
            }
            row += rows;
        }
        col += if wide { 4 } else { 1 };
    }
}

/// Dot products with a `b` of any dtype, converted piece by piece.
#[inline(always)]
unsafe fn dots_of_any<V: Vector<Elem = T> + LoadFrom<T>, T: pack::FromAny + Copy>(d: &DotArgs<T>) {
    const PIECE: usize = 64;
    const STEPS: [i64; PIECE] = {
        let mut steps = [0; PIECE];
        let mut i = 0;
        while i < PIECE {
            steps[i] = i as i64;
            i += 1;
        }
        steps
    };
    let mut piece = [T::default(); PIECE];
    for col in 0..d.cols {
        let mut k = 0;
        loop {
            let n = (d.k - k).min(PIECE);
            let at = (col as i64 * d.ldb + k as i64) as isize * d.b_dtype.size() as isize;
            // SAFETY: the elements are the caller's column's, and the piece holds them.
            unsafe {
                pack::panel_of_any(&PackArgs {
                    src: d.b.wrapping_offset(at),
                    dtype: d.b_dtype,
                    lanes: &[0],
                    steps: &STEPS[..n],
                    runs: &[],
                    dst: piece.as_mut_ptr(),
                    width: 1,
                    ld: 1,
                });
                let (a, b) = (d.a.add(k), piece.as_ptr().cast());
                let accumulate = d.accumulate || k > 0;
                dots::<V, T>(&DotArgs { k: n, a, b, ldb: 0, c: d.c.add(col * d.c_col), cols: 1, accumulate, ..*d });
            }
            k += n;
            if k >= d.k {
                break;
            }
        }
    }
}

/// As [`widest`] where a full tile is the widest.
const fn full(_rows: usize, _mr: usize) -> usize {
    FULL
}

/// The lesser of two numbers.
const fn at_most(n: usize, widest: usize) -> usize {
    if n < widest { n } else { widest }
}

/// Calls tiles whose rows and registers are compile-time constants, as many as the columns take, of `$widest` registers at most.
/// Every number of rows and registers has an arm: a tile that `$widest` excludes is never instantiated, since its arm, which is
/// then never reached, names the widest one.
macro_rules! dispatch {
    ($t:ident, $v:ty, $one:ident, $strips:ident, $widest:expr, [$($r:tt)*]) => {{
        const L: usize = <$v as Vector>::LANES;
        match $t.rows {
            0 => {}
            $($r => {
                const WIDEST: usize = $widest($r, MR);
                for col in (0..$t.cols).step_by(WIDEST * L) {
                    let cols = at_most($t.cols - col, WIDEST * L);
                    let piece = &TileArgs { b: $t.b.wrapping_add(col), c: $t.c.wrapping_add(col), cols, ..*$t };
                    match (cols.div_ceil(L), cols % L != 0) {
                        (1, false) => $one::<$v, $r, 1, { MASKED && 1 < WIDEST }>(piece),
                        (1, true) => $one::<$v, $r, 1, true>(piece),
                        (2, false) => $one::<$v, $r, { at_most(2, WIDEST) }, { MASKED && 2 < WIDEST }>(piece),
                        (2, true) => $one::<$v, $r, { at_most(2, WIDEST) }, true>(piece),
                        (3, false) => $one::<$v, $r, { at_most(3, WIDEST) }, { MASKED && 3 < WIDEST }>(piece),
                        (3, true) => $one::<$v, $r, { at_most(3, WIDEST) }, true>(piece),
                        (4, false) => $one::<$v, $r, { at_most(4, WIDEST) }, { MASKED && 4 < WIDEST }>(piece),
                        (4, true) => $one::<$v, $r, { at_most(4, WIDEST) }, true>(piece),
                        (5, false) => $one::<$v, $r, { at_most(5, WIDEST) }, { MASKED && 5 < WIDEST }>(piece),
                        (5, true) => $one::<$v, $r, { at_most(5, WIDEST) }, true>(piece),
                        (6, false) => $one::<$v, $r, { at_most(6, WIDEST) }, { MASKED && 6 < WIDEST }>(piece),
                        (6, true) => $one::<$v, $r, { at_most(6, WIDEST) }, true>(piece),
                        (7, false) => $one::<$v, $r, { at_most(7, WIDEST) }, { MASKED && 7 < WIDEST }>(piece),
                        (7, true) => $one::<$v, $r, { at_most(7, WIDEST) }, true>(piece),
                        (_, false) => $one::<$v, $r, WIDEST, false>(piece),
                        (_, true) => $one::<$v, $r, WIDEST, true>(piece),
                    }
                }
            })*
            _ => $strips::<$v>($t),
        }
    }};
}

/// The functions of one tier: everything generic is inlined into code compiled for its features.
macro_rules! tier {
    ($tier:ident, $attr:meta, $masked:literal; $($name:ident: $v:ty, [$($r:tt)*], $dots:tt, $packs:tt;)*) => {
        mod $tier {
            use super::*;

            /// Where masked loads cost little, full and partial tiles share their code, but for the widest ones: a masked load takes the place of a multiply-add.
            const MASKED: bool = $masked;

            #[$attr]
            unsafe fn one<V: Vector, const MR: usize, const NV: usize, const TAIL: bool>(t: &TileArgs<V::Elem>) {
                // SAFETY: the caller's.
                unsafe { tile::<V, MR, NV, TAIL>(t, 1, t.a_step) }
            }

            #[$attr]
            unsafe fn one_by_rows<V: Vector, const MR: usize, const NV: usize, const TAIL: bool>(t: &TileArgs<V::Elem>) {
                // SAFETY: the caller's.
                unsafe { tile::<V, MR, NV, TAIL>(t, FULL * V::LANES, 1) }
            }

            #[$attr]
            unsafe fn all<V: Vector>(t: &TileArgs<V::Elem>) {
                // SAFETY: the caller's.
                unsafe { strips::<V>(t, 1, t.a_step) }
            }

            #[$attr]
            unsafe fn all_by_rows<V: Vector>(t: &TileArgs<V::Elem>) {
                // SAFETY: the caller's.
                unsafe { strips::<V>(t, FULL * V::LANES, 1) }
            }

            $(pub(super) mod $name {
                use super::*;

                pub(crate) type V = $v;
                /// Rows of a full tile.
                pub(crate) const MR: usize = [$($r),*].len();
                const _: () = {
                    let rows: [usize; MR] = [$($r),*];
                    let mut i = 0;
                    while i < MR {
                        assert!(rows[i] == i + 1, "a number of rows has no tile");
                        i += 1;
                    }
                };
                pub(crate) const DOT_LOADS: &[DType] = tier!(@loads $dots);

                #[$attr]
                pub(crate) unsafe fn tile(t: &TileArgs<<V as Vector>::Elem>) {
                    // SAFETY: the caller's.
                    unsafe { dispatch!(t, V, one, all, widest, [$($r)*]) }
                }

                #[$attr]
                pub(crate) unsafe fn tile_by_rows(t: &TileArgs<<V as Vector>::Elem>) {
                    // SAFETY: the caller's.
                    unsafe { dispatch!(t, V, one_by_rows, all_by_rows, full, [$($r)*]) }
                }

                #[$attr]
                pub(crate) unsafe fn pack(p: &PackArgs<'_, <V as Vector>::Elem>) {
                    // SAFETY: the caller's.
                    unsafe { tier!(@pack p, $packs) }
                }

                #[$attr]
                pub(crate) unsafe fn pack_rows(p: &RowsArgs<'_, <V as Vector>::Elem>) -> bool {
                    // SAFETY: the caller's.
                    unsafe { tier!(@rows p, $packs) }
                }

                #[$attr]
                pub(crate) unsafe fn dot(d: &DotArgs<<V as Vector>::Elem>) {
                    // SAFETY: the caller's.
                    unsafe { tier!(@dot d, $dots) }
                }
            })*
        }
    };
    (@dot $d:ident, [$($dtype:ident: $s:ty),*]) => {
        match $d.b_dtype {
            $(DType::$dtype => dots::<V, $s>($d),)*
            _ => dots_of_any::<V, _>($d),
        }
    };
    (@loads [$($dtype:ident: $s:ty),*]) => { &[$(DType::$dtype),*] };
    (@rows $p:ident, [$($dtype:ident: $s:ty),*]) => {
        match $p.dtype {
            $(DType::$dtype => {
                pack::rows::<V, $s>($p);
                true
            })*
            _ => false,
        }
    };
    (@pack $p:ident, [$($dtype:ident: $s:ty),*]) => {
        match $p.dtype {
            $(DType::$dtype => pack::panel::<V, $s>($p),)*
            _ => pack::panel_of_any($p),
        }
    };
}

#[cfg(not(target_arch = "aarch64"))]
tier!(baseline, inline, false;
    single: Lanes<f32, 4>, [1 2 3 4], [F32: f32, F16: f16, BF16: bf16], [F32: f32, F16: f16, BF16: bf16];
    double: Lanes<f64, 2>, [1 2 3 4], [F64: f64, F32: f32], [F64: f64, F32: f32];
    word: Lanes<i32, 4>, [1 2 3 4], [I32: i32], [I32: i32];
    long: Lanes<i64, 2>, [1 2 3 4], [I64: i64], [I64: i64];
);
// NEON: twice the registers of SSE2, of which 16 hold sums, as many as its multiply-adds take to be ready.
#[cfg(target_arch = "aarch64")]
tier!(baseline, inline, false;
    single: Lanes<f32, 4>, [1 2 3 4 5 6 7 8], [F32: f32, F16: f16, BF16: bf16], [F32: f32, F16: f16, BF16: bf16];
    double: Lanes<f64, 2>, [1 2 3 4 5 6 7 8], [F64: f64, F32: f32], [F64: f64, F32: f32];
    word: Lanes<i32, 4>, [1 2 3 4 5 6 7 8], [I32: i32], [I32: i32];
    long: Lanes<i64, 2>, [1 2 3 4 5 6 7 8], [I64: i64], [I64: i64];
);
#[cfg(target_arch = "x86_64")]
use super::vector::x86::{V4D, V4F, V5D, V5F};
#[cfg(target_arch = "x86_64")]
tier!(avx2, target_feature(enable = "avx2,fma,f16c"), false;
    single: V4F, [1 2 3 4 5 6], [F32: f32, F16: f16, BF16: bf16], [F32: f32, F16: f16, BF16: bf16];
    double: V4D, [1 2 3 4 5 6], [F64: f64, F32: f32], [F64: f64, F32: f32];
    word: Lanes<i32, 8>, [1 2 3 4], [I32: i32], [I32: i32];
    long: Lanes<i64, 4>, [1 2 3 4], [I64: i64], [I64: i64];
);
#[cfg(target_arch = "x86_64")]
tier!(avx512, target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"), true;
    single: V5F, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [F32: f32, F16: f16, BF16: bf16], [F32: f32, F16: f16, BF16: bf16];
    double: V5D, [1 2 3 4 5 6 7 8 9 10 11 12 13 14], [F64: f64, F32: f32], [F64: f64, F32: f32];
    word: Lanes<i32, 16>, [1 2 3 4 5 6 7 8], [I32: i32], [I32: i32];
    long: Lanes<i64, 8>, [1 2 3 4 5 6 7 8], [I64: i64], [I64: i64];
);

// Behind the macros that it uses.
#[cfg(target_arch = "x86_64")]
mod pairs;
#[cfg(target_arch = "x86_64")]
mod tiles;
#[cfg(target_arch = "x86_64")]
pub(crate) use pairs::win as pairs_win;

macro_rules! table {
    ($t:ty, $tier:ident::$name:ident, $which:ident) => {{
        const LANES: usize = <$tier::$name::V as Vector>::LANES;
        static TABLE: Kernels<$t> = Kernels {
            tier: Tier::$which,
            mr: $tier::$name::MR,
            nr: FULL * LANES,
            lanes: LANES,
            kc: KC,
            k_multiple: 1,
            tile: $tier::$name::tile,
            shapes: None,
            tile_by_rows: $tier::$name::tile_by_rows,
            pack: $tier::$name::pack,
            pack_a: PackA::Same,
            pack_rows: $tier::$name::pack_rows,
            dot: $tier::$name::dot,
            dot_loads: $tier::$name::DOT_LOADS,
        };
        &TABLE
    }};
}

macro_rules! compute {
    ($($t:ident, $name:ident: $dtype:ident, $bf16:expr, $plus:expr;)*) => { $(
        impl Compute for $t {
            const DTYPE: DType = DType::$dtype;
            fn kernels(tier: Tier) -> &'static Kernels<$t> {
                match tier {
                    #[cfg(target_arch = "x86_64")]
                    Tier::Avx512 => table!($t, avx512::$name, Avx512),
                    #[cfg(target_arch = "x86_64")]
                    Tier::Avx2 => table!($t, avx2::$name, Avx2),
                    _ => table!($t, baseline::$name, Baseline),
                }
            }
            fn bf16(way: Bf16) -> Option<&'static Kernels<$t>> {
                $bf16(way)
            }
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                $plus(self, other)
            }
        }
    )* };
}
#[cfg(target_arch = "x86_64")]
fn of_halves(way: Bf16) -> Option<&'static Kernels<f32>> {
    match way {
        Bf16::Widened => None,
        Bf16::Pairs => Some(&pairs::TABLE),
        Bf16::Tiles => Some(&tiles::TABLE),
        #[cfg(test)]
        Bf16::Model => Some(&tiles::MODEL),
    }
}
#[cfg(not(target_arch = "x86_64"))]
fn of_halves(_: Bf16) -> Option<&'static Kernels<f32>> {
    None
}
compute!(
    f32, single: F32, of_halves, |x: f32, y: f32| x + y;
    f64, double: F64, |_| None, |x: f64, y: f64| x + y;
    i32, word: I32, |_| None, i32::wrapping_add;
    i64, long: I64, |_| None, i64::wrapping_add;
);

//! How far results may be off.
//!
//! `u` is the rounding error of the dtype that a result is computed in: 2⁻²⁴ for `F32`, `F16` and `BF16`, 2⁻⁵³ for `F64`. Storing a result
//! in `F16` or `BF16` adds half a unit of its last place, and values in between that are stored add theirs. One `ulp` is the distance
//! between neighbouring numbers at the result. Sums are those over the elements that one result comes from, `y` is the result, `n` the
//! number of elements. Bounds hold on every device and for any number of elements (measured up to 2²⁵), as long as nothing in between
//! overflows; results below the least normal number of a dtype may be zero. Where a compiler reorders additions, which Metal's language leaves
//! open, sums of more than 64 elements per thread may lose more.
//!
//! A rerun on the same device gives the same bits, whatever the number of threads.
//!
//! # Reductions, scans and norms
//!
//! | method | off by at most |
//! |---|---|
//! | `sum` | 128 u · Σ\|x\| |
//! | `mean` | 130 u · mean \|x\| |
//! | `prod` | n u · \|y\| |
//! | `var` | 256 u · y + (256 u · mean \|x\|)² |
//! | `std` | 256 u · (y + mean \|x\|) |
//! | `norm` | 256 u · y |
//! | `nrm2` | 4 n u · y |
//! | `logsumexp` | 256 u · max(1, \|y\|) |
//! | `max`, `min`, `cummax`, `cummin`, `argmax`, `argmin`, `any`, `all`, `count_nonzero` | 0 |
//! | `cumsum` | 128 u · Σ\|x\| so far |
//! | `cumprod` | i u · \|yᵢ\| |
//! | `logcumsumexp` | 4 i u · max(1, \|yᵢ\|) |
//! | `softmax`, `softmin` | 256 u · y |
//! | `log_softmax` | 256 u · max(1, \|y\|) |
//! | `layer_norm`, `group_norm`, `instance_norm`, `batch_norm_train` | 512 u · (\|y\| + mean \|x\| / √(var + eps)) |
//! | `rms_norm`, `normalize` | 512 u · \|y\| |
//!
//! # Functions
//!
//! Measured over the arguments given, where the result is a normal number; both ends of the ranges of `log`, `sqrt` and their like are sizes.
//!
//! | method | off by at most | arguments |
//! |---|---|---|
//! | `exp` | 4 ulp | -87 to 88 |
//! | `exp2` | 4 ulp | -125 to 127 |
//! | `expm1` | 8 ulp | -30 to 88 |
//! | `log` | 4 ulp | 1e-30 to 1e30 |
//! | `log2` | 4 ulp | 1e-30 to 1e30 |
//! | `log10` | 6 ulp | 1e-30 to 1e30 |
//! | `log1p` | 8 ulp | -0.999 to 1e30 |
//! | `sin` | 4 ulp | -1e4 to 1e4 |
//! | `cos` | 4 ulp | -1e4 to 1e4 |
//! | `tan` | 8 ulp | -1e4 to 1e4 |
//! | `asin` | 8 ulp | -1 to 1 |
//! | `acos` | 8 ulp | -1 to 1 |
//! | `atan` | 8 ulp | -1e30 to 1e30 |
//! | `sinh` | 8 ulp | -88 to 88 |
//! | `cosh` | 8 ulp | -88 to 88 |
//! | `tanh` | 8 ulp | -30 to 30 |
//! | `atanh` | 16 ulp | -0.999 to 0.999 |
//! | `sqrt` | 4 ulp | 1e-30 to 1e30 |
//! | `rsqrt` | 4 ulp | 1e-30 to 1e30 |
//! | `recip` | 4 ulp | 1e-30 to 1e30 |
//! | `erf` | 8 ulp | -6 to 6 |
//! | `erfinv` | 16 ulp | -0.999 to 0.999 |
//! | `lgamma` | 16 ulp | 3 to 1e30 |
//! | `digamma` | 16 ulp | 2 to 1e30 |
//! | `trigamma` | 16 ulp | 0.01 to 1e10 |
//! | `sigmoid` | 8 ulp | -87 to 87 |
//! | `silu` | 8 ulp | -87 to 87 |
//! | `gelu` | 16 ulp | -9 to 9 |
//! | `softplus` | 8 ulp | -87 to 87 |
//! | `pow` | 16 ulp | 0.001 to 1000, to powers of -1.5 to 7.25 |

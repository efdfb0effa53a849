//! Layers of windows: convolutions, pools, pads, resizing.
//!
//! In: settings, the shape of an input. Out: the layer, or what is wrong with it.
//! Always: a convolution is the one that its own constructor makes, so that its initial values are those of the same layer by hand.

use super::{
    build::Wrong,
    checks::{Checked, MAX_SIZE, SPATIAL, axes, channels, groups, number, size, sizes, weight},
    kinds::Made,
    pads::Pads,
    parts::Pad,
    settings::{
        ConvSettings, ConvTransposeSettings, LpPoolSettings, PaddingMode, PoolSettings, UpsampleMode, UpsampleSettings, WindowSettings,
    },
    sizes::{Padding, Sizes},
};
use unigrad_nn::{self as nn, Layer};
use unigrad_tensor::{ConvOptions, Device, InterpolateMode, InterpolateOptions, PadMode, PoolOptions, WindowOptions};

pub(super) fn spatial(x: &[usize], n: usize, layer: impl Layer + Clone + 'static) -> Made {
    axes(x, n + 1, SPATIAL[n])?;
    Ok(Box::new(layer))
}

/// Numbers that are known to be one for each axis.
fn each<const N: usize>(all: Vec<usize>) -> Checked<[usize; N]> {
    <[usize; N]>::try_from(all).map_err(|all| Wrong::new(format!("{all:?} for {N} axes"), "give one number for each axis"))
}

pub(super) fn convolution(s: &ConvSettings, x: &[usize], n: usize, device: &Device) -> Made {
    axes(x, n + 1, SPATIAL[n])?;
    let (from, to) = (channels(x)?, size("channels", s.channels)?);
    let groups = groups(s.groups, from, to)?;
    let kernel = sizes("kernel", &s.kernel, n, 1)?;
    let (stride, dilation) = (sizes("stride", &s.stride, n, 1)?, sizes("dilation", &s.dilation, n, 1)?);
    let same = s.padding == Padding::Same;
    if same && stride.iter().any(|s| *s != 1) {
        return Err(Wrong::new("`padding` is \"same\", and `stride` is not 1", "give the padding as a number, or leave the stride out"));
    }
    let padding = match &s.padding {
        Padding::Of(given) => sizes("padding", given, n, 0)?.into_iter().map(|p| (p, p)).collect(),
        Padding::Same => Vec::new(),
    };
    weight(&[to, from / groups].into_iter().chain(kernel.iter().copied()).collect::<Vec<_>>())?;
    let options = ConvOptions { stride, padding, dilation, groups, ..ConvOptions::default() };
    let mode = match s.padding_mode {
        PaddingMode::Zeros => PadMode::Constant(0.0),
        PaddingMode::Reflect => PadMode::Reflect,
        PaddingMode::Replicate => PadMode::Replicate,
        PaddingMode::Circular => PadMode::Circular,
    };
    macro_rules! made {
        ($layer:ident) => {{
            let layer = nn::$layer::with_kernel(from, to, each(kernel)?, options, device).padding_mode(mode);
            let layer = if same { layer.same_padding() } else { layer };
            Box::new(if s.bias { layer } else { layer.no_bias() })
        }};
    }
    Ok(match n {
        1 => made!(Conv1d),
        2 => made!(Conv2d),
        _ => made!(Conv3d),
    })
}

pub(super) fn transposed(s: &ConvTransposeSettings, x: &[usize], n: usize, device: &Device) -> Made {
    axes(x, n + 1, SPATIAL[n])?;
    let (from, to) = (channels(x)?, size("channels", s.channels)?);
    let groups = groups(s.groups, from, to)?;
    let kernel = sizes("kernel", &s.kernel, n, 1)?;
    weight(&[from, to / groups].into_iter().chain(kernel.iter().copied()).collect::<Vec<_>>())?;
    let options = ConvOptions {
        stride: sizes("stride", &s.stride, n, 1)?,
        padding: sizes("padding", &s.padding, n, 0)?.into_iter().map(|p| (p, p)).collect(),
        dilation: sizes("dilation", &s.dilation, n, 1)?,
        groups,
        output_padding: sizes("output_padding", &s.output_padding, n, 0)?,
    };
    macro_rules! made {
        ($layer:ident) => {{
            let layer = nn::$layer::with_kernel(from, to, each(kernel)?, options, device);
            Box::new(if s.bias { layer } else { layer.no_bias() })
        }};
    }
    Ok(match n {
        1 => made!(ConvTranspose1d),
        2 => made!(ConvTranspose2d),
        _ => made!(ConvTranspose3d),
    })
}

pub(super) fn pool(s: &PoolSettings, x: &[usize], n: usize, maximum: bool) -> Checked<PoolOptions> {
    axes(x, n + 1, SPATIAL[n])?;
    let kernel = sizes("kernel", &s.kernel, n, 1)?;
    let padding = sizes("padding", &s.padding, n, 0)?;
    if let Some((p, k)) = padding.iter().zip(&kernel).find(|(p, k)| **p > **k / 2) {
        return Err(Wrong::new(format!("`padding` is {p}, and windows are {k} wide"), "pad at most half of a window"));
    }
    let dilation = sizes("dilation", &s.dilation, n, 1)?;
    if !maximum && dilation.iter().any(|d| *d != 1) {
        return Err(Wrong::new("`dilation` is of maxima only", "leave `dilation` out, or use a maximum"));
    }
    if maximum && s.divisor_override.is_some() {
        return Err(Wrong::new("`divisor_override` is of averages only", "leave `divisor_override` out, or use an average"));
    }
    if s.divisor_override == Some(0) {
        return Err(Wrong::new("`divisor_override` is 0", "divide by another number"));
    }
    let stride = s.stride.as_ref().map_or(Ok(kernel.clone()), |stride| sizes("stride", stride, n, 1))?;
    let (ceil_mode, count_include_pad, divisor_override) = (s.ceil_mode, s.count_include_pad, s.divisor_override);
    Ok(PoolOptions { kernel, stride, padding, dilation, ceil_mode, count_include_pad, divisor_override })
}

pub(super) fn power_pool(s: &LpPoolSettings, x: &[usize], n: usize) -> Made {
    axes(x, n + 1, SPATIAL[n])?;
    let p = number("p", s.p, s.p > 0.0 && s.p.is_finite(), "above 0")?;
    let kernel = sizes("kernel", &s.kernel, n, 1)?;
    let stride = s.stride.as_ref().map_or(Ok(kernel.clone()), |stride| sizes("stride", stride, n, 1))?;
    let options = PoolOptions { kernel, stride, ceil_mode: s.ceil_mode, ..PoolOptions::new(1) };
    Ok(match n {
        1 => Box::new(nn::LpPool1d { p, options }),
        2 => Box::new(nn::LpPool2d { p, options }),
        _ => Box::new(nn::LpPool3d { p, options }),
    })
}

pub(super) fn regions<const N: usize>(given: &Sizes, x: &[usize]) -> Checked<[usize; N]> {
    axes(x, N + 1, SPATIAL[N])?;
    let all = sizes("size", given, N, 1)?;
    if let Some(wrong) = all.iter().find(|n| **n > 1 << 16) {
        return Err(Wrong::new(format!("`size` is {wrong}"), "use numbers from 1 to 65536"));
    }
    each(all)
}

/// Windows over two axes.
pub(super) fn windows(s: &WindowSettings) -> Checked<WindowOptions> {
    Ok(WindowOptions {
        kernel: sizes("kernel", &s.kernel, 2, 1)?,
        stride: sizes("stride", &s.stride, 2, 1)?,
        padding: sizes("padding", &s.padding, 2, 0)?,
        dilation: sizes("dilation", &s.dilation, 2, 1)?,
    })
}

pub(super) fn fold(size: &Sizes, s: &WindowSettings, x: &[usize]) -> Made {
    axes(x, 2, "[channels * kernel, windows]")?;
    let all = sizes("size", size, 2, 1)?;
    if all.iter().any(|n| *n > 1 << 16) {
        return Err(Wrong::new(format!("`size` is {size}"), "use numbers from 1 to 65536"));
    }
    Ok(Box::new(nn::Fold::new(&all, windows(s)?)))
}

pub(super) fn upsample(s: &UpsampleSettings, x: &[usize]) -> Made {
    if x.len() < 3 {
        return Err(Wrong::new("it needs channels and at least one more axis", "bring the input to [channels, ..]"));
    }
    let n = x.len() - 2;
    let mode = match s.mode {
        UpsampleMode::Nearest => InterpolateMode::Nearest,
        UpsampleMode::NearestExact => InterpolateMode::NearestExact,
        UpsampleMode::Area => InterpolateMode::Area,
        UpsampleMode::Linear => InterpolateMode::Linear,
        UpsampleMode::Cubic => InterpolateMode::Cubic,
    };
    let mut options = match (&s.size, &s.factor) {
        (Some(size), None) => InterpolateOptions::sizes(mode, &sizes("size", size, n, 1)?),
        (None, Some(factors)) => {
            let all = factors.per_axis(n).ok_or_else(|| {
                Wrong::new(format!("`factor` has {} numbers for {n} axes", factors.len()), "give one for all axes, or one for each")
            })?;
            all.iter().try_for_each(|f| number("factor", *f, *f > 0.0 && *f <= 1e4, "above 0, at most 10000").map(|_| ()))?;
            InterpolateOptions::scales(mode, &all)
        }
        _ => return Err(Wrong::new("it has neither `size` nor `factor`, or both", "give one of them")),
    };
    (options.align_corners, options.antialias) = (s.align_corners, s.antialias);
    Ok(Box::new(nn::Upsample::new(options)))
}

pub(super) fn padded(pads: &Pads, x: &[usize], mode: PadMode) -> Made {
    if x.len() < 3 {
        return Err(Wrong::new("it needs channels and at least one more axis", "bring the input to [channels, ..]"));
    }
    let n = x.len() - 2;
    let all = pads.per_axis(n).ok_or_else(|| {
        Wrong::new(format!("`pad` has {} entries for {n} axes", pads.len()), "give one for all axes, or one for each: a number or a pair")
    })?;
    let most = MAX_SIZE as i64;
    if let Some(wrong) = all.iter().flat_map(|(before, after)| [*before, *after]).find(|p| !(-most..=most).contains(p)) {
        return Err(Wrong::new(format!("`pad` is {wrong}"), format!("use numbers from -{most} to {most}; below 0 they cut")));
    }
    Ok(Box::new(Pad { pads: all, mode }))
}

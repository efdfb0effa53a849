//! Numbers of layers: checked before they size a weight or a table.
//!
//! In: settings, the shape of an input (its first axis is the batch). Out: the same numbers, or what is wrong with them.

use super::{build::Wrong, sequences::RecurrentSettings, sizes::Sizes};

pub(super) type Checked<T> = std::result::Result<T, Wrong>;

/// Of units, channels, kernels and the like.
pub(super) const MAX_SIZE: usize = 1 << 30;
/// Elements of one weight.
pub(super) const MAX_WEIGHT: f64 = (1u64 << 40) as f64;
/// Elements of a table of positions, which is made on the host.
pub(super) const MAX_TABLE: usize = 1 << 24;
/// Layers of one recurrent or transformer stack.
pub(super) const MAX_STACK: usize = 1000;

/// A size of at least 1.
pub(super) fn size(name: &str, value: usize) -> Checked<usize> {
    if (1..=MAX_SIZE).contains(&value) {
        Ok(value)
    } else {
        Err(Wrong::new(format!("`{name}` is {value}"), format!("use a number from 1 to {MAX_SIZE}")))
    }
}

pub(super) fn sizes(name: &str, given: &Sizes, axes: usize, least: usize) -> Checked<Vec<usize>> {
    let all = given.per_axis(axes).ok_or_else(|| {
        Wrong::new(
            format!("`{name}` has {} numbers for {axes} axes", given.as_slice().len()),
            "give one number for all axes, or one for each",
        )
    })?;
    match all.iter().find(|n| !(least..=MAX_SIZE).contains(*n)) {
        Some(wrong) => Err(Wrong::new(format!("`{name}` is {wrong}"), format!("use numbers from {least} to {MAX_SIZE}"))),
        None => Ok(all),
    }
}

pub(super) fn weight(shape: &[usize]) -> Checked<()> {
    if shape.iter().map(|&n| n as f64).product::<f64>() <= MAX_WEIGHT {
        return Ok(());
    }
    Err(Wrong::new(format!("a weight of shape {shape:?} has more elements than any device holds"), "use fewer units, channels or features"))
}

pub(super) fn stacked(n: usize) -> Checked<usize> {
    if (1..=MAX_STACK).contains(&n) {
        Ok(n)
    } else {
        Err(Wrong::new(format!("`n_layers` is {n}"), format!("use a number from 1 to {MAX_STACK}")))
    }
}

pub(super) fn number(name: &str, value: f64, ok: bool, range: &str) -> Checked<f64> {
    if ok { Ok(value) } else { Err(Wrong::new(format!("`{name}` is {value}"), format!("use a number {range}"))) }
}

pub(super) fn probability(name: &str, p: f64) -> Checked<f64> {
    number(name, p, (0.0..=1.0).contains(&p), "from 0 to 1")
}

pub(super) fn epsilon(eps: f64) -> Checked<f64> {
    number("eps", eps, eps >= 0.0 && eps.is_finite(), "from 0 up")
}

pub(super) fn finite(name: &str, value: f64) -> Checked<f64> {
    number(name, value, value.is_finite(), "that is finite")
}

/// The features of the last axis.
pub(super) fn features(x: &[usize]) -> Checked<usize> {
    if x.len() < 2 {
        return Err(Wrong::new("it needs an axis of features", "put a layer before it that gives at least one axis"));
    }
    Ok(x[x.len() - 1])
}

pub(super) fn axes(x: &[usize], wanted: usize, form: &str) -> Checked<()> {
    if x.len() == wanted + 1 {
        Ok(())
    } else {
        Err(Wrong::new(format!("it needs {form}"), format!("bring the input to {form}, with `unflatten` for example")))
    }
}

/// The channels of axis 1.
pub(super) fn channels(x: &[usize]) -> Checked<usize> {
    x.get(1).copied().ok_or_else(|| Wrong::new("it needs an axis of channels", "put a layer before it that gives at least one axis"))
}

/// `[length, features]`.
pub(super) fn sequence(x: &[usize]) -> Checked<(usize, usize)> {
    axes(x, 2, "[length, features]")?;
    Ok((x[1], x[2]))
}

pub(super) const SPATIAL: [&str; 4] = ["", "[channels, length]", "[channels, height, width]", "[channels, depth, height, width]"];

pub(super) fn small(name: &str, value: usize) -> Checked<usize> {
    if (1..=1 << 12).contains(&value) { Ok(value) } else { Err(Wrong::new(format!("`{name}` is {value}"), "use a number from 1 to 4096")) }
}

pub(super) fn divides(heads: usize, features: usize) -> Checked<usize> {
    if heads > 0 && features.is_multiple_of(heads) && features <= MAX_SIZE / 4 {
        return Ok(heads);
    }
    Err(Wrong::new(format!("{features} features do not divide into {heads} heads"), "use as many heads as divide the features"))
}

pub(super) fn groups(groups: usize, from: usize, to: usize) -> Checked<usize> {
    if groups > 0 && from.is_multiple_of(groups) && to.is_multiple_of(groups) {
        return Ok(groups);
    }
    Err(Wrong::new(
        format!("{from} and {to} channels do not divide into {groups} groups"),
        "use as many groups as divide the channels of both sides",
    ))
}

pub(super) fn recurrent(s: &RecurrentSettings, x: &[usize], gates: usize) -> Checked<(usize, usize, usize)> {
    let (_, features) = sequence(x)?;
    let (hidden, n) = (size("hidden", s.hidden)?, stacked(s.n_layers)?);
    if hidden > MAX_SIZE / 8 {
        return Err(Wrong::new(format!("`hidden` is {hidden}"), format!("use a number from 1 to {}", MAX_SIZE / 8)));
    }
    weight(&[gates * hidden, features])?;
    weight(&[gates * hidden, 2 * hidden])?;
    Ok((features, hidden, n))
}

pub(super) fn positions(longest: Option<usize>, x: &[usize]) -> Checked<(usize, usize)> {
    let (length, features) = sequence(x)?;
    let longest = longest.unwrap_or(length);
    if longest < length {
        return Err(Wrong::new(format!("`longest` is {longest}, and sequences have {length} positions"), "use at least as many positions"));
    }
    Ok((size("longest", longest)?, features))
}

//! Rows against each other: forms against exact meanings, gradients against differences.

use super::*;

/// Special points, and a grid over what most functions change on.
fn samples() -> impl Iterator<Item = f64> {
    let special = [
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.0,
        2.0,
        -2.0,
        1.461_632_144_968_362_4,
        1e-30,
        -1e-30,
        1e-3,
        1e5,
        1e15,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    special.into_iter().chain((-4000..=8000).map(|i| f64::from(i) / 400.0 + 1e-4)).chain((0..40).map(|i| 1.0 - 0.5f64.powi(i)))
}

#[test]
fn every_row_has_what_the_others_are_tested_with() {
    for op in UnaryOp::ALL.iter().copied() {
        assert_eq!(UnaryOp::ALL[op as usize], op);
        assert!(!op.doc().is_empty() && !op.name().is_empty() && op.cost() > 0, "{op}");
        assert!((-3..=3).any(|i| !op.eval(f64::from(i) / 2.0).is_nan()), "{op} has no meaning");
        assert!(op.class() == UnaryClass::Real || op.form(true).is_none(), "{op}: only functions of real numbers are composed");
    }
}

#[test]
fn forms_are_what_the_functions_mean() {
    for op in UnaryOp::ALL.iter().copied() {
        for (wide, bound) in [(true, 1e-13), (false, 1e-6)] {
            let Some(form) = op.form(wide) else { continue };
            let mut worst = (0.0, 0.0);
            for x in samples() {
                // Numbers that the narrow form is asked for.
                let x = if wide { x } else { f64::from(x as f32) };
                let (got, want) = (form.eval(&[x]), op.eval(x));
                // Close to a pole of the negative numbers both are as far off as the argument is rounded.
                let scale = want.abs().max(1.0);
                let error = (got - want).abs() / scale;
                if got == want || got.is_nan() && want.is_nan() {
                    continue;
                }
                assert!(!error.is_nan(), "{op} of {x:e}: {got:e}, want {want:e}");
                if error > worst.0 {
                    worst = (error, x);
                }
            }
            println!("{op}, {} bits: {:.1e} at {:e}; {} terms", if wide { 64 } else { 32 }, worst.0, worst.1, form.terms().len());
            assert!(worst.0 < bound, "{op} is {:e} off at {:e}", worst.0, worst.1);
        }
    }
}

/// The derivative of the exact meaning by central differences of fourth order.
#[test]
fn gradients_are_the_slopes() {
    for op in UnaryOp::ALL.iter().copied() {
        let mut n = 0;
        for i in -60..=160 {
            let x = f64::from(i) / 20.0 + 0.013;
            let at = |d: f64| op.eval(x + d);
            let difference = |h: f64| (at(-2.0 * h) - 8.0 * at(-h) + 8.0 * at(h) - at(2.0 * h)) / (12.0 * h);
            let (want, finer) = (difference(1e-3), difference(5e-4));
            // Not beside a pole or a bend.
            if op.class() != UnaryClass::Real || !want.is_finite() || (want - finer).abs() > 1e-7 * want.abs().max(1.0) {
                continue;
            }
            let got = op.slope(true).map_or(0.0, |slope| slope.eval(&[x, at(0.0), 1.0]));
            n += 1;
            assert!((got - want).abs() <= 1e-6 * want.abs().max(1.0), "{op} at {x}: {got}, by differences {want}");
        }
        assert!(n > 10 || op.class() != UnaryClass::Real, "{op}: {n} points");
    }
}

#[test]
fn special_functions_have_known_values() {
    let close = |got: f64, want: f64| assert!((got - want).abs() <= 4e-15 * want.abs().max(1.0), "{got:e}, want {want:e}");
    close(UnaryOp::Digamma.eval(1.0), -0.577_215_664_901_532_9);
    close(UnaryOp::Digamma.eval(-0.5), 0.036_489_973_978_576_52);
    close(UnaryOp::Trigamma.eval(1.0), std::f64::consts::PI.powi(2) / 6.0);
    close(UnaryOp::LGamma.eval(0.5), 0.572_364_942_924_700_1);
    close(UnaryOp::ErfInv.eval(0.5), 0.476_936_276_204_469_9);
    for i in 1..60 {
        let x = 1.0 - 0.5f64.powi(i);
        // The inverse of what rounding left.
        let back = libm::erfc(UnaryOp::ErfInv.eval(x));
        assert!((back - (1.0 - x)).abs() <= 1e-13 * (1.0 - x) || x == 1.0, "{x:e}: {back:e}");
    }
    assert_eq!(UnaryOp::Digamma.eval(0.0), f64::NEG_INFINITY);
    assert_eq!(UnaryOp::Digamma.eval(-0.0), f64::INFINITY);
    assert!(UnaryOp::Digamma.eval(-3.0).is_nan());
    assert_eq!(UnaryOp::Trigamma.eval(-3.0), f64::INFINITY);
    assert_eq!((UnaryOp::ErfInv.eval(1.0), UnaryOp::ErfInv.eval(-1.0)), (f64::INFINITY, f64::NEG_INFINITY));
    assert!(UnaryOp::ErfInv.eval(1.5).is_nan());
}

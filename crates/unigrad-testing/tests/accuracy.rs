//! Results are within their documented bounds, on every device. `UNIGRAD_TEST_LONG=opencl:0,wgpu:0` compares 2^25 elements on these too;
//! `UNIGRAD_TEST_FULL=1` compares every element and dtype, and on slow devices leaves nothing out.

use unigrad_tensor::{DType, Device};
use unigrad_testing::{
    accuracy::{self, Findings},
    fast_devices, on_slow_devices,
    selection::full,
    without_f64,
};

fn assert_within(findings: &Findings) {
    findings.lines.iter().chain(&findings.failures).for_each(|line| println!("{line}"));
    assert!(findings.failures.is_empty(), "see the FAIL lines above");
}

#[test]
fn ten_and_ten_thousand() {
    let mut findings = Findings::default();
    for device in fast_devices() {
        let every = !device.info().software || full();
        let wanted: &[DType] = if every { &[DType::F32, DType::F64, DType::F16, DType::BF16] } else { &[DType::F32] };
        let lacks = without_f64(&device).is_some();
        for dtype in wanted.iter().filter(|dtype| !lacks || **dtype != DType::F64) {
            // Where each kernel costs a compiler a tenth of a second, what differs in nothing but the length is left out.
            for (len, columns, few) in [(10, 3, true), (10_000, 3, false)] {
                accuracy::reductions(&device, *dtype, (len, 1), 1, &mut findings);
                if every || !few {
                    accuracy::reductions(&device, *dtype, (len, columns), 1, &mut findings);
                }
                if *dtype == dtype.compute() && (every || !few) {
                    accuracy::functions(&device, *dtype, len, 1, &mut findings);
                }
            }
        }
    }
    assert_within(&findings);
}

#[test]
fn on_slow_devices_too() {
    assert!(on_slow_devices("ten_and_ten_thousand"), "see the FAIL lines above");
}

/// 2^25 elements, in one line and in columns.
#[test]
fn thirty_three_million() {
    let mut findings = Findings::default();
    let named = std::env::var("UNIGRAD_TEST_LONG").unwrap_or_else(|_| "cpu:0".to_owned());
    for name in named.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        unigrad::init();
        let device = Device::open(name).unwrap();
        let step = if full() { 1 } else { 1024 };
        let mut dtypes = vec![DType::F32];
        if full() {
            dtypes.push(DType::BF16);
            dtypes.extend(without_f64(&device).is_none().then_some(DType::F64));
        }
        for dtype in dtypes {
            accuracy::reductions(&device, dtype, (1 << 25, 1), step, &mut findings);
            accuracy::reductions(&device, dtype, (1 << 22, 8), step, &mut findings);
        }
        accuracy::functions(&device, DType::F32, 1 << 13, 1 << 12, &mut findings);
    }
    assert_within(&findings);
}

/// The bounds that are held here are those that the documentation gives.
#[test]
fn bounds_are_documented() {
    let page = include_str!("../../unigrad-tensor/src/accuracy.rs");
    let rows: Vec<Vec<&str>> =
        page.lines().filter_map(|line| line.strip_prefix("//! | ")?.strip_suffix(" |")).map(|line| line.split(" | ").collect()).collect();
    for (method, bound) in accuracy::documented() {
        let name = format!("`{method}`");
        let said = rows.iter().any(|row| row[0].split(", ").any(|named| named == name) && row.get(1).is_some_and(|said| *said == bound));
        assert!(said, "crates/unigrad-tensor/src/accuracy.rs has no row that gives {name} the bound {bound}");
    }
}

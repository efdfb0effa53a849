//! Groups of tensors on the device: with tables where arguments may share memory, with offsets from where buffers are bound, and one by one.

#[path = "../../../unigrad-gpu/tests/support/conformance.rs"]
mod conformance;
#[path = "../../../unigrad-gpu/tests/support/crossed.rs"]
mod crossed;
#[path = "../../../unigrad-gpu/tests/support/grouped.rs"]
mod grouped;
#[path = "../../../unigrad-gpu/tests/support/summed.rs"]
mod summed;
mod support;

use unigrad_gpu::{Backend, GpuDevice};
use unigrad_wgpu::{WgpuBackend, Without};

#[test]
fn groups_of_tensors() {
    if support::is_missing() {
        return;
    }
    let tables = Without { cheap_launches: true, ..Without::default() };
    let narrow = Without { offsets: true, int16: true, int64: true, ..tables };
    let apart = Without { overlapping: true, ..narrow };
    for (without, tables) in [(tables, true), (narrow, true), (apart, false)] {
        let backend = WgpuBackend::open_without(0, without).unwrap();
        assert_eq!(backend.target().tables, tables, "{without:?}");
        let has_f64 = backend.target().f64;
        println!("{without:?}");
        if tables {
            conformance::check(&backend, conformance::tables());
        }
        grouped::groups(&GpuDevice::new(backend), has_f64);
    }
}

#[test]
fn products_with_sums_of_an_operand() {
    if support::is_missing() {
        return;
    }
    summed::products_and_sums(&GpuDevice::new(WgpuBackend::open_without(0, Without::default()).unwrap()));
}

#[test]
fn rows_and_columns_in_one_walk() {
    if support::is_missing() {
        return;
    }
    for without in [Without::default(), Without { offsets: true, int16: true, int64: true, ..Without::default() }] {
        let backend = WgpuBackend::open_without(0, without).unwrap();
        let has_f64 = backend.target().f64;
        crossed::rows_and_columns(&GpuDevice::new(backend), has_f64);
    }
}

//! Groups of tensors on the device: with tables where arguments may share memory, with offsets from where buffers are bound, and one by one.

#[path = "../../../unigrad-gpu/tests/support/grouped.rs"]
mod grouped;
mod support;

use unigrad_gpu::{Backend, GpuDevice};
use unigrad_wgpu::{WgpuBackend, Without};

#[test]
fn groups_of_tensors() {
    if support::is_missing() {
        return;
    }
    let narrow = Without { offsets: true, int16: true, int64: true, ..Without::default() };
    let apart = Without { overlapping: true, ..narrow };
    for (without, tables) in [(Without::default(), true), (narrow, true), (apart, false)] {
        let backend = WgpuBackend::open_without(0, without).unwrap();
        assert_eq!(backend.target().tables, tables, "{without:?}");
        let has_f64 = backend.target().f64;
        println!("{without:?}");
        grouped::groups(&GpuDevice::new(backend), has_f64);
    }
}

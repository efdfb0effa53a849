//! Errors of all parts of a program in one: `?` makes each of them an `unigrad::Error`, which has a kind to decide by.

use unigrad::prelude::*;
use unigrad::{data, device, tensor::Dim};

/// What goes wrong in a run of the program.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Wrong {
    Nothing,
    Device,
    Memory,
    Axis,
    Tensor,
    Layer,
    Data,
    Optimizer,
    Step,
    Checkpoint,
}

#[test]
fn one_closure_mixes_the_errors_of_all_parts() {
    let folder = std::env::temp_dir().join(format!("unigrad-errors-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = folder.join("words.txt");
    std::fs::write(&text, "one two three").unwrap();
    let run = |wrong: Wrong| -> Result<f32> {
        let is = |of: Wrong| wrong == of;
        // Errors of devices, and of named axes, are of types of their own.
        let device = Device::open(if is(Wrong::Device) { "cpu:99" } else { "cpu" })?;
        device.allocate(if is(Wrong::Memory) { usize::MAX / 4 } else { 16 })?;
        let rows = Dim::named("rows", if is(Wrong::Axis) { 0..=4 } else { 1..=4 })?;
        let x = Tensor::full([4, 3], 1.0, DType::F32, &device).with_dim(0, &rows).fixed(0);
        let x = if is(Wrong::Tensor) { x.reshape([5, 5]) } else { x }.check()?;
        let layer = nn::Linear::new(if is(Wrong::Layer) { 7 } else { 3 }, 2, &device);
        let y = layer.forward(&x).check()?;
        let words = data::Text::read(if is(Wrong::Data) { folder.join("none.txt") } else { text.clone() })?;
        assert!(!words.vocabulary.is_empty());
        let frozen = Tensor::full([2], 1.0, DType::F32, &device);
        let mut optimizer = nn::Sgd::new(if is(Wrong::Optimizer) { vec![frozen] } else { layer.parameters() }, 0.1)?;
        let loss = if is(Wrong::Step) { y } else { y.square().mean(()) };
        optimizer.minimize(&loss, &[])?;
        let saved = nn::TensorFile::open(folder.join("none.safetensors"));
        if is(Wrong::Checkpoint) {
            saved?;
        }
        loss.item::<f32>()
    };
    assert!(run(Wrong::Nothing).unwrap() > 0.0);
    let kinds = [
        (Wrong::Device, ErrorKind::NotAvailable),
        (Wrong::Memory, ErrorKind::OutOfMemory),
        (Wrong::Axis, ErrorKind::Argument),
        (Wrong::Tensor, ErrorKind::Shape),
        (Wrong::Layer, ErrorKind::Shape),
        (Wrong::Data, ErrorKind::File),
        (Wrong::Optimizer, ErrorKind::Argument),
        (Wrong::Step, ErrorKind::Autograd),
        (Wrong::Checkpoint, ErrorKind::File),
    ];
    for (wrong, kind) in kinds {
        let error = run(wrong).unwrap_err();
        assert_eq!(error.kind(), kind, "{wrong:?}: {error}");
    }
    // A kind is there before anything is converted as well.
    let error: device::Error = Device::open("cpu:99").unwrap_err();
    assert!(Error::from(error).is_not_available());
    std::fs::remove_dir_all(&folder).unwrap();
}

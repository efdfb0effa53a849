//! Examples of layers and losses that macros make, for their documentation.
//!
//! In: how a value is made, and what it gives. Out: the text of a program that asserts it. Never: code of the library.

/// The text of an example that several types share.
macro_rules! example {
    // Lines that use a device, between what every example begins and ends with.
    (lines $($text:expr),+) => {
        concat!(
            "\n```\n# extern crate unigrad_nn as unigrad;\n# unigrad_device::register(unigrad_cpu::CpuDriver::default());\n",
            $($text,)+
            "# Ok::<(), unigrad::Error>(())\n```"
        )
    };
    // A layer, made by what stands after its name: the shape that it gives for a shape.
    ($name:ident, $new:literal, $from:literal => $to:literal) => { example!($name, "", $new, $from => $to) };
    ($name:ident, $uses:literal, $new:literal, $from:literal => $to:literal) => {
        example!(
            lines "use unigrad::nn::{Layer, ", stringify!($name), "};\nuse unigrad_tensor::{", $uses, "DType, Device, Tensor};\n\n",
            "let device = Device::open(\"cpu\")?;\nlet layer = ", stringify!($name), $new, ";\n",
            "let x = Tensor::ones(", $from, ", DType::F32, &device);\nassert_eq!(layer.forward(&x).dims()?, ", $to, ");\n"
        )
    };
    // The numbers that it gives for -2, 0 and 1.
    ($name:ident, $new:literal, $numbers:literal) => {
        example!(
            lines "use unigrad::nn::{Layer, ", stringify!($name), "};\nuse unigrad_tensor::{Device, Tensor};\n\n",
            "let device = Device::open(\"cpu\")?;\nlet layer = ", stringify!($name), $new, ";\n",
            "let y = layer.forward(&Tensor::new([-2.0f32, 0.0, 1.0], &device)).to_vec::<f32>()?;\n",
            "assert_eq!(y.len(), 3);\n",
            "assert!(y.iter().zip(", $numbers, ").all(|(y, want): (&f32, f32)| (y - want).abs() < 1e-4));\n"
        )
    };
    // A layer that puts back what a maximum over windows took.
    (unpool $name:ident, $n:literal, $shape:literal) => {
        example!(
            lines "use unigrad::nn::", stringify!($name), ";\nuse unigrad_tensor::{DType, Device, PoolOptions, Tensor};\n\n",
            "let x = Tensor::ones(", $shape, ", DType::F32, &Device::open(\"cpu\")?);\n",
            "let (maxima, index) = x.max_pool_with_index(", $n, ", &PoolOptions::new(2));\n",
            "assert_eq!(", stringify!($name), "::new(2).forward(&maxima, &index, None).dims()?, ", $shape, ");\n"
        )
    };
    // One step of a recurrent layer.
    (cell $name:ident, $state:literal) => {
        example!(
            lines "use unigrad::nn::", stringify!($name), ";\nuse unigrad_tensor::{DType, Device, Tensor};\n\n",
            "let device = Device::open(\"cpu\")?;\nlet cell = ", stringify!($name), "::new(4, 8, &device);\n",
            "let ", $state, " = cell.step(&Tensor::ones([2, 4], DType::F32, &device), None);\nassert_eq!(h.dims()?, [2, 8]);\n"
        )
    };
    // A loss with its defaults, of a prediction and a target.
    (loss $name:ident, $prediction:literal, $target:literal, $value:literal) => {
        example!(
            lines "use unigrad::nn::{Loss, ", stringify!($name), "};\nuse unigrad_tensor::{Device, Tensor};\n\n",
            "let device = Device::open(\"cpu\")?;\nlet prediction = Tensor::new(", $prediction, ", &device);\n",
            "let target = Tensor::new(", $target, ", &device);\n",
            "let loss = ", stringify!($name), "::default().forward(&prediction, &target);\n",
            "assert!((loss.item::<f32>()? - ", $value, ").abs() < 1e-3);\n"
        )
    };
}

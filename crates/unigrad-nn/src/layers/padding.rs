//! Layers that pad spatial axes.
//!
//! Always: pairs of (before, after) stand in the order of the axes, the last pair for the last axis (PyTorch's list begins with the last); negative
//! numbers cut.

use super::Layer;
use crate::{Module, trace};
use unigrad_tensor::{PadMode, Tensor};

macro_rules! pads {
    ($($name:ident, $n:literal, $mode:expr, $from:literal => $to:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, "::new(2)", $from => $to)]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// Before and after, per axis.
            #[module(skip)]
            pub pads: [(i64, i64); $n],
        }

        impl $name {
            /// The same on every side.
            pub fn new(pad: i64) -> $name {
                $name { pads: [(pad, pad); $n] }
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), None, x.pad_or_cut(&self.pads, $mode))
            }
        }
    )* };
}
pads! {
    ZeroPad1d, 1, PadMode::Constant(0.0), "[2, 3, 4]" => "[2, 3, 8]",
        "Zeros around the last axis.";
    ZeroPad2d, 2, PadMode::Constant(0.0), "[2, 3, 4, 5]" => "[2, 3, 8, 9]",
        "Zeros around the last two axes.";
    ZeroPad3d, 3, PadMode::Constant(0.0), "[2, 3, 4, 5, 6]" => "[2, 3, 8, 9, 10]",
        "Zeros around the last three axes.";
    ReflectionPad1d, 1, PadMode::Reflect, "[2, 3, 4]" => "[2, 3, 8]",
        "The last axis mirrored at its ends, which are not repeated.";
    ReflectionPad2d, 2, PadMode::Reflect, "[2, 3, 4, 5]" => "[2, 3, 8, 9]",
        "The last two axes mirrored at their ends, which are not repeated.";
    ReflectionPad3d, 3, PadMode::Reflect, "[2, 3, 4, 5, 6]" => "[2, 3, 8, 9, 10]",
        "The last three axes mirrored at their ends, which are not repeated.";
    ReplicationPad1d, 1, PadMode::Replicate, "[2, 3, 4]" => "[2, 3, 8]",
        "The ends of the last axis again and again.";
    ReplicationPad2d, 2, PadMode::Replicate, "[2, 3, 4, 5]" => "[2, 3, 8, 9]",
        "The ends of the last two axes again and again.";
    ReplicationPad3d, 3, PadMode::Replicate, "[2, 3, 4, 5, 6]" => "[2, 3, 8, 9, 10]",
        "The ends of the last three axes again and again.";
    CircularPad1d, 1, PadMode::Circular, "[2, 3, 4]" => "[2, 3, 8]",
        "The last axis continued from its other end.";
    CircularPad2d, 2, PadMode::Circular, "[2, 3, 4, 5]" => "[2, 3, 8, 9]",
        "The last two axes continued from their other ends.";
    CircularPad3d, 3, PadMode::Circular, "[2, 3, 4, 5, 6]" => "[2, 3, 8, 9, 10]",
        "The last three axes continued from their other ends.";
}

macro_rules! constant_pads {
    ($($name:ident, $n:literal, $from:literal => $to:literal, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!($name, "::new(2, 0.5)", $from => $to)]
        #[derive(Module, Clone, Debug)]
        pub struct $name {
            /// Before and after, per axis.
            #[module(skip)]
            pub pads: [(i64, i64); $n],
            /// What is put there.
            pub value: f64,
        }

        impl $name {
            /// The same on every side.
            pub fn new(pad: i64, value: f64) -> $name {
                $name { pads: [(pad, pad); $n], value }
            }
        }

        impl Layer for $name {
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                trace::observe(stringify!($name), None, x.pad_or_cut(&self.pads, PadMode::Constant(self.value)))
            }
        }
    )* };
}
constant_pads! {
    ConstantPad1d, 1, "[2, 3, 4]" => "[2, 3, 8]", "A value around the last axis.";
    ConstantPad2d, 2, "[2, 3, 4, 5]" => "[2, 3, 8, 9]", "A value around the last two axes.";
    ConstantPad3d, 3, "[2, 3, 4, 5, 6]" => "[2, 3, 8, 9, 10]", "A value around the last three axes.";
}

//! Classifiers of small grey images.

use crate::{Conv2d, Dropout, Layer, Linear, Module};
use unigrad_tensor::{ConvOptions, Device, Origin, PoolOptions, Tensor};

/// Two convolutions, a pool, two linear layers; input `[n, 1, height, width]`, output a logit per class.
#[derive(Module, Clone)]
pub struct Cnn {
    conv1: Conv2d,
    conv2: Conv2d,
    dropout: Dropout,
    fc1: Linear,
    fc2: Linear,
}

impl Cnn {
    /// For images of a size; `padding` zeros around keep small images from shrinking.
    #[track_caller]
    pub fn new(height: usize, width: usize, n_classes: usize, padding: usize, dropout: f64, device: &Device) -> Cnn {
        let _origin = Origin::enter_caller();
        let after = |size: usize| (size + 4 * padding).saturating_sub(4) / 2;
        Cnn {
            conv1: Conv2d::new(1, 32, 3, ConvOptions::new(1, padding), device),
            conv2: Conv2d::new(32, 64, 3, ConvOptions::new(1, padding), device),
            dropout: Dropout::new(dropout),
            fc1: Linear::new(64 * after(height) * after(width), 128, device),
            fc2: Linear::new(128, n_classes, device),
        }
    }
}

impl Layer for Cnn {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.conv1.forward(x).relu();
        let x = self.conv2.forward(&x).relu().max_pool2d(&PoolOptions::new(2));
        let x = self.dropout.forward(&x.flatten(1, -1));
        let x = self.fc1.forward(&x).relu();
        self.fc2.forward(&self.dropout.forward(&x))
    }
}

/// Linear layers with ReLU between; input `[n, ..]`, flattened.
#[derive(Module, Clone)]
pub struct Mlp {
    layers: Vec<Linear>,
    dropout: Dropout,
}

impl Mlp {
    /// Layers between the given sizes: inputs, hidden ones, classes.
    #[track_caller]
    pub fn new(sizes: &[usize], dropout: f64, device: &Device) -> Mlp {
        let _origin = Origin::enter_caller();
        let layers = sizes.windows(2).map(|pair| Linear::new(pair[0], pair[1], device)).collect();
        Mlp { layers, dropout: Dropout::new(dropout) }
    }
}

impl Layer for Mlp {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let mut x = x.flatten(1, -1);
        for (i, layer) in self.layers.iter().enumerate() {
            x = if i == 0 { layer.forward(&x) } else { layer.forward(&self.dropout.forward(&x.relu())) };
        }
        x
    }
}

//! Small complete models: what the command line trains.

mod gpt;
mod images;
mod sampling;

pub use gpt::{Gpt, GptBlock, GptConfig};
pub use images::{Cnn, Mlp};
pub use sampling::Sampling;

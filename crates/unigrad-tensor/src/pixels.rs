//! Channels and pixels in other places: `pixel_shuffle`, `pixel_unshuffle`, `channel_shuffle`. All of them are views.

use crate::Tensor;
use unigrad_graph::ErrorKind;

impl Tensor {
    /// Channels as pixels: `[.., c * r * r, h, w]` becomes `[.., c, h * r, w * r]`, so that `out[c, h r + i, w r + j]` is channel
    /// `(c r + i) r + j` (Shi et al., 2016).
    #[track_caller]
    pub fn pixel_shuffle(&self, r: usize) -> Tensor {
        if self.is_invalid() {
            return self.clone();
        }
        let shape = self.shape();
        let lead = shape.len().saturating_sub(3);
        let square = r.checked_mul(r).filter(|square| *square > 0);
        let (&[channels, h, w], Some(square)) = (&shape[lead..], square) else {
            return self.not_shuffled("pixel_shuffle", r, "the input is [.., c * r * r, h, w], r at least 1");
        };
        let sizes = h.checked_mul(r).zip(w.checked_mul(r)).filter(|_| channels.is_multiple_of(square));
        let Some((height, width)) = sizes else {
            return self.not_shuffled("pixel_shuffle", r, "the number of channels is a multiple of r * r, and sizes are not too large");
        };
        let at = lead as isize;
        let apart = self.reshape_to(&[&shape[..lead], &[channels / square, r, r, h, w]].concat());
        // [.., c, r, r, h, w] to [.., c, h, r, w, r].
        apart.movedim(at + 3, at + 1).movedim(at + 4, at + 3).reshape_to(&[&shape[..lead], &[channels / square, height, width]].concat())
    }

    /// Pixels as channels, the way back from [`Tensor::pixel_shuffle`]: `[.., c, h * r, w * r]` becomes `[.., c * r * r, h, w]`.
    #[track_caller]
    pub fn pixel_unshuffle(&self, r: usize) -> Tensor {
        if self.is_invalid() {
            return self.clone();
        }
        let shape = self.shape();
        let lead = shape.len().saturating_sub(3);
        let fits = shape.len() >= 3 && r > 0 && shape[lead + 1].is_multiple_of(r) && shape[lead + 2].is_multiple_of(r);
        let channels = r.checked_mul(r).and_then(|square| square.checked_mul(*shape.get(lead)?));
        let (true, Some(channels)) = (fits, channels) else {
            return self.not_shuffled("pixel_unshuffle", r, "the input is [.., c, h * r, w * r], r at least 1");
        };
        let (h, w) = (shape[lead + 1] / r, shape[lead + 2] / r);
        let at = lead as isize;
        let apart = self.reshape_to(&[&shape[..lead], &[shape[lead], h, r, w, r]].concat());
        // [.., c, h, r, w, r] to [.., c, r, r, h, w].
        apart.movedim(at + 2, at + 1).movedim(at + 4, at + 2).reshape_to(&[&shape[..lead], &[channels, h, w]].concat())
    }

    /// Channels of `[n, c, ..]` in another order: the first of each of `groups` groups, then the second of each, and so on.
    #[track_caller]
    pub fn channel_shuffle(&self, groups: usize) -> Tensor {
        if self.is_invalid() {
            return self.clone();
        }
        let shape = self.shape();
        if shape.len() < 2 || groups == 0 || groups > shape[1].max(1) || !shape[1].is_multiple_of(groups) {
            return self.not_shuffled("channel_shuffle", groups, "the input is [n, c, ..], and c a multiple of the groups");
        }
        let apart = self.reshape_to(&[&[shape[0], groups, shape[1] / groups], &shape[2..]].concat());
        apart.transpose(1, 2).reshape_to(&shape)
    }

    #[track_caller]
    fn not_shuffled(&self, op: &str, by: usize, help: &str) -> Tensor {
        Tensor::fail(ErrorKind::Shape, op, format!("{:?} by {by}", self.shape()), help, &[self])
    }
}

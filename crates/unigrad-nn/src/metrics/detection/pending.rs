//! Images of a detector that wait for their device.
//!
//! In: boxes, scores and labels as tensors, which may still be computed. Out: the numbers, when averages are asked for.
//! Always: shapes are checked when an image is counted, numbers when they are read; the error then names the image.

use super::{Detections, Objects, check};
use crate::{
    error::{Error, Result},
    metrics::unlike,
};
use std::borrow::Cow;
use unigrad_tensor::Tensor;

/// An image that is counted.
#[derive(Clone, Debug)]
pub(super) enum Image {
    Known((Detections, Objects)),
    Pending(Pending),
}

impl Image {
    /// Its numbers; `at` is its place among the images. Waits if they are tensors.
    pub(super) fn known(&self, at: usize) -> Result<Cow<'_, (Detections, Objects)>> {
        match self {
            Image::Known(known) => Ok(Cow::Borrowed(known)),
            Image::Pending(pending) => pending.read().map(Cow::Owned).map_err(|error| match error {
                Error::Argument { cause, help } => Error::argument(format!("image {at}: {cause}"), help),
                other => other,
            }),
        }
    }
}

/// Boxes, scores and labels of what was found, boxes and labels of what is there.
#[derive(Clone, Debug)]
pub(super) struct Pending([Tensor; 5]);

impl Pending {
    /// Handles of values that are computed, or will be without further work.
    #[track_caller]
    pub(super) fn new(tensors: [&Tensor; 5]) -> Result<Pending> {
        let [boxes, scores, labels, true_boxes, true_labels] = tensors;
        const HELP: &str = "give boxes [n, 4], scores [n] and class indices [n], and boxes [m, 4] and class indices [m]";
        let fit = |boxes: &Tensor, of_each: &Tensor| {
            let (boxes, of_each) = (boxes.shape(), of_each.shape());
            boxes.len() == 2 && boxes[1] == 4 && of_each == [boxes[0]]
        };
        for (boxes, of_each, floats) in [(boxes, scores, true), (boxes, labels, false), (true_boxes, true_labels, false)] {
            let numbers = boxes.dtype().is_float() && of_each.dtype().is_float() == floats;
            if boxes.is_invalid() || of_each.is_invalid() || !fit(boxes, of_each) || !numbers {
                return Err(unlike("mean average precision", boxes, of_each, HELP));
            }
        }
        let kept = tensors.map(Tensor::detach);
        Tensor::realize_all(&kept.each_ref())?;
        Ok(Pending(kept))
    }

    fn read(&self) -> Result<(Detections, Objects)> {
        let [boxes, scores, labels, true_boxes, true_labels] = &self.0;
        let (found, there) = (Detections::read(boxes, scores, labels)?, Objects::read(true_boxes, true_labels)?);
        check(&found, &there)?;
        Ok((found, there))
    }
}

//! Metrics of detectors: how much boxes and masks overlap, and mean average precision as COCO defines it.
//!
//! In: boxes with scores and labels, and the boxes that should have been found, image by image. Out: overlaps as tensors; averages as numbers.
//! Always: the numbers are those of COCO's own program (pycocotools): 10 thresholds, precision at 101 recalls, objects in three sizes, crowds.
//! Never: counts an image twice; takes a box or score that is no number.

mod pending;

use crate::error::{Error, Result};
use pending::{Image, Pending};
use std::collections::{BTreeMap, BTreeSet};
use unigrad_tensor::{DType, Tensor, no_grad};

/// Overlap of each pair of boxes, `[n, 4]` and `[m, 4]` with corners `x1, y1, x2, y2`: the area of both over that of either, `[n, m]`. 0 for boxes without area.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// # use unigrad_tensor::{Device, Tensor};
/// # let device = Device::open("cpu")?;
/// let a = Tensor::new([[0.0f32, 0.0, 2.0, 2.0]], &device);
/// let b = Tensor::new([[1.0f32, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]], &device);
/// let iou = unigrad_nn::metrics::box_iou(&a, &b)?.to_vec::<f32>()?;
/// assert!((iou[0] - 1.0 / 3.0).abs() < 1e-6 && iou[1] == 0.0);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[track_caller]
pub fn box_iou(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let is_boxes = |x: &Tensor| !x.is_invalid() && x.rank() == 2 && x.shape()[1] == 4 && x.dtype().is_float() && !x.dtype().only_stores();
    if !is_boxes(a) || !is_boxes(b) {
        return Err(super::unlike("box_iou", a, b, "give floats [n, 4] and [m, 4]: x1, y1, x2, y2 of each box"));
    }
    let corner = |x: &Tensor, i: usize, axis: isize| x.narrow(1, i, 1).squeeze(1).unsqueeze(axis);
    let area = |x: &Tensor, axis: isize| (corner(x, 2, axis) - corner(x, 0, axis)) * (corner(x, 3, axis) - corner(x, 1, axis));
    let side = |low: usize| {
        let (begin, end) = (corner(a, low, 1).maximum(corner(b, low, 0)), corner(a, low + 2, 1).minimum(corner(b, low + 2, 0)));
        (end - begin).clamp_min(0.0)
    };
    let both = side(0) * side(1);
    let either = area(a, 1) + area(b, 0) - &both;
    let is_empty = either.le(0.0);
    (both / is_empty.where_(1.0, &either)).check()
}

/// Overlap of each pair of masks, `[n, ..]` and `[m, ..]` of one size: the elements of both over those of either, `[n, m]` in `f32`. What is not 0 is in a mask. 0 for
/// masks without elements.
#[track_caller]
pub fn mask_iou(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let fit = !a.is_invalid() && !b.is_invalid() && a.rank() >= 1 && b.rank() >= 1 && a.shape()[1..] == b.shape()[1..];
    if !fit {
        return Err(super::unlike("mask_iou", a, b, "give masks [n, height, width] and [m, height, width]"));
    }
    no_grad(|| {
        let flat = |x: &Tensor| {
            let (n, size) = (x.shape()[0], x.shape()[1..].iter().product::<usize>());
            x.ne(0.0).cast(DType::F32).reshape([n, size])
        };
        let (a, b) = (flat(a), flat(b));
        let both = a.matmul(&b.transpose(0, 1));
        let either = a.sum(1).unsqueeze(1) + b.sum(1).unsqueeze(0) - &both;
        let is_empty = either.le(0.0);
        (both / is_empty.where_(1.0, &either)).check()
    })
}

/// What a detector found in an image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detections {
    /// Corners `x1, y1, x2, y2`.
    pub boxes: Vec<[f64; 4]>,
    /// How sure it is of each.
    pub scores: Vec<f64>,
    /// The class of each.
    pub labels: Vec<i64>,
}

/// What is in an image.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Objects {
    /// Corners `x1, y1, x2, y2`.
    pub boxes: Vec<[f64; 4]>,
    /// The class of each.
    pub labels: Vec<i64>,
    /// Which of them are crowds, in which any number of detections is neither right nor wrong. None are where this is empty.
    pub crowd: Vec<bool>,
    /// Their areas, where these are not those of the boxes, as of outlines; empty otherwise.
    pub areas: Vec<f64>,
}

fn corners(boxes: &Tensor) -> Result<Vec<[f64; 4]>> {
    Ok(boxes.to_f64_vec()?.as_chunks().0.to_vec())
}

impl Detections {
    /// From tensors: boxes `[n, 4]`, scores `[n]`, class indices `[n]`. Waits.
    pub fn read(boxes: &Tensor, scores: &Tensor, labels: &Tensor) -> Result<Detections> {
        Ok(Detections { boxes: corners(boxes)?, scores: scores.to_f64_vec()?, labels: labels.cast(DType::I64).to_vec()? })
    }
}

impl Objects {
    /// From tensors: boxes `[n, 4]`, class indices `[n]`. Waits.
    pub fn read(boxes: &Tensor, labels: &Tensor) -> Result<Objects> {
        Ok(Objects { boxes: corners(boxes)?, labels: labels.cast(DType::I64).to_vec()?, ..Objects::default() })
    }
}

/// What COCO's program prints. NaN where there is nothing to find.
#[derive(Clone, Debug, PartialEq)]
pub struct AveragePrecision {
    /// The mean over classes and over the overlaps 0.5, 0.55, …, 0.95.
    pub map: f64,
    /// At overlap 0.5.
    pub map_50: f64,
    /// At overlap 0.75.
    pub map_75: f64,
    /// Of objects below 32² of area.
    pub map_small: f64,
    /// Of objects from 32² to 96² of area.
    pub map_medium: f64,
    /// Of objects above 96² of area.
    pub map_large: f64,
    /// The greatest recall with one detection an image, meant over classes and overlaps.
    pub recall_1: f64,
    /// With ten.
    pub recall_10: f64,
    /// With a hundred.
    pub recall_100: f64,
    /// With a hundred, of small objects.
    pub recall_small: f64,
    /// Of medium ones.
    pub recall_medium: f64,
    /// Of large ones.
    pub recall_large: f64,
    /// Average precision of each class.
    pub per_class: BTreeMap<i64, f64>,
}

/// Mean average precision of boxes, as COCO defines it, over all images of a pass. Tensors stay on their device until the averages are asked for
/// ([`MeanAveragePrecision::update_tensors`]); detections are given objects on the host.
///
/// ```
/// use unigrad_nn::metrics::{Detections, MeanAveragePrecision, Objects};
///
/// let mut map = MeanAveragePrecision::default();
/// let found = Detections { boxes: vec![[0.0, 0.0, 10.0, 10.0]], scores: vec![0.9], labels: vec![1] };
/// let there = Objects { boxes: vec![[0.0, 0.0, 10.0, 8.0]], labels: vec![1], ..Objects::default() };
/// map.update(found, there)?;
/// let value = map.value()?;
/// assert!((value.map_50 - 1.0).abs() < 1e-9 && (value.map_75 - 1.0).abs() < 1e-9); // they overlap by 0.8 …
/// assert!((value.map - 0.7).abs() < 1e-9); // … which 7 of the 10 thresholds allow
/// # Ok::<(), unigrad_nn::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MeanAveragePrecision {
    images: Vec<Image>,
}

const THRESHOLDS: usize = 10;
const RECALLS: usize = 101;
/// Detections of an image and class that count, at most.
const MOST: usize = 100;
const ALL: (f64, f64) = (0.0, 1e10);
const SMALL: (f64, f64) = (0.0, 1024.0);
const MEDIUM: (f64, f64) = (1024.0, 9216.0);
const LARGE: (f64, f64) = (9216.0, 1e10);

/// As NumPy's `linspace(0.5, 0.95, 10)`, to the last bit.
fn threshold(i: usize) -> f64 {
    if i + 1 == THRESHOLDS { 0.95 } else { i as f64 * ((0.95 - 0.5) / (THRESHOLDS - 1) as f64) + 0.5 }
}

fn recall(i: usize) -> f64 {
    if i + 1 == RECALLS { 1.0 } else { i as f64 * (1.0 / (RECALLS - 1) as f64) }
}

fn area(b: &[f64; 4]) -> f64 {
    (b[2] - b[0]) * (b[3] - b[1])
}

/// Of a crowd, the part of the detection that is in it.
fn overlap(found: &[f64; 4], object: &[f64; 4], crowd: bool) -> f64 {
    let (w, h) = (found[2].min(object[2]) - found[0].max(object[0]), found[3].min(object[3]) - found[1].max(object[1]));
    if w <= 0.0 || h <= 0.0 {
        return 0.0;
    }
    let both = w * h;
    both / if crowd { area(found) } else { area(found) + area(object) - both }
}

/// The order of descending scores; equal ones stay in theirs.
fn descending(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    order
}

/// A class in an image, at each threshold.
struct Matched {
    scores: Vec<f64>,
    /// Per threshold and detection: whether an object was found, and whether the detection counts for nothing.
    found: Vec<[(bool, bool); THRESHOLDS]>,
    /// Objects to find.
    n_objects: usize,
}

impl MeanAveragePrecision {
    /// Counts an image.
    ///
    /// # Errors
    /// Boxes, scores and labels are not equally many, or one is no finite number or has a negative side.
    pub fn update(&mut self, found: Detections, there: Objects) -> Result<()> {
        check(&found, &there)?;
        self.images.push(Image::Known((found, there)));
        Ok(())
    }

    /// Counts an image from tensors, on any device: boxes `[n, 4]`, scores `[n]` and class indices `[n]` of what was found, boxes `[m, 4]` and class indices `[m]`
    /// of what is there. Waits for nothing: the tensors are kept, and read when the averages are asked for.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// # use unigrad_nn::metrics::MeanAveragePrecision;
    /// # use unigrad_tensor::{Device, Tensor};
    /// # let device = Device::open("cpu")?;
    /// let (boxes, label) = (Tensor::new([[0.0f32, 0.0, 10.0, 10.0]], &device), Tensor::new([1i64], &device));
    /// let mut map = MeanAveragePrecision::default();
    /// map.update_tensors(&boxes, &Tensor::new([0.9f32], &device), &label, &boxes, &label)?;
    /// assert!((map.value()?.map - 1.0).abs() < 1e-9);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Shapes do not fit. What is wrong with numbers, [`MeanAveragePrecision::value`] says.
    #[track_caller]
    pub fn update_tensors(
        &mut self,
        boxes: &Tensor,
        scores: &Tensor,
        labels: &Tensor,
        true_boxes: &Tensor,
        true_labels: &Tensor,
    ) -> Result<()> {
        self.images.push(Image::Pending(Pending::new([boxes, scores, labels, true_boxes, true_labels])?));
        Ok(())
    }

    /// The averages over all images since the last reset. Waits where images were tensors.
    ///
    /// # Errors
    /// A tensor cannot be computed, or one of its boxes or scores is refused, as [`MeanAveragePrecision::update`] would: the error says of which image.
    pub fn value(&self) -> Result<AveragePrecision> {
        let images = self.images.iter().enumerate().map(|(at, image)| image.known(at)).collect::<Result<Vec<_>>>()?;
        let images: Vec<&(Detections, Objects)> = images.iter().map(AsRef::as_ref).collect();
        Ok(averages(&images))
    }

    /// Forgets all images.
    pub fn reset(&mut self) {
        self.images.clear();
    }
}

/// Refuses what are no detections and objects.
fn check(found: &Detections, there: &Objects) -> Result<()> {
    let n = found.boxes.len();
    let m = there.boxes.len();
    let given = |list: usize| list == 0 || list == m;
    if found.scores.len() != n
        || found.labels.len() != n
        || there.labels.len() != m
        || !given(there.crowd.len())
        || !given(there.areas.len())
    {
        let cause = format!(
            "{n} detections with {} scores and {} labels, and {m} objects with {} labels, {} crowds and {} areas",
            found.scores.len(),
            found.labels.len(),
            there.labels.len(),
            there.crowd.len(),
            there.areas.len()
        );
        return Err(Error::argument(cause, "give a score and a label for each box"));
    }
    let is_box = |b: &&[f64; 4]| b.iter().all(|x| x.is_finite()) && b[2] >= b[0] && b[3] >= b[1];
    if let Some(wrong) = found.boxes.iter().chain(&there.boxes).find(|b| !is_box(b)) {
        return Err(Error::argument(format!("a box with the corners {wrong:?}"), "give x1, y1, x2, y2 with x1 <= x2 and y1 <= y2"));
    }
    if let Some(wrong) = found.scores.iter().chain(&there.areas).find(|x| !x.is_finite()) {
        return Err(Error::argument(format!("a score or area of {wrong}"), "give finite numbers"));
    }
    Ok(())
}

fn averages(all: &[&(Detections, Objects)]) -> AveragePrecision {
    let classes: BTreeSet<i64> = all.iter().flat_map(|(found, there)| found.labels.iter().chain(&there.labels)).copied().collect();
    let mut per_class = BTreeMap::new();
    let mut precisions = [const { Vec::new() }; 4];
    let mut recalls = [const { Vec::new() }; 6];
    for class in classes {
        for (i, range) in [ALL, SMALL, MEDIUM, LARGE].into_iter().enumerate() {
            let images: Vec<Matched> = all.iter().filter_map(|(found, there)| matched(found, there, class, range)).collect();
            if let Some((precision, recall)) = curve(&images, MOST) {
                if i == 0 {
                    per_class.insert(class, precision.iter().sum::<f64>() / THRESHOLDS as f64);
                    recalls[0].extend(curve(&images, 1).map(|(_, recall)| recall));
                    recalls[1].extend(curve(&images, 10).map(|(_, recall)| recall));
                }
                precisions[i].push(precision);
                recalls[2 + i].push(recall);
            }
        }
    }
    // Each class and threshold counts alike.
    let mean = |of: &[[f64; THRESHOLDS]]| of.iter().flatten().sum::<f64>() / (of.len() * THRESHOLDS) as f64;
    let at = |threshold: usize| precisions[0].iter().map(|precision| precision[threshold]).sum::<f64>() / precisions[0].len() as f64;
    AveragePrecision {
        map: mean(&precisions[0]),
        map_50: at(0),
        map_75: at(5),
        map_small: mean(&precisions[1]),
        map_medium: mean(&precisions[2]),
        map_large: mean(&precisions[3]),
        recall_1: mean(&recalls[0]),
        recall_10: mean(&recalls[1]),
        recall_100: mean(&recalls[2]),
        recall_small: mean(&recalls[3]),
        recall_medium: mean(&recalls[4]),
        recall_large: mean(&recalls[5]),
        per_class,
    }
}

/// Gives each detection of a class, the surest first, the object that it overlaps most and that none has yet.
fn matched(found: &Detections, there: &Objects, class: i64, (least, most): (f64, f64)) -> Option<Matched> {
    let outside = |area: f64| area < least || area > most;
    let is_crowd = |i: usize| there.crowd.get(i).copied().unwrap_or(false);
    let ignored = |i: usize| is_crowd(i) || outside(there.areas.get(i).copied().unwrap_or_else(|| area(&there.boxes[i])));
    let mut objects: Vec<(usize, bool)> = (0..there.labels.len()).filter(|i| there.labels[*i] == class).map(|i| (i, ignored(i))).collect();
    // Those that count come first.
    objects.sort_by_key(|(_, ignored)| *ignored);
    let mut detections: Vec<usize> = descending(&found.scores).into_iter().filter(|i| found.labels[*i] == class).collect();
    detections.truncate(MOST);
    if objects.is_empty() && detections.is_empty() {
        return None;
    }
    let overlaps: Vec<Vec<f64>> = detections
        .iter()
        .map(|d| objects.iter().map(|(o, _)| overlap(&found.boxes[*d], &there.boxes[*o], is_crowd(*o))).collect())
        .collect();
    let mut outcome = vec![[(false, false); THRESHOLDS]; detections.len()];
    for t in 0..THRESHOLDS {
        let mut taken = vec![false; objects.len()];
        for (d, row) in overlaps.iter().enumerate() {
            let mut best = threshold(t).min(1.0 - 1e-10);
            let mut chosen: Option<usize> = None;
            for (o, (object, ignored)) in objects.iter().enumerate() {
                if taken[o] && !is_crowd(*object) {
                    continue;
                }
                // An object that counts is not given up for one that does not.
                if *ignored && chosen.is_some_and(|chosen| !objects[chosen].1) {
                    break;
                }
                if row[o] >= best {
                    best = row[o];
                    chosen = Some(o);
                }
            }
            outcome[d][t] = match chosen {
                Some(o) => {
                    taken[o] = true;
                    (true, objects[o].1)
                }
                None => (false, outside(area(&found.boxes[detections[d]]))),
            };
        }
    }
    let n_objects = objects.iter().filter(|(_, ignored)| !ignored).count();
    Some(Matched { scores: detections.iter().map(|d| found.scores[*d]).collect(), found: outcome, n_objects })
}

/// Per threshold, the mean precision at 101 recalls, and the greatest recall. `None` where there is nothing to find.
fn curve(images: &[Matched], most: usize) -> Option<([f64; THRESHOLDS], [f64; THRESHOLDS])> {
    let n_objects: usize = images.iter().map(|image| image.n_objects).sum();
    if n_objects == 0 {
        return None;
    }
    let scores: Vec<f64> = images.iter().flat_map(|image| image.scores.iter().take(most)).copied().collect();
    let found: Vec<&[(bool, bool); THRESHOLDS]> = images.iter().flat_map(|image| image.found.iter().take(most)).collect();
    let order = descending(&scores);
    let (mut precisions, mut greatest) = ([0.0; THRESHOLDS], [0.0; THRESHOLDS]);
    for t in 0..THRESHOLDS {
        let (mut right, mut wrong) = (0usize, 0usize);
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(order.len());
        for at in &order {
            let (is_found, ignored) = found[*at][t];
            right += usize::from(is_found && !ignored);
            wrong += usize::from(!is_found && !ignored);
            points.push((right as f64 / n_objects as f64, right as f64 / ((wrong + right) as f64 + f64::EPSILON)));
        }
        greatest[t] = points.last().map_or(0.0, |(recall, _)| *recall);
        // The best precision at this recall or any beyond.
        for i in (1..points.len()).rev() {
            points[i - 1].1 = points[i - 1].1.max(points[i].1);
        }
        let at = |i: usize| points.get(points.partition_point(|(r, _)| *r < recall(i))).map_or(0.0, |(_, precision)| *precision);
        precisions[t] = (0..RECALLS).map(at).sum::<f64>() / RECALLS as f64;
    }
    Some((precisions, greatest))
}

#[cfg(test)]
mod tests;

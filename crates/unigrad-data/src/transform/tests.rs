//! Transforms against PIL and torchvision, and against what they promise.

use super::{colour::Colours, *};
use crate::picture::Pixels;
use unigrad_nn::Error;
use unigrad_tensor::{DType, Device, Tensor};

fn picture(height: usize, width: usize, channels: usize) -> Picture {
    let value = |y: usize, x: usize, c: usize| ((y * 37 + x * 11 + c * 71 + (y * x * (c + 3)) % 29 * 7) % 256) as u8;
    let values = (0..height * width * channels).map(|at| value(at / channels / width, at / channels % width, at % channels));
    Picture::of(Pixels::U8(values.collect()), height, width, channels)
}

fn bytes(picture: &Picture) -> Vec<u8> {
    match picture.pixels() {
        Pixels::U8(values) => values.clone(),
        Pixels::F32(values) => values.iter().map(|x| (x * 255.0).round() as u8).collect(),
    }
}

fn rng() -> Rng {
    Rng::new(1, 2)
}

#[derive(serde::Deserialize)]
struct Golden {
    name: String,
    size: [usize; 3],
    arguments: Vec<f64>,
    result: Vec<u8>,
}

#[test]
fn results_are_those_of_pil_and_torchvision() -> Result<()> {
    let goldens: Vec<Golden> = serde_json::from_str(include_str!("../../../../goldens/images.json")).unwrap();
    for golden in &goldens {
        let of = |at: usize| golden.arguments.get(at).copied().unwrap_or_default();
        let [height, width, channels] = golden.size;
        for floats in [false, true] {
            let mut input = picture(height, width, channels);
            if floats {
                input = ToFloat.apply(input, &mut rng())?;
            }
            let colour = |change: &dyn Fn(&mut Colours)| {
                let mut colours = Colours::of(&input);
                change(&mut colours);
                colours.into_picture(height, width)
            };
            // Bytes are rounded after each step: floats differ by what that loses. torchvision rounds grey down, and contrast has its mean from it.
            let (result, exact, loose) = match golden.name.as_str() {
                "resize" => (resize::resize(input.clone(), of(0) as usize, of(1) as usize)?, 1, 2),
                "brightness" => (colour(&|c| c.brightness(of(0))), 0, 1),
                "contrast" => (colour(&|c| c.contrast(of(0))), 0, 2),
                "saturation" => (colour(&|c| c.saturation(of(0))), 0, 2),
                "hue" => (colour(&|c| c.hue(of(0) as f32)), 0, 1),
                "grey" => (input.clone().to_channels(1)?, 0, 1),
                "center_crop" => (CenterCrop(of(0) as usize, of(1) as usize).apply(input.clone(), &mut rng())?, 0, 0),
                "rotate" => (RandomRotation::between(of(0), of(0)).apply(input.clone(), &mut rng())?, 1, 1),
                other => panic!("no transform {other}"),
            };
            let most = if floats { loose } else { exact };
            let got = bytes(&result);
            assert_eq!(got.len(), golden.result.len(), "{} {:?}", golden.name, golden.size);
            let off = got.iter().zip(&golden.result).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or_default();
            assert!(off <= most, "{} {:?} {:?}: off by {off}\n{got:?}\n{:?}", golden.name, golden.size, golden.arguments, golden.result);
        }
    }
    Ok(())
}

#[test]
fn flips_and_crops_move_pixels() -> Result<()> {
    for width in 1..6 {
        let input = picture(4, width, 3);
        let flipped = RandomHorizontalFlip(1.0).apply(input.clone(), &mut rng())?;
        let (before, after) = (bytes(&input), bytes(&flipped));
        for (at, value) in after.iter().enumerate() {
            let (y, x, c) = (at / 3 / width, at / 3 % width, at % 3);
            assert_eq!(*value, before[(y * width + width - 1 - x) * 3 + c]);
        }
        assert_eq!(RandomHorizontalFlip(1.0).apply(flipped, &mut rng())?, input);
        let turned = RandomVerticalFlip(1.0).apply(input.clone(), &mut rng())?;
        assert_eq!(bytes(&turned)[..3 * width], before[9 * width..]);
        assert_eq!(RandomVerticalFlip(0.0).apply(input.clone(), &mut rng())?, input);
    }
    let input = picture(5, 5, 1);
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..400 {
        let part = RandomCrop::new(4, 4).padding(1).fill(1.0).apply(input.clone(), &mut Rng::new(seed, 0))?;
        seen.insert(bytes(&part));
    }
    assert_eq!(seen.len(), 16, "4 by 4 places");
    assert!(RandomCrop::new(6, 5).apply(input.clone(), &mut rng()).is_err());
    for bad in [(0, 3), (3, 0), (1 << 17, 1)] {
        assert!(CenterCrop(bad.0, bad.1).apply(input.clone(), &mut rng()).is_err());
        assert!(Resize::new(bad.0, bad.1).apply(input.clone(), &mut rng()).is_err());
    }
    assert_eq!(Resize::shorter(4).apply(picture(10, 25, 1), &mut rng())?.to_tensor().shape, [1, 4, 10]);
    assert_eq!(Resize::shorter(4).apply(picture(25, 10, 1), &mut rng())?.to_tensor().shape, [1, 10, 4]);
    Ok(())
}

#[test]
fn random_transforms_stay_within_their_ranges() -> Result<()> {
    for (height, width) in [(1, 1), (1, 300), (300, 1), (7, 9), (64, 48)] {
        for seed in 0..40 {
            let mut rng = Rng::new(seed, 0);
            let all = Compose::new()
                .then(RandomResizedCrop::new(8, 9))
                .then(ColorJitter { brightness: 0.4, contrast: 0.4, saturation: 0.4, hue: 0.1 })
                .then(RandomApply(0.5, RandomRotation::new(30.0)))
                .then(Grayscale(0.2))
                .then(RandomErasing::new(0.5))
                .then(Normalize::imagenet());
            let result = all.apply(picture(height, width, 3), &mut rng)?;
            assert_eq!(result.to_tensor().shape, [3, 8, 9]);
            let Pixels::F32(values) = result.pixels() else { panic!("bytes") };
            assert!(values.iter().all(|x| (-2.2..2.7).contains(x)));
            assert_eq!(all.apply(picture(height, width, 3), &mut Rng::new(seed, 0))?, result);
        }
    }
    assert!(ColorJitter { hue: 0.6, ..ColorJitter::default() }.apply(picture(2, 2, 3), &mut rng()).is_err());
    assert!(RandomResizedCrop::new(2, 2).scale(0.0, 1.0).apply(picture(2, 2, 3), &mut rng()).is_err());
    assert!(RandomErasing::new(1.0).scale(0.5, 2.0).apply(picture(2, 2, 3), &mut rng()).is_err());
    assert!(Normalize::imagenet().apply(picture(2, 2, 1), &mut rng()).is_err());
    assert!(Normalize::new(&[0.5], &[0.0]).is_err() && Normalize::new(&[0.5, 0.5], &[1.0]).is_err());
    // Bytes by a table, floats by the formula: the same numbers.
    let bytes = Normalize::imagenet().apply(picture(3, 3, 3), &mut rng())?;
    assert_eq!(Normalize::imagenet().apply(ToFloat.apply(picture(3, 3, 3), &mut rng())?, &mut rng())?, bytes);
    let erased = RandomErasing::new(1.0).value(1.0).scale(0.2, 0.3).apply(Picture::of(Pixels::U8(vec![0; 400]), 20, 20, 1), &mut rng())?;
    let n = super::tests::bytes(&erased).iter().filter(|x| **x == 255).count();
    assert!((60..=140).contains(&n), "{n} of 400");
    Ok(())
}

#[test]
fn batches_on_a_device_are_changed_as_pictures_are() -> Result<()> {
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = Device::open("cpu").map_err(Error::from)?;
    let (n, c, h, w) = (6, 3, 5, 4);
    let values: Vec<f32> = (0..n * c * h * w).map(|x| x as f32).collect();
    let input = Tensor::from_slice(&values, [n, c, h, w], &device);
    let at = |v: &[f32], i: usize, k: usize, y: usize, x: usize| v[((i * c + k) * h + y) * w + x];
    let flipped = random_horizontal_flip(&input, 0.5, &mut rng())?.to_vec::<f32>()?;
    let mut n_flipped = 0;
    for i in 0..n {
        let turned = at(&flipped, i, 0, 0, 0) != at(&values, i, 0, 0, 0);
        n_flipped += usize::from(turned);
        for (k, y, x) in (0..c).flat_map(|k| (0..h).flat_map(move |y| (0..w).map(move |x| (k, y, x)))) {
            assert_eq!(at(&flipped, i, k, y, x), at(&values, i, k, y, if turned { w - 1 - x } else { x }));
        }
    }
    assert!((1..n).contains(&n_flipped));
    let cropped = random_crop(&(&input + 1.0), 1, &mut rng())?.to_vec::<f32>()?;
    for i in 0..n {
        let fits = (0..3usize).flat_map(|dy| (0..3usize).map(move |dx| (dy, dx))).any(|(dy, dx)| {
            (0..c * h * w).all(|place| {
                let (k, y, x) = (place / h / w, place / w % h, place % w);
                let (from_y, from_x) = ((y + dy).wrapping_sub(1), (x + dx).wrapping_sub(1));
                let wanted = if from_y < h && from_x < w { at(&values, i, k, from_y, from_x) + 1.0 } else { 0.0 };
                at(&cropped, i, k, y, x) == wanted
            })
        });
        assert!(fits, "item {i}");
    }
    let labels = Tensor::new([0i64, 1, 2, 0, 1, 2], &device);
    for mix in [mixup, cutmix] {
        // So small a picture may be left whole: another draw.
        let mut tries = (0..20).map(|seed| -> Result<(Vec<f32>, Vec<f32>)> {
            let (images, targets) = mix(&input, &labels, 3, 1.0, &mut Rng::new(seed, 0))?;
            Ok((images.to_vec::<f32>()?, targets.to_vec::<f32>()?))
        });
        let found = tries.find(|tried| !tried.as_ref().is_ok_and(|(_, targets)| targets[0] <= 0.0 || targets[0] >= 1.0));
        let (images, targets) = found.unwrap()?;
        let share = targets[0];
        for i in 0..n {
            assert!((targets[i * 3 + i % 3] - share).abs() < 1e-6 && (targets[i * 3 + (i + 2) % 3] - (1.0 - share)).abs() < 1e-6);
        }
        let size = c * h * w;
        let before = |place: usize| values[(place + (n - 1) * size) % (n * size)];
        if (0..n * size).all(|p| images[p] == values[p] || images[p] == before(p)) {
            let kept = (0..n * size).filter(|&p| images[p] == values[p]).count();
            assert!((kept as f32 / (n * size) as f32 - share).abs() < 1e-6);
        } else {
            assert!((0..n * size).all(|p| (images[p] - share * values[p] - (1.0 - share) * before(p)).abs() < 1e-3));
        }
    }
    let erased = random_erasing(&input, &RandomErasing::new(1.0).scale(0.1, 0.4), -1.0, &mut rng())?.to_vec::<f32>()?;
    assert!(erased.contains(&-1.0) && erased.iter().zip(&values).all(|(a, b)| a == b || *a == -1.0));
    let whole = Tensor::from_slice(&[0u8, 51, 255], [1, 3, 1, 1], &device);
    let scaled = normalize(&whole, &[0.0, 0.2, 0.5], &[1.0, 0.5, 0.5])?.to_vec::<f32>()?;
    assert!(scaled.iter().zip([0.0, 0.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-6), "{scaled:?}");
    assert!(normalize(&whole, &[0.0], &[1.0]).is_err() && random_crop(&labels, 1, &mut rng()).is_err());
    assert!(mixup(&input, &labels, 3, 0.0, &mut rng()).is_err() && mixup(&input, &input, 3, 1.0, &mut rng()).is_err());
    let soft = Tensor::zeros([6, 3], DType::F32, &device);
    assert!(cutmix(&input, &soft, 3, 0.05, &mut rng()).is_ok());
    Ok(())
}

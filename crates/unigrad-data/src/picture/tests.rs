//! Files and folders that are right, and those that are not.

use super::*;
use crate::{Csv, CsvOptions, Dataset, Loader, Normalize, Resize, Source};
use image::{DynamicImage, ExtendedColorType, ImageEncoder};
use std::path::{Path, PathBuf};
use unigrad_nn::random::Rng;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("unigrad-picture-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn rng() -> Rng {
    Rng::new(0, 0)
}

fn png(values: &[u8], width: u32, height: u32, colour: ExtendedColorType) -> Vec<u8> {
    let mut file = Vec::new();
    image::codecs::png::PngEncoder::new(&mut file).write_image(values, width, height, colour).unwrap();
    file
}

fn fails<T: std::fmt::Debug>(result: Result<T>, wanted: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(wanted), "{error}\nwanted: {wanted}");
}

#[test]
fn every_format_and_channel_count() -> Result<()> {
    let options = |channels| DecodeOptions { channels, ..DecodeOptions::default() };
    let rgba: Vec<u8> = (0..2 * 3 * 4).map(|x| x * 10).collect();
    let file = png(&rgba, 3, 2, ExtendedColorType::Rgba8);
    let stored = Picture::decode(&file, "a.png", &options(Channels::AsStored))?;
    assert_eq!((stored.pixels(), stored.channels()), (&Pixels::U8(rgba.clone()), 4));
    let rgb = Picture::decode(&file, "a.png", &DecodeOptions::default())?;
    assert_eq!((rgb.height(), rgb.width(), rgb.channels()), (2, 3, 3));
    assert_eq!(rgb.to_tensor().bytes[..6], [0, 40, 80, 120, 160, 200], "red first");
    fails(Picture::decode(&file, "a.png", &options(Channels::Exactly(3))), "a.png: has 4 channels, and 3 are asked for");
    fails(Picture::decode(&file, "a.png", &options(Channels::Converted(5))), "a picture of 5 channels");
    fails(Picture::decode(&file, "a.png", &DecodeOptions { max_pixels: 5, ..DecodeOptions::default() }), "has 3x2 pixels, and at most 5");
    // Grey, 16 bits, and to all channel counts.
    let grey = png(
        &0x1234_ffff_u32.to_be_bytes().chunks(2).flat_map(|two| u16::from_be_bytes([two[0], two[1]]).to_ne_bytes()).collect::<Vec<u8>>(),
        2,
        1,
        ExtendedColorType::L16,
    );
    assert_eq!(Picture::decode(&grey, "g", &options(Channels::AsStored))?.pixels(), &Pixels::U8(vec![0x12, 0xff]));
    for wanted in 1..5 {
        assert_eq!(Picture::decode(&grey, "g", &options(Channels::Converted(wanted)))?.channels(), wanted);
    }
    assert_eq!(
        Picture::decode(&grey, "g", &options(Channels::Converted(4)))?.pixels(),
        &Pixels::U8(vec![18, 18, 18, 255, 255, 255, 255, 255])
    );
    // JPEG loses little of a smooth picture, WebP nothing.
    let smooth = image::RgbImage::from_fn(40, 30, |x, y| image::Rgb([(x * 6) as u8, (y * 8) as u8, 100]));
    let (mut jpeg, mut webp) = (Vec::new(), Vec::new());
    image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 95).encode_image(&smooth).unwrap();
    image::codecs::webp::WebPEncoder::new_lossless(&mut webp).encode(smooth.as_raw(), 40, 30, ExtendedColorType::Rgb8).unwrap();
    for (file, most) in [(&jpeg, 12), (&webp, 0)] {
        let picture = Picture::decode(file, "s", &DecodeOptions::default())?;
        let Pixels::U8(values) = picture.pixels() else { panic!("floats") };
        let off = values.iter().zip(smooth.as_raw()).map(|(a, b)| a.abs_diff(*b)).max();
        assert!(off <= Some(most), "{off:?}");
    }
    fails(Picture::decode(b"not a picture", "n.png", &DecodeOptions::default()), "n.png: is no PNG, JPEG or WebP file");
    fails(Picture::decode(&file[..file.len() / 2], "h.png", &DecodeOptions::default()), "h.png: is damaged");
    fails(Picture::decode(&[], "e.png", &DecodeOptions::default()), "e.png: is no PNG");
    assert!(Picture::new(Pixels::U8(vec![1; 5]), 1, 2, 3).is_err() && Picture::new(Pixels::F32(vec![]), 0, 2, 3).is_err());
    Ok(())
}

#[test]
fn folders_of_classes() -> Result<()> {
    let folder = folder("classes");
    let save = |path: &Path, grey: u8| {
        std::fs::create_dir_all(path.parent().unwrap_or(path)).unwrap();
        DynamicImage::ImageLuma8(image::GrayImage::from_pixel(6, 4, image::Luma([grey]))).save(path).unwrap();
    };
    fails(ImageFolder::open(&folder), "has no sub-folders");
    for (class, at, end) in [("dog", 1, "png"), ("cat", 3, "JPG"), ("cat", 2, "webp"), ("dog/more", 4, "jpeg")] {
        save(&folder.join(class).join(format!("{at}.{end}")), 50 * at);
    }
    std::fs::write(folder.join("cat/notes.txt"), "no picture").unwrap();
    let images = ImageFolder::open(&folder)?;
    assert_eq!((images.classes(), images.labels()), (&["cat".to_owned(), "dog".to_owned()][..], vec![0, 0, 1, 1]));
    let sample = images.clone().samples(Resize::new(2, 2)).get(3, &mut rng())?;
    assert_eq!((sample.input.shape, sample.target), (vec![3, 2, 2], crate::array(&[1i64], &[])?));
    // One is damaged: an error that names it, or left out and told.
    std::fs::write(folder.join("cat/9.png"), b"\x89PNG\r\n\x1a\n----").unwrap();
    let images = ImageFolder::open(&folder)?;
    fails(images.get(2, &mut rng()), "9.png: is damaged");
    unigrad_device::register(unigrad_cpu::CpuDriver);
    let device = unigrad_tensor::Device::open("cpu").map_err(Error::from)?;
    let loader = Loader::new(images.clone().samples(Normalize::imagenet()), 5, 0).workers(2).in_order();
    fails(loader.batches(0, 0, &device)?.next().unwrap_or(Err(Error::Internal("none".into()))), "9.png: item 2: is damaged");
    let (whole, damaged) = images.without_damaged(2)?;
    assert_eq!((whole.len(), damaged.len()), (4, 1));
    assert!(damaged[0].to_string().contains("9.png"));
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    fails(ImageFolder::open(&folder), "this class has no images");
    assert!(ImageFolder::open(folder.join("nowhere")).is_err());
    // One folder and a table.
    let table = |text: &str| Csv::from_bytes(text.as_bytes(), "labels.csv", &CsvOptions::default());
    let flat = folder.join("cat");
    let images = ImageFolder::with_labels(&flat, &table("file,label\n3.JPG,b\n2.webp,a\n3.JPG,a\n")?, "file", "label")?;
    assert_eq!((images.classes(), images.labels()), (&["a".to_owned(), "b".to_owned()][..], vec![1, 0, 0]));
    fails(
        ImageFolder::with_labels(&flat, &table("file,label\n3.JPG,b\n7.png,a\n")?, "file", "label"),
        "labels.csv: line 3: there is no file",
    );
    fails(ImageFolder::with_labels(&flat, &table("file,label\n3.JPG,\n")?, "file", "label"), "line 2");
    fails(ImageFolder::with_labels(&flat, &table("file,label\n3.JPG,b\n")?, "fil", "label"), "such as `file`");
    std::fs::remove_dir_all(folder).unwrap();
    Ok(())
}

#[test]
fn published_sets_of_small_pictures() -> Result<()> {
    let folder = folder("cifar");
    let record = |labels: &[u8], value: u8| {
        let planes = (0..3).flat_map(|c| std::iter::repeat_n(value + c, 1024));
        labels.iter().copied().chain(planes).collect::<Vec<u8>>()
    };
    for at in 1..6 {
        std::fs::write(folder.join(format!("data_batch_{at}.bin")), [record(&[at], 10 * at), record(&[9], 3)].concat()).unwrap();
    }
    std::fs::write(folder.join("test_batch.bin"), record(&[0], 7)).unwrap();
    let (train, test) = cifar10(&folder)?;
    assert_eq!((train.len(), test.len(), train.labels()[..2].to_vec()), (10, 1, vec![1, 9]));
    let (picture, class) = train.get(4, &mut rng())?;
    assert_eq!((class, CIFAR10[3], picture.to_tensor().shape), (3, "cat", vec![3, 32, 32]));
    let Pixels::U8(values) = picture.pixels() else { panic!("floats") };
    assert_eq!(values[..6], [30, 31, 32, 30, 31, 32]);
    assert!(train.get(10, &mut rng()).is_err());
    std::fs::write(folder.join("train.bin"), record(&[3, 99], 1)).unwrap();
    std::fs::write(folder.join("test.bin"), record(&[3, 100], 1)).unwrap();
    fails(cifar100(&folder), "test.bin: picture 0 has label 100, and labels go from 0 to 99");
    std::fs::write(folder.join("test.bin"), &record(&[3, 5], 1)[1..]).unwrap();
    fails(cifar100(&folder), "test.bin: has 3073 bytes, which are not whole records of 3074");
    std::fs::write(folder.join("test.bin"), record(&[3, 5], 1)).unwrap();
    assert_eq!(cifar100(&folder)?.1.labels(), [5]);
    std::fs::remove_file(folder.join("data_batch_3.bin")).unwrap();
    fails(cifar10(&folder), "data_batch_3.bin");
    std::fs::remove_dir_all(folder).unwrap();
    let digits = crate::digits()?;
    let (picture, class) = Dataset::get(&digits.train, 0, &mut rng())?;
    assert_eq!((picture.channels(), class), (1, i64::from(digits.train.labels[0])));
    Ok(())
}

//! Opening without blocking: on a thread, and by a driver whose devices cannot be waited for.

use std::{
    sync::Arc,
    task::{Context, Poll},
};
use unigrad_device::testing::{NullDriver, block_on};
use unigrad_device::{Device, Discovery, Driver, Error, OpenDevice, Pending, register};

/// Knows no device until it was asked without blocking, as in a browser.
struct Shy(&'static str, NullDriver);

impl Driver for Shy {
    fn backend(&self) -> &'static str {
        self.0
    }

    fn discover(&self) -> Discovery {
        Discovery {
            devices: Vec::new(),
            problem: Some(("nothing may wait here".to_owned(), "open it with `Device::open_async`".to_owned())),
        }
    }

    fn open(&self, _ordinal: usize) -> Result<Arc<dyn OpenDevice>, Error> {
        unreachable!("it was not discovered")
    }

    fn open_async(&self, ordinal: usize) -> Option<Pending<'static, Result<Arc<dyn OpenDevice>, Error>>> {
        let opened = match ordinal {
            0 => self.1.open(0),
            _ => Err(Error::NotAvailable { asked: format!("shy:{ordinal}"), cause: "there is one".to_owned(), help: String::new() }),
        };
        let mut asked = false;
        let answer = move |context: &mut Context<'_>| {
            if std::mem::replace(&mut asked, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        };
        Some(Box::pin(async move {
            std::future::poll_fn(answer).await;
            opened
        }))
    }
}

#[test]
fn a_device_that_cannot_be_waited_for() {
    assert!(register(Shy("shy", NullDriver { memory: 0 })));
    let error = Device::open("shy").unwrap_err();
    assert!(error.to_string().contains("Device::open_async"), "{error}");
    let device = block_on(Device::open_async("shy")).unwrap();
    assert_eq!(device.name(), "shy:0");
    // From now on it is found by every name.
    assert_eq!(block_on(Device::open_async(" SHY:0 ")), Ok(device));
    assert_eq!(Device::open("shy:0"), Ok(device));
    assert_eq!(Device::open("shy"), Ok(device));
    assert!(block_on(Device::open_async("shy:1")).is_err());
}

#[test]
fn a_device_that_blocks_a_thread_of_its_own() {
    register(NullDriver { memory: 0 });
    let device = block_on(Device::open_async("null")).unwrap();
    let buffer = device.allocate_with(&[7; 100]).unwrap();
    assert_eq!(block_on(buffer.to_vec_async()).unwrap(), [7; 100]);
    assert!(block_on(device.allocate(0).unwrap().to_vec_async()).unwrap().is_empty());
    assert!(block_on(Device::open_async("null:x")).is_err());
    assert!(block_on(Device::open_async("nothing")).is_err());
}

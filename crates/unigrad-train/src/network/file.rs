//! Networks in files: architecture and weights in one safetensors file.
//!
//! In: a network. Out: a file that any program reads as weights, with the architecture as JSON among its strings; from it, the same network to the last bit.
//! Always: the file is replaced whole. A file of a newer version is refused by its number; one whose weights do not belong to its architecture is refused
//! before a weight is made. Names of tensors are PyTorch's.
//! Never: follows a size of the architecture that the weights do not have.

use super::{Architecture, Network};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unigrad_nn::{Archive, Error, Module, Result};
use unigrad_tensor::Device;

/// Where the architecture stands in a file.
const ARCHITECTURE: &str = "unigrad.network";
/// Of descriptions; a change that older versions would misread raises it.
const VERSION: u64 = 1;

#[derive(Deserialize)]
struct Version {
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    version: u64,
    network: Architecture,
}

const HELP: &str = "use a file that `Network::save` or `unigrad train` wrote; weights alone are loaded by `Module::load`";

impl Network {
    /// Replaces the safetensors file at `path` with architecture, weights and metadata.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_train::network::Network;
    /// let network = Network::with_input_size(4).dense(3).build()?;
    /// let path = std::env::temp_dir().join(format!("unigrad-doc-network-{}.safetensors", std::process::id()));
    /// network.save(&path)?;
    /// let again = Network::load(&path)?;
    /// assert_eq!(again.architecture(), network.architecture());
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let mut archive = self.to_archive()?;
        let described = Described { version: VERSION, network: self.architecture.clone() };
        let text = serde_json::to_string(&described).map_err(|e| Error::Internal(format!("an architecture that is no JSON: {e}")))?;
        archive.metadata.extend(self.metadata.clone());
        archive.metadata.insert(ARCHITECTURE.to_owned(), text);
        archive.save(path)
    }

    /// The network of a file that [`Network::save`] wrote, on the best device.
    pub fn load(path: impl AsRef<Path>) -> Result<Network> {
        Network::load_on(path, &Device::best()?)
    }

    /// As [`Network::load`], on a device.
    pub fn load_on(path: impl AsRef<Path>, device: &Device) -> Result<Network> {
        let path = path.as_ref();
        Network::from_archive(Archive::load(path)?, path, device)
    }

    /// The network of a file's content; `path` is what errors name.
    pub fn from_archive(mut archive: Archive, path: &Path, device: &Device) -> Result<Network> {
        let wrong = |cause: String| Error::format(path, cause, HELP);
        let text = archive.metadata.remove(ARCHITECTURE);
        let text = text.ok_or_else(|| wrong(format!("has weights, and no architecture (no string `{ARCHITECTURE}`)")))?;
        let damaged = |e: serde_json::Error| wrong(format!("its architecture is damaged: {}", unigrad_device::printable(&e.to_string())));
        let Version { version } = serde_json::from_str(&text).map_err(damaged)?;
        if version > VERSION {
            let cause = format!("its architecture has version {version}, and this unigrad reads up to {VERSION}");
            return Err(Error::format(path, cause, "update unigrad, or save the network with the older version"));
        }
        let Described { network, .. } = serde_json::from_str(&text).map_err(damaged)?;
        let named = |error: Error| match error {
            Error::Argument { cause, help } => Error::format(path, format!("its architecture: {cause}"), help),
            other => other,
        };
        // Initial values are recorded and never computed: what the file has takes their place.
        let mut network = Network::recorded(network, device).map_err(named)?;
        network.load_state_dict(&archive.tensors).map_err(|error| match error {
            Error::StateDict(mut mismatch) => {
                mismatch.source = path.display().to_string();
                Error::StateDict(mismatch)
            }
            other => other,
        })?;
        network.metadata = archive.metadata;
        Ok(network)
    }
}

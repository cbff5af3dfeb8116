//! For tests alone: wheels, sdists and whole indexes made in memory, and a sealed sandbox to run the command in.
//!
//! Everything made here is the same bytes on every machine. What can't be made is a defect of the test, so
//! these functions panic and say what is wrong.

pub mod hostile;
pub mod index_server;
pub mod kube_server;
pub mod registry;
pub mod sandbox;
pub mod scenario;
pub mod sdist;
pub mod wheel;
pub mod world;
pub mod worst;

pub use index_server::{IndexServer, Manner, Reply, Seen};
pub use kube_server::KubeServer;
pub use registry::{Door, Registry};
pub use sandbox::{Output, Sandbox};
pub use sdist::{sdist, tar_gz};
pub use wheel::{Wheel, wheel, zip};
pub use world::{DistKind, Release, World, WorldFile};

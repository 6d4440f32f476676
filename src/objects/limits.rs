//! Bounds of the lists in one object. Each is several times what real objects have.
//!
//! An object of the API server can have 1.5 MiB (etcd's `--max-request-bytes`), which is enough for 110,000 finalizers. The bounds
//! limit work and memory per object, so that one object cannot stop the program; entries that are left out are counted and shown.

/// Finalizers of one object. A pod has at most a few: one per controller that cleans up after it.
pub const FINALIZERS: usize = 64;
/// Scheduling gates, and readiness gates, of one pod. One per controller that delays it.
pub const GATES: usize = 64;
/// Owner references of one object. The controller's is always kept.
pub const OWNERS: usize = 64;
/// Init containers, and app containers, of one pod, in its spec and its status. Kubernetes has no limit; pods with
/// more than 50 are not known.
pub const CONTAINERS: usize = 256;
/// Ephemeral containers of one pod: one per `kubectl debug`, and they cannot be removed.
pub const EPHEMERAL_CONTAINERS: usize = 64;
/// Containers of one pod that have a log directory, or are in a static pod's manifest: of all three kinds.
pub const CONTAINERS_ON_DISK: usize = 2 * CONTAINERS + EPHEMERAL_CONTAINERS;
/// Claims of one pod for devices (`PodResourceClaimsMaxSize` is 32).
pub const CLAIMS: usize = 64;
/// Ports of one container.
pub const PORTS: usize = 64;
/// Volumes of one pod. A node attaches at most some 250 of one CSI driver.
pub const VOLUMES: usize = 256;
/// Conditions of one pod, of one node, or of the container runtime. Kubernetes' own are always kept; others are written by
/// agents such as node-problem-detector, about twenty.
pub const CONDITIONS: usize = 64;
/// Taints of one node. Kubernetes' own are always kept.
pub const TAINTS: usize = 64;
/// Resources of one list; a node has some ten.
pub const RESOURCES: usize = 64;
/// Resources of the sum of such lists, over the containers of a pod or the pods of a node.
pub const SUMMED_RESOURCES: usize = 256;
/// Tags, and digests, of one image.
pub const IMAGE_NAMES: usize = 64;
/// File systems that the container runtime lists for its images.
pub const FILESYSTEMS: usize = 16;
/// Containers of one pod in the container runtime, newest first. The kubelet keeps one terminated container for each that
/// runs (`--maximum-dead-containers-per-container`).
pub const RUNTIME_CONTAINERS: usize = 2 * CONTAINERS_ON_DISK;
/// Sandboxes of one pod in the container runtime, newest first. The kubelet removes all but the newest.
pub const SANDBOXES: usize = 64;
/// Events about one object, newest first; the model keeps no more. Repeats are counted in one event, and events expire after an hour (`--event-ttl`).
pub const EVENTS_OF_ONE: usize = 256;
/// Events about all nodes of an input, newest first, that a diagnosis examines.
pub const EVENTS_OF_NODE: usize = 1024;

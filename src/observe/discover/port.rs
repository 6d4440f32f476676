//! Proves that the process listening on a port is the node's kubelet, before any request is sent.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use super::process::kubelets;
use super::root::Root;

/// State of a listening socket in `/proc/net/tcp` (`TCP_LISTEN`, include/net/tcp_states.h).
const LISTEN: &str = "0A";
/// Place of the start time in `/proc/PID/stat` behind the name, which may hold spaces (proc_pid_stat(5)): field 22.
const START_TIME: usize = 19;

/// Looks who listens. Clones share what they know of the kubelet's process.
#[derive(Clone, Debug)]
pub struct PortProof {
    root: Root,
    known: Arc<Mutex<Option<KubeletProcess>>>,
}

/// A process that was proven to be the kubelet; its number is another's once it has another start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KubeletProcess {
    pid: u32,
    started: u64,
}

/// Why a port is not taken for the kubelet's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortDoubt {
    /// No process of a kubelet runs.
    NoKubelet,
    /// A process with the name of a kubelet is not proven to be the node's.
    Unproven(u32),
    /// Nothing listens there.
    Nobody,
    /// A process of this user listens there, which is not the kubelet.
    Other(u32),
    /// The kubelet is in another network namespace: the address is not its own here.
    OtherNetwork,
    /// The kernel does not show the kubelet's sockets.
    Hidden,
}

impl fmt::Display for PortDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortDoubt::NoKubelet => f.write_str("no process of the kubelet runs"),
            PortDoubt::Unproven(pid) => write!(f, "process {pid} is not proven to be the kubelet"),
            PortDoubt::Nobody => f.write_str("nothing listens there"),
            PortDoubt::Other(uid) => write!(f, "a process of uid {uid} that is not the kubelet listens there"),
            PortDoubt::OtherNetwork => f.write_str("the kubelet is in another network namespace"),
            PortDoubt::Hidden => f.write_str("the kubelet's sockets cannot be read (CAP_SYS_PTRACE is missing)"),
        }
    }
}

/// A socket that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listener {
    address: SocketAddr,
    uid: u32,
    inode: u64,
}

impl PortProof {
    /// For the machine whose processes are below `root`.
    pub fn new(root: Root) -> Self {
        Self { root, known: Arc::default() }
    }

    /// That every socket which could take a connection to `address` is the kubelet's. Blocks.
    ///
    /// # Errors
    /// The [`PortDoubt`].
    pub fn check(&self, address: SocketAddr) -> Result<(), PortDoubt> {
        let pid = self.kubelet()?;
        let network = |pid: &str| fs::read_link(self.root.path(format!("/proc/{pid}/ns/net")));
        match (network("self"), network(&pid.to_string())) {
            (Ok(ours), Ok(its)) if ours == its => {}
            (Ok(_), Ok(_)) => return Err(PortDoubt::OtherNetwork),
            _ => return Err(PortDoubt::Hidden),
        }
        let listeners: Vec<Listener> =
            self.listeners(pid).into_iter().filter(|listener| listener.takes(address)).collect();
        if listeners.is_empty() {
            return Err(PortDoubt::Nobody);
        }
        let sockets = self.sockets(pid)?;
        match listeners.iter().find(|listener| !sockets.contains(&format!("socket:[{}]", listener.inode))) {
            Some(other) => Err(PortDoubt::Other(other.uid)),
            None => Ok(()),
        }
    }

    fn kubelet(&self) -> Result<u32, PortDoubt> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_none_or(|known| self.started(known.pid) != Some(known.started)) {
            let found = kubelets(&self.root);
            if let (None, Some(refused)) = (&found.proven, found.refused.first()) {
                return Err(PortDoubt::Unproven(refused.pid));
            }
            *known = found.proven.and_then(|k| Some(KubeletProcess { pid: k.pid, started: self.started(k.pid)? }));
        }
        known.map(|known| known.pid).ok_or(PortDoubt::NoKubelet)
    }

    fn started(&self, pid: u32) -> Option<u64> {
        let stat = self.root.read_kernel(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(START_TIME)?.parse().ok()
    }

    /// Listening sockets of the process's network namespace.
    fn listeners(&self, pid: u32) -> Vec<Listener> {
        let mut found = Vec::new();
        for table in ["tcp", "tcp6"] {
            let Ok(file) = File::open(self.root.path(format!("/proc/{pid}/net/{table}"))) else { continue };
            let lines = BufReader::new(file).lines().map_while(Result::ok).skip(1);
            // Those that listen come first: a busy node has ten thousands of others behind them.
            found.extend(lines.map_while(|line| listener(&line)));
        }
        found
    }

    /// The open sockets of the process.
    fn sockets(&self, pid: u32) -> Result<std::collections::HashSet<String>, PortDoubt> {
        let open = fs::read_dir(self.root.path(format!("/proc/{pid}/fd"))).map_err(|_| PortDoubt::Hidden)?;
        let links = open.flatten().filter_map(|fd| fs::read_link(fd.path()).ok()?.into_os_string().into_string().ok());
        Ok(links.filter(|link| link.starts_with("socket:")).collect())
    }
}

impl Listener {
    /// Whether the kernel may give it a connection to `to`.
    fn takes(self, to: SocketAddr) -> bool {
        let is_it = match (self.address.ip(), to.ip()) {
            (mine, to) if mine == to => true,
            (IpAddr::V4(mine), IpAddr::V4(_)) => mine.is_unspecified(),
            // A socket on `::` accepts IPv4 too, unless IPV6_V6ONLY is set.
            (IpAddr::V6(mine), _) => {
                mine.is_unspecified() || mine.to_ipv4_mapped().is_some_and(|mine| IpAddr::V4(mine) == to.ip())
            }
            _ => false,
        };
        is_it && self.address.port() == to.port()
    }
}

/// A line of `/proc/net/tcp` or `tcp6`, unless its socket does not listen.
fn listener(line: &str) -> Option<Listener> {
    let mut fields = line.split_whitespace();
    let (address, state) = (fields.nth(1)?, fields.nth(1)?);
    let uid = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    (state == LISTEN).then_some(Listener { address: socket_address(address)?, uid, inode })
}

/// `0100007F:280A`: words of the address as the processor has them, in hexadecimal digits.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let words: Option<Vec<[u8; 4]>> = (0..ip.len() / 8)
        .map(|i| Some(u32::from_str_radix(ip.get(i * 8..i * 8 + 8)?, 16).ok()?.to_ne_bytes()))
        .collect();
    let ip = match words?.as_slice() {
        [word] => IpAddr::V4(Ipv4Addr::from(*word)),
        words @ [_, _, _, _] => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?)),
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::tests::Temp;

    const HEAD: &str =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";

    fn line(address: &str, state: &str, uid: u32, inode: u64) -> String {
        format!(
            "   0: {address} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {uid:5}        0 {inode} 1 0\n"
        )
    }

    fn node(tcp: &str, tcp6: &str) -> Temp {
        let temp = Temp::new();
        temp.process(9, &["kubelet"], "/system.slice/kubelet.service");
        temp.write("proc/9/stat", format!("9 (kube let) S {}77 0\n", "0 ".repeat(18)));
        temp.write("proc/9/net/tcp", format!("{HEAD}{tcp}"));
        temp.write("proc/9/net/tcp6", format!("{HEAD}{tcp6}"));
        temp.link("socket:[500]", "proc/9/fd/3");
        temp.link("/dev/null", "proc/9/fd/0");
        temp
    }

    fn check(temp: &Temp) -> Result<(), PortDoubt> {
        PortProof::new(temp.root()).check("127.0.0.1:10250".parse().unwrap())
    }

    #[test]
    fn the_kubelets_own_port() {
        let all6 = "00000000000000000000000000000000:280A";
        assert_eq!(check(&node("", &line(all6, "0A", 0, 500))), Ok(()));
        assert_eq!(check(&node(&line("0100007F:280A", "0A", 0, 500), "")), Ok(()));
        assert_eq!(check(&node(&line("00000000:280A", "0A", 0, 500), "")), Ok(()));
        assert_eq!(check(&node(&line("0100007F:280B", "0A", 0, 500), "")), Err(PortDoubt::Nobody));
        assert_eq!(check(&node(&line("0200000A:280A", "0A", 0, 500), "")), Err(PortDoubt::Nobody), "10.0.0.2");
    }

    #[test]
    fn a_port_that_a_workload_took() {
        let all6 = line("00000000000000000000000000000000:280A", "0A", 0, 500);
        let twin = line("0100007F:280A", "0A", 65534, 700);
        assert_eq!(check(&node(&twin, "")), Err(PortDoubt::Other(65534)));
        assert_eq!(check(&node(&twin, &all6)), Err(PortDoubt::Other(65534)), "the more exact one gets the connection");
        let temp = node(&twin, "");
        std::fs::remove_dir_all(temp.path("proc/9")).unwrap();
        assert_eq!(check(&temp), Err(PortDoubt::NoKubelet));
    }

    #[test]
    fn the_address_is_meant_in_the_kubelets_network() {
        let temp = node(&line("0100007F:280A", "0A", 0, 500), "");
        temp.link("net:[4026533001]", "proc/9/ns/net");
        assert_eq!(check(&temp), Err(PortDoubt::OtherNetwork));
    }

    #[test]
    fn another_process_with_the_number_is_proven_again() {
        let temp = node(&line("0100007F:280A", "0A", 0, 500), "");
        let proof = PortProof::new(temp.root());
        let address = "127.0.0.1:10250".parse().unwrap();
        assert_eq!(proof.check(address), Ok(()));
        temp.write("proc/9/status", "Uid:\t65534\t65534\t65534\t65534\n");
        assert_eq!(proof.check(address), Ok(()), "users of a process that was proven can only be root's doing");
        temp.write("proc/9/stat", format!("9 (kubelet) S {}78 0\n", "0 ".repeat(18)));
        assert_eq!(proof.check(address), Err(PortDoubt::Unproven(9)));
    }

    #[test]
    fn the_table_of_the_kernel() {
        let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap_or_default();
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let again = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
        let has = |text: &str| text.lines().skip(1).filter_map(listener).any(|l| l.address == address);
        assert!(!has(&table) && has(&again));
    }
}

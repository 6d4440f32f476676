//! Finds the node's name without the API server: the name is needed for the first request.

use super::{Discovered, Host};

/// Users of kubelets are called so, with the node's name behind.
const NODE_USER: &str = "system:node:";

impl Host {
    /// The node's name: as given, from the kubelet's certificate, its flags, the host's name.
    pub fn node_name(&self, given: Option<&str>) -> Discovered<String> {
        let mut found = Discovered::default();
        if let Some(name) = given {
            found.take("--node", name, name.to_owned());
            return found;
        }
        for path in self.node_kubeconfigs() {
            let what = format!("certificate of {path}");
            match self.certificate_user(&path) {
                Ok(user) => match user.strip_prefix(NODE_USER).filter(|name| !name.is_empty()) {
                    Some(name) => {
                        found.take(what, user.as_str(), name.to_owned());
                        return found;
                    }
                    None => found.miss(what, format!("{user} is not a node")),
                },
                Err(why) => found.miss(what, why),
            }
        }
        let flag = self.settings.flag("hostname-override");
        flag.missed.into_iter().for_each(|(what, answer)| found.miss(what, answer));
        if let Some((what, name)) = flag.found.filter(|(_, name)| !name.trim().is_empty()) {
            // The kubelet lowers and trims it like the host's name.
            let name = name.trim().to_lowercase();
            found.take(what, name.as_str(), name.clone());
            return found;
        }
        match self.root.read_kernel("/proc/sys/kernel/hostname").map(|name| name.trim().to_lowercase()) {
            Ok(name) if !name.is_empty() => found.take("host name", name.as_str(), name.clone()),
            Ok(_) => found.miss("host name", "empty"),
            Err(miss) => found.miss("host name", miss.to_string()),
        }
        found
    }
}

//! Generates the gRPC code from `proto/`: clients for the program, servers for the tests. Compiled by protox, without `protoc`.

use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    for dir in ["proto", "tests/proto"] {
        println!("cargo:rerun-if-changed={dir}");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let observed = ["proto/cri.proto", "proto/containerd_events.proto", "proto/containerd_content.proto"];
    generate(&observed, out.join("client"), true, false)?;
    // Included by tests only.
    generate(&observed, out.join("fake"), false, true)?;
    let lab = ["tests/proto/cri_lab.proto"];
    if lab.iter().all(|file| std::fs::exists(file).unwrap_or(false)) {
        generate(&lab, out.join("lab"), true, false)?;
    }
    Ok(())
}

fn generate(files: &[&str], out: PathBuf, client: bool, server: bool) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(&out)?;
    let set = protox::compile(files, ["proto", "tests/proto"])?;
    tonic_prost_build::configure()
        .build_client(client)
        .build_server(server)
        .build_transport(false)
        .out_dir(out)
        .compile_fds(set)?;
    Ok(())
}

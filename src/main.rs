//! The binary: it hands over to the library, and returns its exit code.
//! It must not hold anything that a test would want to call.

fn main() -> std::process::ExitCode {
    kpodtrace::commands::main()
}

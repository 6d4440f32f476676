//! The binary: calls the library and returns its exit code.

fn main() -> std::process::ExitCode {
    kpodtrace::commands::main()
}

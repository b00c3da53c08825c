//! Compiles the library that times an X server's handlers (src/handler_times). The library is a part of the program.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

const SOURCE: &str = "src/handler_times/server_timer.c";
const OPTIONS: [&str; 11] = [
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-shared",
    "-fPIC",
    // The machine's own servers load the library, whatever C library the program has. It brings none.
    "-nostdlib",
    "-fno-stack-protector",
    "-fcf-protection=none",
    // The same sources give the same bytes.
    "-Wl,--build-id=none",
    "-s",
];

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-env-changed=CC");
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    let out = PathBuf::from(out).join("server_timer.so");
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64") {
        // The library reads the processor's counter: elsewhere no handlers are timed.
        return fs::write(&out, []).map_err(|error| format!("{}: {error}", out.display()));
    }
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    let status = command
        .args(OPTIONS)
        .arg("-o")
        .arg(&out)
        .arg(SOURCE)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{compiler} on {SOURCE}: {status}")),
        Err(error) => Err(format!(
            "{compiler}, which a C compiler's package has: {error}"
        )),
    }
}

//! Compiles the libraries that are embedded in the program. One library times an X server's request handlers
//! (src/capture/handler_times), the other records the stacks of a client's requests (src/capture/request_stacks).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const LIBRARIES: [(&str, &str); 2] = [
    (
        "src/capture/handler_times/server_timer.c",
        "server_timer.so",
    ),
    (
        "src/capture/request_stacks/client_stacks.c",
        "client_stacks.so",
    ),
];
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
    println!("cargo::rerun-if-env-changed=CC");
    let out = env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?;
    for (source, library) in LIBRARIES {
        // With the headers next to it.
        let folder = Path::new(source).parent().unwrap_or(Path::new(source));
        println!("cargo::rerun-if-changed={}", folder.display());
        compile(source, PathBuf::from(&out).join(library))?;
    }
    Ok(())
}

fn compile(source: &str, out: PathBuf) -> Result<(), String> {
    if env::var("CARGO_CFG_TARGET_ARCH").as_deref() != Ok("x86_64") {
        // The libraries read the processor's counter and its stack: elsewhere nothing is preloaded.
        return fs::write(&out, []).map_err(|error| format!("{}: {error}", out.display()));
    }
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(&compiler);
    let status = command
        .args(OPTIONS)
        .arg("-o")
        .arg(&out)
        .arg(source)
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{compiler} on {source}: {status}")),
        Err(error) => Err(format!(
            "{compiler}, which a C compiler's package has: {error}"
        )),
    }
}

//! Tests the package in a fresh Debian without a compiler: install, use, remove.

use std::path::Path;
use std::process::Command;

use crate::run::run;

/// The release of Debian, and its mirror.
const RELEASE: &str = "bookworm";
const MIRROR: &str = "http://deb.debian.org/debian";

/// The script that runs in the root; it stops at the first failing line.
const SCRIPT: &str = r#"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
mount --rbind /sys "$1/sys"
exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp/home TERM=dumb sh -euxc '
  ! command -v cc rustc cargo
  mkdir -p /tmp/home; cd /tmp/home
  everything() { find / -xdev \( -path /proc -o -path /dev -o -path /tmp -o -path /sys \) -prune -o -print | sort; }
  everything > /tmp/before
  dpkg -i /tmp/x11prof.deb
  x11prof --version
  x11prof record --server xvfb -- xterm -e "ls -laR /usr/share/doc"
  x11prof report > /tmp/report
  head -12 /tmp/report
  grep "timed in the server, request by request" /tmp/report
  x11prof network | head -3
  test -s /usr/share/man/man1/x11prof.1.gz
  grep -q x11prof /usr/share/bash-completion/completions/x11prof
  dpkg --purge x11prof
  everything > /tmp/after
  # dpkg keeps copies of its own lists.
  diff /tmp/before /tmp/after | grep "^[<>]" | grep -v "/var/lib/dpkg/" | tee /tmp/left
  test ! -s /tmp/left
'"#;

/// Makes a root with debootstrap, unless `out` has one already, and tests the package there. Needs root.
pub(super) fn try_out(out: &Path) -> Result<(), String> {
    let root = out.join("root");
    if !root.join("usr/bin/xterm").exists() {
        run(Command::new("debootstrap")
            .args(["--variant=minbase", RELEASE])
            .arg(&root)
            .arg(MIRROR))?;
        run(Command::new("chroot").arg(&root).args([
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "install",
            "-y",
            "-qq",
            "--no-install-recommends",
            "xvfb",
            "xterm",
            "xfonts-base",
        ]))?;
    }
    let mut made = std::fs::read_dir(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let made = made.find_map(|entry| {
        let path = entry.ok()?.path();
        (path.extension()? == "deb").then_some(path)
    });
    let made = made.ok_or("no package yet: cargo xtask package makes it")?;
    let copy = root.join("tmp/x11prof.deb");
    std::fs::copy(&made, &copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    // Its mounts and processes end with the namespace.
    run(Command::new("unshare")
        .args(["--mount", "--pid", "--fork", "sh", "-euc", SCRIPT, "sh"])
        .arg(&root))?;
    println!("installed, used and removed; nothing is left");
    Ok(())
}

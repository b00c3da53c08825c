//! `cargo xtask validate network ssh`: compares programs recorded over `ssh -Y`, through a real sshd and a relay that
//! delays its bytes, with the forecast from a local recording: the time until the first frame, the main cause and the
//! server's share.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::forecast::{SECONDS, build, over_link, program, record, start_up};
use super::{median, quantile, reported};
use crate::bench::x_server::XServer;
use xtask::packages::{DEMO, MORE_PROGRAMS, Needed, TEST, ensure};
use xtask::run::{run, target};

/// The programs.
const PROGRAMS: [(&str, &[&str]); 10] = [
    ("xcalc", &["xcalc"]),
    ("xclock", &["xclock"]),
    ("xedit", &["xedit"]),
    ("featherpad", &["featherpad"]),
    ("mousepad", &["mousepad"]),
    ("pcmanfm", &["pcmanfm"]),
    ("emacs", &["emacs", "-Q"]),
    ("gtk3-widget-factory", &["gtk3-widget-factory"]),
    ("xfig", &["xfig"]),
    ("xterm", &["xterm"]),
];
/// The relay's round trip, in milliseconds.
const ROUND_TRIP: u64 = 50;
const PERCENT: f64 = 10.0;
const POINTS: f64 = 2.0;

/// Runs the programs whose names contain one of `arguments`, or all.
pub(crate) fn validate(arguments: &[String]) -> Result<(), String> {
    let needed = |program, package| Needed { program, package };
    let ssh = [
        needed("sshd", "openssh-server"),
        needed("ssh", "openssh-client"),
        needed("xauth", "xauth"),
    ];
    ensure(&[DEMO, TEST, MORE_PROGRAMS, &ssh])?;
    build()?;
    let folder = target().join("validate/ssh");
    // ssh-keygen overwrites no keys.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(reported)?;
    let server = XServer::start("0")?;
    let tunnel = Tunnel::open(&folder)?;
    let (here, there) = (folder.join("here.mcap"), folder.join("there.mcap"));
    println!(
        "| program | forecast, ms | over ssh, ms | error, % | cause | over ssh | server, % | over ssh |\n|---|---|---|---|---|---|---|---|"
    );
    let (mut errors, mut rows, mut right) = (Vec::new(), 0, 0);
    for (name, command) in PROGRAMS {
        if !arguments.is_empty() && !arguments.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        record(command, &[], SECONDS, &here)?;
        record(command, &[], SECONDS, &here)?;
        // The link that the recorder measured is the link of the forecast.
        let Some(first) = start_up(&here, &format!("none,{ROUND_TRIP}ms,ssh"))? else {
            println!("| {name} | no first frame | | | | | | |");
            continue;
        };
        tunnel.record(&server.display(), command, over_link(&first) + 3.0, &there)?;
        let Some((measured, link)) = measured(&there)? else {
            println!(
                "| {name} | {:.0} | no first frame | | | | | |",
                first.forecast_ms
            );
            continue;
        };
        let Some(local) = start_up(&here, &link)? else {
            continue;
        };
        let error = 100.0 * (local.forecast_ms / measured.recorded_ms - 1.0);
        let share = local.server * local.recorded_ms / local.forecast_ms;
        println!(
            "| {name} | {:.0} | {:.0} | {error:+.1} | {} | {} | {share:.1} | {:.1} |",
            local.forecast_ms, measured.recorded_ms, local.cause, measured.cause, measured.server
        );
        errors.push(error.abs());
        rows += 1;
        let is_right = error.abs() <= PERCENT
            && local.cause == measured.cause
            && measured.server <= share + POINTS;
        right += usize::from(is_right);
    }
    println!(
        "\n{right} of {rows} programs within {PERCENT} % with the same cause, and no more than {POINTS} points of \
         server too many; median error {:.1} %, most {:.1} %",
        median(errors.iter().copied()),
        quantile(&errors, 1.0)
    );
    Ok(())
}

/// The start-up of a recording over its own link, and the link.
fn measured(trace: &Path) -> Result<Option<(super::forecast::StartUp, String)>, String> {
    let report = super::forecast::page(trace, &["--start-up"])?;
    let Some(trip) = report["forecast"]["recorded_rtt_ms"].as_f64() else {
        return Err("the recorder measured no link".to_owned());
    };
    let link = format!("none,{trip}ms,ssh");
    Ok(start_up(trace, &link)?.map(|measured| (measured, link)))
}

/// An sshd behind a relay. Both end on drop.
struct Tunnel {
    sshd: Child,
    folder: PathBuf,
    port: u16,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

impl Tunnel {
    fn open(folder: &Path) -> Result<Tunnel, String> {
        let path = |name: &str| folder.join(name).display().to_string();
        for key in ["host", "user"] {
            let words = ["-q", "-t", "ed25519", "-N", "", "-f", &path(key)];
            run(Command::new("ssh-keygen").args(words))?;
        }
        // A free port, which sshd opens again.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(reported)?;
        let port = free.local_addr().map_err(reported)?.port();
        drop(free);
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             PasswordAuthentication no\nUsePAM no\nX11Forwarding yes\nX11DisplayOffset 700\nPidFile none\n\
             PermitRootLogin yes\n",
            path("host"),
            path("user.pub")
        );
        std::fs::write(folder.join("settings"), settings).map_err(reported)?;
        let _ = std::fs::create_dir_all("/run/sshd");
        let sshd = Command::new("/usr/sbin/sshd")
            .args(["-D", "-f", &path("settings"), "-E", &path("log")])
            .spawn()
            .map_err(reported)?;
        let relay = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(reported)?;
        let relay_port = relay.local_addr().map_err(reported)?.port();
        let tunnel = Tunnel {
            sshd,
            folder: folder.to_owned(),
            port: relay_port,
        };
        thread::spawn(move || {
            for client in relay.incoming().flatten() {
                // Until sshd listens.
                let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
                for _ in 0..100 {
                    if server.is_some() {
                        break;
                    }
                    thread::sleep(Duration::from_millis(50));
                    server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
                }
                if let Some(server) = server {
                    delay(&client, &server);
                    delay(&server, &client);
                }
            }
        });
        Ok(tunnel)
    }

    /// Records a program on the other side of the tunnel.
    fn record(
        &self,
        display: &str,
        command: &[&str],
        seconds: f64,
        trace: &Path,
    ) -> Result<(), String> {
        let user = Command::new("id").arg("-un").output().map_err(reported)?;
        let user = String::from_utf8_lossy(&user.stdout).trim().to_owned();
        let program = program();
        // Programs load fonts and input methods by the locale.
        let same = [
            "LANG",
            "LC_ALL",
            "LC_CTYPE",
            "XDG_RUNTIME_DIR",
            "DBUS_SESSION_BUS_ADDRESS",
        ];
        let same = same
            .iter()
            .filter_map(|name| Some((name, std::env::var(name).ok()?)));
        let same: String = same
            .map(|(name, value)| format!("{name}='{value}' "))
            .collect();
        let words = format!(
            "{same}{} record -o {} -- timeout -k 1 {seconds} {}",
            program.display(),
            trace.display(),
            command.join(" ")
        );
        let options = [
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "ForwardX11Trusted=yes",
        ];
        Command::new("ssh")
            .args(["-Y", "-q", "-p", &self.port.to_string(), "-i"])
            .arg(self.folder.join("user"))
            .args(options.iter().flat_map(|option| ["-o", option]))
            .args([&format!("{user}@127.0.0.1"), &words])
            .env("DISPLAY", display)
            .env_remove("XAUTHORITY")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .map(drop)
            .map_err(reported)
    }
}

/// Copies the bytes of one direction, each half a round trip later.
fn delay(from: &TcpStream, to: &TcpStream) {
    let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else {
        return;
    };
    let _ = to.set_nodelay(true);
    let (sender, receiver) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            let due = Instant::now() + Duration::from_micros(ROUND_TRIP * 500);
            if sender.send((due, bytes[..read].to_vec())).is_err() {
                break;
            }
        }
    });
    thread::spawn(move || write_later(receiver, &mut to));
}

fn write_later(bytes: Receiver<(Instant, Vec<u8>)>, to: &mut TcpStream) {
    for (due, bytes) in bytes {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

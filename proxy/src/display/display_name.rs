//! Display names, as in DISPLAY and `--display`.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The highest display number. TCP displays listen on port 6000 plus the number.
const LAST_NUMBER: u32 = 65_535 - 6000;

/// The parts of a display name (X(7), section "DISPLAY NAMES").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayName {
    text: String,
    endpoint: Endpoint,
    number: u32,
    screen: u32,
}

/// The kind of address of a display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A local display, through its Unix sockets.
    Local,
    /// A Unix socket at this path.
    Path(PathBuf),
    /// A display on a host, by TCP.
    Tcp {
        /// The host's name or address, without brackets.
        host: String,
    },
}

/// The error for a text that is not a display name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{text}' is no display name: {why}; use a form such as :0, host:0, tcp/host:0 or unix:/path"
)]
pub struct DisplayNameError {
    text: String,
    why: &'static str,
}

impl DisplayName {
    /// Parses a display name. The path of a socket may end in `.SCREEN`; the ending is the screen's number unless a
    /// file with the whole name exists.
    pub fn parse(text: &str) -> Result<DisplayName, DisplayNameError> {
        parse(text, Path::exists).map_err(|why| DisplayNameError {
            text: text.to_owned(),
            why,
        })
    }

    /// The name of the local display with this number.
    pub fn local(number: u32) -> DisplayName {
        DisplayName {
            text: format!(":{number}"),
            endpoint: Endpoint::Local,
            number,
            screen: 0,
        }
    }

    /// The kind of address to connect to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The number of the display, such as 0 in `:0`.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The number of the default screen.
    pub fn screen(&self) -> u32 {
        self.screen
    }
}

impl fmt::Display for DisplayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse(text: &str, exists: impl Fn(&Path) -> bool) -> Result<DisplayName, &'static str> {
    let display = |endpoint, number, screen| DisplayName {
        text: text.to_owned(),
        endpoint,
        number,
        screen,
    };
    if let Some(path) = socket_path(text) {
        let (path, screen) = split_path(path, exists)?;
        let number = path
            .rsplit_once(':')
            .and_then(|(_, n)| n.parse().ok())
            .unwrap_or(0);
        return Ok(display(Endpoint::Path(PathBuf::from(path)), number, screen));
    }
    let (protocol, rest) = match text.rsplit_once('/') {
        Some((protocol, rest)) => (Some(protocol), rest),
        None => (None, text),
    };
    let (host, numbers) = rest.rsplit_once(':').ok_or("it has no ':'")?;
    let (number, screen) = numbers.split_once('.').unwrap_or((numbers, "0"));
    let number = digits(number).ok_or("the display is no number")?;
    let screen = digits(screen).ok_or("the screen is no number")?;
    if number > LAST_NUMBER {
        return Err("the display number is over 59535");
    }
    let endpoint = match (protocol, host) {
        (None, "" | "unix") => Endpoint::Local,
        // The host in unix/host:0 is used only to select the authority entry.
        (Some("unix" | "local"), _) => Endpoint::Local,
        (None | Some("tcp" | "inet" | "inet6"), host) => Endpoint::Tcp {
            host: tcp_host(host)?,
        },
        (Some(_), _) => return Err("its protocol is none of unix, local, tcp, inet and inet6"),
    };
    Ok(display(endpoint, number, screen))
}

/// The path in `/path` or `unix:/path`; `None` for the other forms.
fn socket_path(text: &str) -> Option<&str> {
    let path = text.strip_prefix("unix:").unwrap_or(text);
    path.starts_with('/').then_some(path)
}

fn split_path(path: &str, exists: impl Fn(&Path) -> bool) -> Result<(&str, u32), &'static str> {
    if exists(Path::new(path)) {
        return Ok((path, 0));
    }
    if let Some((stem, screen)) = path.rsplit_once('.')
        && let Some(screen) = digits(screen)
        && exists(Path::new(stem))
    {
        return Ok((stem, screen));
    }
    Err("there is no such socket")
}

/// Parses a number that consists only of digits, without sign or blanks.
fn digits(text: &str) -> Option<u32> {
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())
        .flatten()
}

fn tcp_host(host: &str) -> Result<String, &'static str> {
    let bare = host
        .strip_prefix('[')
        .and_then(|h| h.strip_suffix(']'))
        .unwrap_or(host);
    if bare.is_empty() {
        // `tcp/:0` is this machine.
        return Ok("localhost".to_owned());
    }
    if bare.contains(':') && bare.parse::<std::net::Ipv6Addr>().is_err() {
        return Err("its host is neither a name nor an IPv6 address (DECnet is not supported)");
    }
    Ok(bare.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{DisplayName, Endpoint, parse};

    fn parts(text: &str) -> (Endpoint, u32, u32) {
        let name = parse(text, |p| p.to_str() == Some("/run/x/s:3")).unwrap();
        assert_eq!(name.to_string(), text);
        (name.endpoint.clone(), name.number, name.screen)
    }

    fn tcp(host: &str) -> Endpoint {
        Endpoint::Tcp {
            host: host.to_owned(),
        }
    }

    #[test]
    fn local_displays_are_parsed() {
        assert_eq!(parts(":0"), (Endpoint::Local, 0, 0));
        assert_eq!(parts(":12.3"), (Endpoint::Local, 12, 3));
        assert_eq!(parts("unix:5"), (Endpoint::Local, 5, 0));
        assert_eq!(parts("unix/:5"), (Endpoint::Local, 5, 0));
        assert_eq!(parts("unix/host:5.1"), (Endpoint::Local, 5, 1));
        assert_eq!(parts("local/host:5"), (Endpoint::Local, 5, 0));
    }

    #[test]
    fn tcp_displays_are_parsed() {
        assert_eq!(parts("host:1.2"), (tcp("host"), 1, 2));
        assert_eq!(parts("localhost:10.0"), (tcp("localhost"), 10, 0));
        assert_eq!(parts("tcp/host.org:1"), (tcp("host.org"), 1, 0));
        assert_eq!(parts("tcp/:1"), (tcp("localhost"), 1, 0));
        assert_eq!(parts("inet6/[::1]:4"), (tcp("::1"), 4, 0));
        assert_eq!(parts("::1:4"), (tcp("::1"), 4, 0));
    }

    #[test]
    fn socket_path_displays_are_parsed() {
        let socket = || Endpoint::Path("/run/x/s:3".into());
        assert_eq!(parts("/run/x/s:3"), (socket(), 3, 0));
        assert_eq!(parts("unix:/run/x/s:3"), (socket(), 3, 0));
        assert_eq!(parts("unix:/run/x/s:3.1"), (socket(), 3, 1));
    }

    #[test]
    fn invalid_display_names_are_rejected() {
        for text in [
            "", "0", ":", ":x", ":-1", ":+1", ":0.", ":0.x", "host::0", ":59536",
        ] {
            assert!(DisplayName::parse(text).is_err(), "{text}");
        }
        for text in ["foo/host:0", "/nowhere/at/all", ":99999999999"] {
            assert!(DisplayName::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            DisplayName::parse("foo").unwrap_err().to_string(),
            "'foo' is no display name: it has no ':'; use a form such as :0, host:0, tcp/host:0 or unix:/path"
        );
    }
}

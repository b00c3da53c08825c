//! Finds the recorded server's parameter file. Vendor and release do not distinguish Xvfb, Xephyr and Xorg, so the
//! executable comes first.

use crate::{Host, ServerIdentity, ServerParameters};

/// The parameters that match a recorded server best.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Match<'a> {
    /// The parameters of the best match.
    pub parameters: &'a ServerParameters,
    /// True if the parameters are for this kind of server: no known property contradicts that, and the executable, or
    /// else vendor and release, are equal.
    pub same_server: bool,
    /// True if the parameters were measured on this machine; `None` if either machine is unknown.
    pub same_machine: Option<bool>,
}

/// The similarity of one property of two servers, from worst to best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    Differs,
    Unknown,
    Equal,
}
use Likeness::{Differs, Equal, Unknown};

/// The similarities of the executable, the depth, the machine, the vendor and the release. The first is the most
/// significant.
type Likenesses = [Likeness; 5];

/// The candidate that best matches the identity `server` on the machine `host`. If several candidates match equally
/// well, returns the first one that was calibrated by handler times, or else the first. `None` without candidates. The candidate may be from another machine.
pub fn best_match<'a>(
    candidates: impl IntoIterator<Item = &'a ServerParameters>,
    server: &ServerIdentity,
    host: &Host,
) -> Option<Match<'a>> {
    let mut best: Option<((Likenesses, bool), &ServerParameters)> = None;
    for candidate in candidates {
        let likeness = compare(&candidate.server, &candidate.host, server, host);
        let rank = (likeness, candidate.method.is_by_handlers());
        if best.is_none_or(|(known, _)| rank > known) {
            best = Some((rank, candidate));
        }
    }
    let ((likeness, _), parameters) = best?;
    let (same_server, same_machine) = same(likeness);
    Some(Match {
        parameters,
        same_server,
        same_machine,
    })
}

/// True if `known` is the identity of this kind of server, on any machine.
pub fn is_same_server(known: &ServerIdentity, server: &ServerIdentity) -> bool {
    let nowhere = Host::default();
    same(compare(known, &nowhere, server, &nowhere)).0
}

/// Returns true if the kind of server is the same, and `Some(true)` if the machine is the same. The second value is
/// `None` if a machine is unknown.
fn same(likeness: Likenesses) -> (bool, Option<bool>) {
    let [executable, depth, machine, vendor, release] = likeness;
    let identified = executable == Equal || (vendor == Equal && release == Equal);
    (
        identified && executable != Differs && depth != Differs,
        (machine != Unknown).then_some(machine == Equal),
    )
}

/// Compares the properties of two servers.
fn compare(
    known: &ServerIdentity,
    known_host: &Host,
    server: &ServerIdentity,
    host: &Host,
) -> Likenesses {
    [
        like(
            known.executable.as_deref().map(program),
            server.executable.as_deref().map(program),
        ),
        like(known.depth, server.depth),
        match known_host.is_same_machine(host) {
            Some(true) => Equal,
            Some(false) => Differs,
            None => Unknown,
        },
        like(known.vendor.as_deref(), server.vendor.as_deref()),
        like(known.release, server.release),
    ]
}

fn like<T: PartialEq>(one: Option<T>, other: Option<T>) -> Likeness {
    match (one, other) {
        (Some(one), Some(other)) if one == other => Equal,
        (Some(_), Some(_)) => Differs,
        _ => Unknown,
    }
}

/// Returns the name of the executable `path`, such as `Xvfb` for `/usr/bin/Xvfb`. If the recording has only the name of
/// the process, it may be the name of a symbolic link, which is replaced by the name of the executable.
fn program(path: &str) -> &str {
    match path.rsplit('/').next().unwrap_or(path) {
        "Xvnc" => "Xtigervnc",
        "X" => "Xorg",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::best_match;
    use crate::{Host, ServerIdentity, ServerParameters};

    fn server(executable: &str, depth: u8) -> ServerIdentity {
        ServerIdentity {
            name: format!("{executable}-{depth}"),
            executable: Some(executable.into()),
            vendor: Some("The X.Org Foundation".into()),
            release: Some(12101011),
            depth: Some(depth),
            ..ServerIdentity::default()
        }
    }

    fn host(cpu_model: &str) -> Host {
        Host {
            cpu_model: Some(cpu_model.into()),
            ..Host::default()
        }
    }

    fn file(executable: &str, depth: u8, cpu_model: &str) -> ServerParameters {
        let (server, host) = (server(executable, depth), host(cpu_model));
        ServerParameters {
            server,
            host,
            ..ServerParameters::default()
        }
    }

    #[test]
    fn executable_outweighs_vendor() {
        let files = [
            file("Xephyr", 24, "EPYC"),
            file("Xvfb", 8, "EPYC"),
            file("Xvfb", 24, "EPYC"),
        ];
        let found = best_match(&files, &server("/usr/bin/Xvfb", 24), &host("EPYC")).unwrap();
        assert_eq!(found.parameters.server.name, "Xvfb-24");
        assert_eq!((found.same_server, found.same_machine), (true, Some(true)));
    }

    #[test]
    fn file_from_another_machine_is_flagged() {
        let files = [file("Xvfb", 24, "Xeon")];
        let found = best_match(&files, &server("Xvfb", 24), &host("EPYC")).unwrap();
        assert_eq!((found.same_server, found.same_machine), (true, Some(false)));
        let found = best_match(&files, &server("Xvfb", 24), &Host::default()).unwrap();
        assert_eq!(found.same_machine, None);
    }

    #[test]
    fn other_server_kind_matches_only_as_last_resort() {
        let files = [file("Xephyr", 24, "EPYC"), file("Xvfb", 8, "EPYC")];
        let found = best_match(&files, &server("Xorg", 24), &host("EPYC")).unwrap();
        assert_eq!(found.parameters.server.name, "Xephyr-24");
        assert!(!found.same_server);
        let found = best_match(&files, &server("Xvfb", 24), &host("EPYC")).unwrap();
        assert_eq!(
            (found.parameters.server.name.as_str(), found.same_server),
            ("Xvfb-8", false)
        );
    }

    #[test]
    fn remote_server_is_matched_by_vendor_and_release() {
        let remote = ServerIdentity {
            executable: None,
            ..server("Xvfb", 24)
        };
        let files = [file("Xvfb", 24, "EPYC")];
        assert!(
            best_match(&files, &remote, &Host::default())
                .unwrap()
                .same_server
        );
        let older = ServerIdentity {
            release: Some(1),
            ..remote
        };
        assert!(
            !best_match(&files, &older, &Host::default())
                .unwrap()
                .same_server
        );
    }

    #[test]
    fn first_of_equal_matches_is_selected() {
        let mut files = [file("Xvfb", 24, "EPYC"), file("Xvfb", 24, "EPYC")];
        files[0].server.name = "mine".into();
        let found = best_match(&files, &server("Xvfb", 24), &host("EPYC")).unwrap();
        assert_eq!(found.parameters.server.name, "mine");
        files[1].method.source = Some("x11prof calibrate".into());
        files[1].method.notes = Some("whole plan, handler times".into());
        let found = best_match(&files, &server("Xvfb", 24), &host("EPYC")).unwrap();
        assert_eq!(found.parameters.server.name, files[1].server.name);
        assert_eq!(best_match([], &server("Xvfb", 24), &host("EPYC")), None);
    }
}

//! The conditions for a valid parameter file: finite times of one clock at ascending sizes, and no entry twice.

mod amounts;
mod transport;

use std::collections::{BTreeSet, HashMap};

use self::amounts::{is_amount, validate_measured, validate_times};
use self::transport::validate_transport;
use crate::{Clock, Point, RequestCosts, ServerParameters};

/// The maximum number of entries of a request. Each operation of a recording is compared with all of them.
const MOST_ENTRIES: usize = 4096;

/// A problem of a parameter file, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    /// The index of the request in the file; `None` if the problem is not in a request.
    pub(crate) request: Option<usize>,
    /// The index of the point in the request; `None` if the problem is not in a point.
    pub(crate) point: Option<usize>,
    /// A description of the entry with the problem.
    pub(crate) entry: String,
    /// The problem, as a sentence.
    pub(crate) message: String,
}

/// An error in an entry: the index of the point, if it is in a point, and a description.
type Wrong = (Option<usize>, String);

/// Checks `parameters`, and returns the first problem as an error.
pub(crate) fn validate(parameters: &ServerParameters) -> Result<(), Flaw> {
    if parameters.server.name.trim().is_empty() {
        return Err(Flaw {
            request: None,
            point: None,
            entry: "server".into(),
            message: "its name is empty".into(),
        });
    }
    if parameters
        .method
        .brought
        .as_ref()
        .is_some_and(|brought| !brought.is_sound())
    {
        return Err(Flaw {
            request: None,
            point: None,
            entry: "method".into(),
            message: "brought: a factor is a number above 0".into(),
        });
    }
    if parameters
        .host
        .step_ns
        .is_some_and(|step| !(step > 0.0 && is_amount(step)))
    {
        return Err(Flaw {
            request: None,
            point: None,
            entry: "host".into(),
            message: "step_ns is a number above 0".into(),
        });
    }
    if let Some(transport) = &parameters.transport {
        validate_transport(transport).map_err(|message| Flaw {
            request: None,
            point: None,
            entry: "transport".into(),
            message,
        })?;
    }
    let mut seen = BTreeSet::new();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for (index, entry) in parameters.requests.iter().enumerate() {
        let attributes = entry.attribute_set();
        let count = counts.entry(&entry.name).or_default();
        *count += 1;
        let wrong = if entry.name.trim().is_empty() {
            Err((None, "the request has no name".into()))
        } else if *count > MOST_ENTRIES {
            let why = format!("the request has over {MOST_ENTRIES} entries");
            Err((None, why))
        } else if seen.insert((entry.name.as_str(), attributes.clone())) {
            validate_entry(entry)
        } else {
            Err((
                None,
                "these attributes have an entry already; put all points in one".into(),
            ))
        };
        wrong.map_err(|(point, message)| Flaw {
            request: Some(index),
            point,
            entry: [entry.name.clone(), attributes.to_string()]
                .join(" ")
                .trim_end()
                .to_owned(),
            message,
        })?;
    }
    Ok(())
}

fn validate_entry(entry: &RequestCosts) -> Result<(), Wrong> {
    if entry.points.is_empty() {
        return Err((
            None,
            "it has no points; a size of 0 will do where size does not matter".into(),
        ));
    }
    if let Some(fixed) = &entry.fixed {
        validate_measured(fixed).map_err(|message| (None, format!("the fixed part: {message}")))?;
    }
    let mut before: Option<f64> = None;
    for (index, point) in entry.points.iter().enumerate() {
        let size = point.size;
        let wrong = |message: String| (Some(index), format!("the point of size {size}: {message}"));
        if !is_amount(size) {
            return Err(wrong("a size is a number that is not negative".into()));
        }
        match before {
            Some(before) if before == size => {
                return Err(wrong("this size was given before".into()));
            }
            Some(before) if before > size => {
                return Err(wrong("sizes must be in ascending order".into()));
            }
            _ => before = Some(size),
        }
        validate_point(point).map_err(wrong)?;
    }
    if entry.clock(Clock::Cpu).is_none() {
        return Err((
            None,
            "no clock has all of its times; give cpu_us, or wall_us, at every point and the fixed part"
                .into(),
        ));
    }
    Ok(())
}

fn validate_point(point: &Point) -> Result<(), String> {
    if let Some(rate) = point.per_second {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(format!("per_second is {rate}; it must be a number above 0"));
        }
        if point.wall_us.is_some() {
            return Err("per_second and wall_us say the same thing; give one of them".into());
        }
    }
    let (cpu, wall) = (point.time(Clock::Cpu), point.time(Clock::Wall));
    if cpu.is_none() && wall.is_none() {
        return Err("it has no time; give cpu_us, wall_us or per_second".into());
    }
    validate_times(cpu, wall, point.spread)
}

#[cfg(test)]
mod tests {
    use super::validate;
    use crate::{FORMAT, Measured, Micros, Point, RequestCosts, ServerParameters, TransportCosts};

    fn point(size: f64, wall: f64) -> Point {
        Point {
            size,
            wall_us: Some(Micros(wall)),
            ..Point::default()
        }
    }

    fn file(points: Vec<Point>) -> ServerParameters {
        let mut file = ServerParameters {
            format: FORMAT,
            ..ServerParameters::default()
        };
        file.server.name = "test".into();
        file.requests.push(RequestCosts {
            name: "PolyLine".into(),
            points,
            ..Default::default()
        });
        file
    }

    fn flaw(points: Vec<Point>) -> (Option<usize>, String) {
        let flaw = validate(&file(points)).unwrap_err();
        assert_eq!((flaw.request, flaw.entry.as_str()), (Some(0), "PolyLine"));
        (flaw.point, flaw.message)
    }

    #[test]
    fn valid_points_are_accepted() {
        assert_eq!(
            validate(&file(vec![point(0.0, 0.0), point(1.0, 2.0)])),
            Ok(())
        );
    }

    #[test]
    fn invalid_points_are_rejected() {
        assert!(flaw(vec![]).1.contains("no points"));
        assert!(
            flaw(vec![point(2.0, 1.0), point(1.0, 1.0)])
                .1
                .contains("ascending")
        );
        assert_eq!(flaw(vec![point(1.0, 1.0), point(1.0, 1.0)]).0, Some(1));
        assert!(flaw(vec![point(-1.0, 1.0)]).1.contains("not negative"));
        assert!(flaw(vec![point(1.0, f64::NAN)]).1.contains("wall_us"));
        assert!(flaw(vec![point(f64::INFINITY, 1.0)]).1.contains("size"));
        assert!(
            flaw(vec![Point {
                size: 1.0,
                ..Point::default()
            }])
            .1
            .contains("no time")
        );
        assert!(
            flaw(vec![Point {
                spread: Some(-0.1),
                ..point(1.0, 1.0)
            }])
            .1
            .contains("spread")
        );
        assert!(
            flaw(vec![Point {
                per_second: Some(9.0),
                ..point(1.0, 1.0)
            }])
            .1
            .contains("one of")
        );
        let never = Point {
            size: 1.0,
            per_second: Some(0.0),
            ..Point::default()
        };
        assert!(flaw(vec![never]).1.contains("above 0"));
    }

    #[test]
    fn entry_with_mixed_clocks_is_rejected() {
        let cpu = Point {
            size: 5.0,
            cpu_us: Some(Micros(1.0)),
            ..Point::default()
        };
        assert!(flaw(vec![point(1.0, 1.0), cpu]).1.contains("clock"));
    }

    #[test]
    fn duplicate_entries_are_rejected() {
        let mut file = file(vec![point(1.0, 1.0)]);
        file.requests.push(file.requests[0].clone());
        assert_eq!(validate(&file).unwrap_err().request, Some(1));
    }

    #[test]
    fn transport_costs_are_validated() {
        let mut file = file(vec![point(1.0, 1.0)]);
        file.transport = Some(TransportCosts::default());
        let flaw = validate(&file).unwrap_err();
        assert_eq!(flaw.entry, "transport");
        assert!(flaw.message.starts_with("wakeup: "));
        let cpu = Measured {
            cpu_us: Some(Micros(1.0)),
            ..Measured::default()
        };
        let wall = Measured {
            wall_us: Some(Micros(1.0)),
            ..Measured::default()
        };
        let mut transport = TransportCosts {
            wakeup: cpu,
            byte_read: cpu,
            reply: cpu,
            event: cpu,
            ..Default::default()
        };
        file.transport = Some(transport.clone());
        assert_eq!(validate(&file), Ok(()));
        transport.event = wall;
        file.transport = Some(transport);
        assert!(validate(&file).unwrap_err().message.contains("clock"));
    }
}

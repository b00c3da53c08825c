//! Server time and bytes for pprof: gzipped `profile.proto`.
//!
//! The format is defined in github.com/google/pprof/blob/main/proto/profile.proto. A stack consists of the client, the
//! window or the program's functions, and the request. All of these are functions in the file.

mod proto;

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use x11prof_analyzer::{Stack, TraceSummary};

use crate::plain;
use proto::{Function, Line, Location, Profile, Sample, ValueType};

/// The values of a sample, with their units.
const SAMPLE_TYPES: [(&str, &str); 5] = [
    ("server_time", "nanoseconds"),
    ("requests", "count"),
    ("sent", "bytes"),
    ("received", "bytes"),
    ("client_time", "nanoseconds"),
];

/// Writes the stacks of a recording to `out`; `summary` describes the recording.
pub fn pprof(stacks: &[Stack], summary: &TraceSummary, out: &mut dyn io::Write) -> io::Result<()> {
    let profile = profile(stacks, summary);
    let mut zipped = GzEncoder::new(out, Compression::default());
    zipped.write_all(&profile.encode_to_vec())?;
    zipped.finish()?;
    Ok(())
}

fn profile(stacks: &[Stack], summary: &TraceSummary) -> Profile {
    let mut names = Names::default();
    // The first string is empty.
    names.index("");
    let sample_type = SAMPLE_TYPES.map(|(kind, unit)| ValueType {
        kind: names.index(kind),
        unit: names.index(unit),
    });
    let mut functions = HashMap::new();
    let mut profile = Profile {
        default_sample_type: sample_type[0].kind,
        time_nanos: summary
            .started()
            .map_or(0, |started| number(started.wall_clock_ns)),
        duration_nanos: number(summary.duration().as_nanos()),
        sample_type: sample_type.to_vec(),
        ..Profile::default()
    };
    for stack in stacks {
        let mut location = |name: &str| {
            let name = names.index(name);
            *functions.entry(name).or_insert_with(|| {
                let id = profile.location.len() as u64 + 1;
                profile.function.push(Function { id, name });
                profile.location.push(Location {
                    id,
                    line: vec![Line { function_id: id }],
                });
                id
            })
        };
        // The innermost frame comes first.
        let places = stack.place.iter().rev();
        let names = [&stack.request].into_iter().chain(places);
        let location_id = names.chain([&stack.client]).map(|name| location(name));
        profile.sample.push(Sample {
            location_id: location_id.collect(),
            value: vec![
                // The cast saturates at the largest value.
                (stack.server.0 * 1000.0).round() as i64,
                number(stack.count),
                number(stack.sent),
                number(stack.returned),
                (stack.ran.0 * 1000.0).round() as i64,
            ],
        });
    }
    profile.string_table = names.all;
    profile
}

fn number<N: TryInto<i64>>(number: N) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Strings with their indices in the string table of the file.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    places: HashMap<String, i64>,
}

impl Names {
    fn index(&mut self, name: &str) -> i64 {
        let name = &*plain(name);
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.all.len() as i64;
        self.all.push(name.to_owned());
        self.places.insert(name.to_owned(), place);
        place
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;
    use prost::Message;
    use x11prof_analyzer::{Stack, TraceSummary};
    use x11prof_cost_model::Micros;

    use super::proto::Profile;

    #[test]
    fn samples_round_trip() {
        let stack = |request: &str, server| Stack {
            client: "xterm".into(),
            place: vec!["(no window)".into()],
            request: request.into(),
            count: 3,
            sent: 24,
            returned: 32,
            server: Micros(server),
            ran: Micros(0.5),
        };
        let stacks = [stack("Poly\u{1b}Line", 1.5), stack("GetInputFocus", 0.25)];
        let mut file = Vec::new();
        super::pprof(&stacks, &TraceSummary::default(), &mut file).unwrap();
        let mut bytes = Vec::new();
        GzDecoder::new(&file[..]).read_to_end(&mut bytes).unwrap();
        let profile = Profile::decode(&bytes[..]).unwrap();
        assert_eq!(profile.string_table[0], "");
        let name = |id: u64| {
            let function = profile.location[id as usize - 1].line[0].function_id;
            let name = profile.function[function as usize - 1].name;
            profile.string_table[name as usize].as_str()
        };
        let read: Vec<_> = profile
            .sample
            .iter()
            .map(|sample| {
                let names: Vec<&str> = sample.location_id.iter().map(|id| name(*id)).collect();
                (names.join("<"), sample.value.clone())
            })
            .collect();
        assert_eq!(
            read,
            [
                (
                    "Poly?Line<(no window)<xterm".into(),
                    vec![1500, 3, 24, 32, 500]
                ),
                (
                    "GetInputFocus<(no window)<xterm".into(),
                    vec![250, 3, 24, 32, 500]
                ),
            ]
        );
        // Each client and window occurs once.
        assert_eq!(profile.function.len(), 4);
    }
}

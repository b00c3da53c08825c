//! The kinds of markers in a profile for the Firefox Profiler, and their fields.

use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, Marker, MarkerFieldFlags, MarkerFieldFormat, MarkerLocations,
    MarkerTypeHandle, Profile, RuntimeSchemaMarkerField, RuntimeSchemaMarkerSchema, StringHandle,
};

/// A registered kind of marker.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    of: MarkerTypeHandle,
    category: CategoryHandle,
}

/// All registered kinds of markers.
#[derive(Debug)]
pub(super) struct Kinds {
    pub(super) request: Kind,
    pub(super) round_trip: Kind,
    pub(super) event: Kind,
    pub(super) episode: Kind,
    pub(super) child: Kind,
    pub(super) run: Kind,
    pub(super) mark: Kind,
}

use MarkerFieldFormat::{Bytes, Integer};

impl Kinds {
    /// Registers x11prof's kinds of markers in a Firefox profile.
    pub(super) fn new(profile: &mut Profile) -> Kinds {
        let sequence = ("sequence", "Sequence number", Integer);
        Kinds {
            request: kind(
                profile,
                ("X11Request", "Requests", CategoryColor::Gray),
                "A request without a reply, at the time when the server read it",
                &[("bytes", "Bytes", Bytes), sequence.clone()],
                "{marker.data.bytes}",
            ),
            round_trip: kind(
                profile,
                ("X11RoundTrip", "Round trips", CategoryColor::Orange),
                "A request with a reply, until the client could read the reply",
                &[
                    ("bytes", "Bytes", Bytes),
                    sequence,
                    ("received", "Bytes of the answer", Bytes),
                    ("answer", "Answer", MarkerFieldFormat::String),
                ],
                "{marker.data.answer}",
            ),
            event: kind(
                profile,
                ("X11Event", "Events", CategoryColor::Green),
                "An event or an error that the server sent",
                &[("bytes", "Bytes", Bytes)],
                "{marker.data.bytes}",
            ),
            episode: kind(
                profile,
                ("X11Episode", "Episodes", CategoryColor::Blue),
                "A user action, until its response was complete",
                &[
                    ("bytes", "Bytes", Bytes),
                    ("requests", "Requests", Integer),
                    ("roundTrips", "Round trips", Integer),
                    ("culprit", "Most of it", MarkerFieldFormat::String),
                ],
                "most of it: {marker.data.culprit}",
            ),
            child: kind(
                profile,
                (
                    "X11EpisodeChild",
                    "Episodes' children",
                    CategoryColor::LightBlue,
                ),
                "Events that an episode's own requests caused",
                &[],
                "",
            ),
            mark: kind(
                profile,
                ("X11Mark", "Marks", CategoryColor::Yellow),
                "The user marked the recording here",
                &[],
                "",
            ),
            run: kind(
                profile,
                ("X11ServerRun", "Server", CategoryColor::Red),
                "The server's main thread, from a wakeup until it waits again",
                &[],
                "",
            ),
        }
    }
}

fn kind(
    profile: &mut Profile,
    (name, category, color): (&str, &str, CategoryColor),
    description: &str,
    fields: &[(&str, &str, MarkerFieldFormat)],
    details: &str,
) -> Kind {
    let fields = fields
        .iter()
        .map(|(key, label, format)| RuntimeSchemaMarkerField {
            key: (*key).to_owned(),
            label: (*label).to_owned(),
            format: format.clone(),
            flags: MarkerFieldFlags::SEARCHABLE,
        });
    let label = Some("{marker.name}".to_owned());
    let of = profile.register_marker_type(RuntimeSchemaMarkerSchema {
        type_name: name.to_owned(),
        description: Some(description.to_owned()),
        locations: MarkerLocations::MARKER_CHART
            | MarkerLocations::MARKER_TABLE
            | MarkerLocations::TIMELINE_OVERVIEW,
        chart_label: label.clone(),
        tooltip_label: label.clone(),
        table_label: Some(details.to_owned()),
        fields: fields.collect(),
        graphs: Vec::new(),
    });
    Kind {
        of,
        category: profile.add_category(category, color),
    }
}

/// A marker to add to the profile.
pub(super) struct Marked<'a> {
    pub(super) kind: Kind,
    pub(super) name: &'a str,
    /// The numbers of the marker in the order of its kind's fields; unused for text fields.
    pub(super) numbers: [u64; 3],
    pub(super) text: StringHandle,
}

impl Marker for Marked<'_> {
    fn marker_type(&self, _: &mut Profile) -> MarkerTypeHandle {
        self.kind.of
    }

    fn name(&self, profile: &mut Profile) -> StringHandle {
        profile.intern_string(self.name)
    }

    fn category(&self, _: &mut Profile) -> CategoryHandle {
        self.kind.category
    }

    fn string_field_value(&self, _: u32) -> StringHandle {
        self.text
    }

    fn number_field_value(&self, field: u32) -> f64 {
        self.numbers.get(field as usize).map_or(0.0, |n| *n as f64)
    }
}

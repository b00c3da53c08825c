use std::collections::HashMap;

use prost::Message;

use super::Perfetto;
use super::proto::{Trace, TrackDescriptor, Type};
use x11prof_analyzer::Pipeline;
use x11prof_analyzer::testing::{Synthetic, expose, get_input_focus, no_operation, reply};

fn export(trace: &Synthetic) -> Trace {
    let (mut perfetto, mut pipeline, mut file) = (Perfetto::new(), Pipeline::new(), Vec::new());
    pipeline.run_records(trace.records.iter().cloned(), |observation| {
        perfetto.observe(observation, &mut file).unwrap();
    });
    perfetto.end(&[], &mut file).unwrap();
    Trace::decode(&file[..]).unwrap()
}

/// Events as `track: kind name [flows]`, without counter tracks.
fn events(trace: &Trace) -> Vec<String> {
    let mut tracks: HashMap<u64, &TrackDescriptor> = HashMap::new();
    let (mut names, mut events) = (HashMap::new(), Vec::new());
    for packet in &trace.packet {
        if let Some(track) = &packet.track_descriptor {
            if let Some(parent) = track.parent_uuid {
                assert!(tracks.contains_key(&parent), "{track:?}");
            }
            tracks.insert(track.uuid.unwrap(), track);
        }
        for new in packet.interned_data.iter().flat_map(|new| &new.event_names) {
            names.insert(new.iid.unwrap(), new.name.clone().unwrap());
        }
        let Some(event) = &packet.track_event else {
            continue;
        };
        let kind = Type::try_from(event.r#type.unwrap()).unwrap();
        let track = tracks[&event.track_uuid.unwrap()].name.as_deref().unwrap();
        let name = event.name_iid.map_or("", |iid| &names[&iid]);
        if kind != Type::Counter {
            events.push(format!(
                "{track}: {kind:?} {name} {:?} {:?}",
                event.flow_ids, event.terminating_flow_ids
            ));
        }
    }
    events
}

#[test]
fn overlapping_slices_use_sibling_tracks_linked_by_flows() {
    let mut trace = Synthetic::new();
    trace
        .client_sends(&[get_input_focus(), get_input_focus()])
        .wait(10)
        .server_sends(&[reply(1), reply(2)])
        .server_sends(&[expose(2)])
        .wait(10)
        .client_sends(&[no_operation(1)])
        .end();
    let trace = export(&trace);
    assert_eq!(
        events(&trace),
        [
            "round trips: SliceBegin GetInputFocus [1] []",
            "round trips: SliceEnd  [] []",
            "from the server: Instant reply to GetInputFocus [] [1]",
            "round trips 2: SliceBegin GetInputFocus [2] []",
            "round trips 2: SliceEnd  [] []",
            "from the server: Instant reply to GetInputFocus [] [2]",
            "from the server: Instant Expose [3] []",
            "requests: Instant NoOperation [] [3]",
        ]
    );
    let first = &trace.packet[0];
    assert_eq!(first.sequence_flags, Some(3));
}

#[test]
fn sent_bytes_are_a_counter_track() {
    let mut trace = Synthetic::new();
    trace
        .wait(2000)
        .client_sends(&[no_operation(1)])
        .wait(2000)
        .client_sends(&[no_operation(1)])
        .end();
    let trace = export(&trace);
    let named = |name: &str| {
        let mut tracks = trace.packet.iter().filter_map(|packet| {
            let track = packet.track_descriptor.as_ref()?;
            (track.name.as_deref() == Some(name)).then_some(track.uuid)
        });
        tracks.next().unwrap()
    };
    let sent = named("bytes sent");
    let values: Vec<i64> = trace
        .packet
        .iter()
        .filter_map(|packet| packet.track_event.as_ref())
        .filter(|event| event.track_uuid == sent)
        .filter_map(|event| event.counter_value)
        .collect();
    // The setup has 12 bytes.
    assert_eq!(values, [12, 16, 20]);
}

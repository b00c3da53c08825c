"""Reads a Perfetto trace by the published definitions (PyPI's `perfetto`): nothing unknown in it, every track described,
slices of a track nest, every flow begins and ends once."""

import sys
from collections import Counter, defaultdict

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto


def no_unknown(message):
    assert len(unknown_fields.UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for one in value if field.is_repeated else [value]:
                no_unknown(one)


trace = proto.Trace()
trace.ParseFromString(open(sys.argv[1], "rb").read())
tracks, names, events, begun, ended = {}, {}, defaultdict(list), {}, {}
for packet in trace.packet:
    no_unknown(packet)
    assert packet.trusted_packet_sequence_id
    for name in packet.interned_data.event_names:
        names[name.iid] = name.name
    if packet.HasField("track_descriptor"):
        track = packet.track_descriptor
        assert not track.parent_uuid or track.parent_uuid in tracks, track
        tracks[track.uuid] = track
    if packet.HasField("track_event"):
        event = packet.track_event
        assert event.track_uuid in tracks, event
        assert not event.name_iid or event.name_iid in names, event
        events[event.track_uuid].append((packet.timestamp, event))
        for flow in event.flow_ids:
            assert flow not in begun, event
            begun[flow] = packet.timestamp
        for flow in event.terminating_flow_ids:
            assert flow not in ended, event
            ended[flow] = packet.timestamp
kinds = Counter()
for uuid, of_track in events.items():
    track, open_slices = tracks[uuid], []
    # As Perfetto: by time, and as they are in the file where times are equal.
    for time, event in sorted(of_track, key=lambda pair: pair[0]):
        kind = proto.TrackEvent.Type.Name(event.type)
        assert track.HasField("counter") == (kind == "TYPE_COUNTER"), event
        if kind == "TYPE_SLICE_BEGIN":
            open_slices.append(time)
        if kind == "TYPE_SLICE_END":
            assert open_slices, (track.name, time)
            open_slices.pop()
        if kind == "TYPE_SLICE_BEGIN" and not track.name.startswith("episodes"):
            assert len(open_slices) == 1, (track.name, time)
        kinds[track.name.rstrip(" 0123456789"), kind] += 1
    assert not open_slices, track.name
assert begun.keys() == ended.keys(), begun.keys() ^ ended.keys()
early = sum(ended[flow] < at for flow, at in begun.items())
assert early == 0, f"{early} flows end before they begin"
print(f"{len(trace.packet)} packets, {len(tracks)} tracks, {len(begun)} flows")
for (track, kind), count in sorted(kinds.items()):
    print(f"  {track}: {count} {kind}")

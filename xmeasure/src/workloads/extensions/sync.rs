//! SYNC: counters, alarms, fences.

use std::borrow::Cow;

use x11rb_protocol::protocol::sync::{
    AwaitFenceRequest, ChangeAlarmAux, ChangeAlarmRequest, ChangeCounterRequest, CreateAlarmAux,
    CreateAlarmRequest, CreateCounterRequest, CreateFenceRequest, DestroyAlarmRequest,
    DestroyCounterRequest, DestroyFenceRequest, GetPriorityRequest, InitializeRequest, Int64,
    ListSystemCountersRequest, QueryAlarmRequest, QueryCounterRequest, QueryFenceRequest,
    ResetFenceRequest, SetCounterRequest, TESTTYPE, TriggerFenceRequest, VALUETYPE,
};

use super::{RESOURCES, cycle, major};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "SYNC")? else {
        return Ok(());
    };
    let version = InitializeRequest {
        desired_major_version: 3,
        desired_minor_version: 1,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    loads.costly(major.bytes(ListSystemCountersRequest));
    loads.plain(major.bytes(GetPriorityRequest { id: 0 }));
    let value = Int64 { hi: 0, lo: 1 };
    let create = |id| {
        let initial_value = value;
        major.bytes(CreateCounterRequest { id, initial_value })
    };
    let set = |counter| major.bytes(SetCounterRequest { counter, value });
    let change = |counter| {
        let amount = value;
        major.bytes(ChangeCounterRequest { counter, amount })
    };
    let query = |counter| major.bytes(QueryCounterRequest { counter });
    let destroy = |counter| major.bytes(DestroyCounterRequest { counter });
    cycle(
        client,
        loads,
        RESOURCES,
        &[&create, &set, &change, &query, &destroy],
    );
    alarms(client, loads, major)?;
    fences(client, loads, major);
    Ok(())
}

/// Alarms that never go off: their counter stays.
fn alarms(client: &mut Client, loads: &mut Loads, major: Major) -> Result<(), MeasureError> {
    let counter = client.id();
    let initial_value = Int64 { hi: 0, lo: 0 };
    let create = CreateCounterRequest {
        id: counter,
        initial_value,
    };
    client.send_bytes(&major.bytes(create))?;
    let far = Int64 { hi: 1, lo: 0 };
    let values = CreateAlarmAux::new()
        .counter(counter)
        .value_type(VALUETYPE::ABSOLUTE)
        .value(far)
        .test_type(TESTTYPE::POSITIVE_COMPARISON)
        .delta(Int64 { hi: 0, lo: 1 })
        .events(0);
    let create = |id| {
        let value_list = Cow::Borrowed(&values);
        major.bytes(CreateAlarmRequest { id, value_list })
    };
    let changed = ChangeAlarmAux::new().value(far);
    let change = |id| {
        let value_list = Cow::Borrowed(&changed);
        major.bytes(ChangeAlarmRequest { id, value_list })
    };
    let query = |alarm| major.bytes(QueryAlarmRequest { alarm });
    let destroy = |alarm| major.bytes(DestroyAlarmRequest { alarm });
    cycle(
        client,
        loads,
        RESOURCES / 8,
        &[&create, &change, &query, &destroy],
    );
    Ok(())
}

fn fences(client: &mut Client, loads: &mut Loads, major: Major) {
    let drawable = client.window;
    let create = |fence| {
        let initially_triggered = false;
        major.bytes(CreateFenceRequest {
            drawable,
            fence,
            initially_triggered,
        })
    };
    let trigger = |fence| major.bytes(TriggerFenceRequest { fence });
    // A fence that is triggered already makes nobody wait.
    let wait = |fence| {
        let fence_list = vec![fence].into();
        major.bytes(AwaitFenceRequest { fence_list })
    };
    let query = |fence| major.bytes(QueryFenceRequest { fence });
    let reset = |fence| major.bytes(ResetFenceRequest { fence });
    let destroy = |fence| major.bytes(DestroyFenceRequest { fence });
    let all: &[&dyn Fn(u32) -> Vec<u8>] = &[&create, &trigger, &wait, &query, &reset, &destroy];
    cycle(client, loads, RESOURCES, all);
}

//! SYNC: counters, alarms, fences.

use std::borrow::Cow;

use x11rb_protocol::protocol::sync::{
    AwaitFenceRequest, ChangeAlarmAux, ChangeAlarmRequest, ChangeCounterRequest, CreateAlarmAux,
    CreateAlarmRequest, CreateCounterRequest, CreateFenceRequest, DestroyAlarmRequest,
    DestroyCounterRequest, DestroyFenceRequest, GetPriorityRequest, InitializeRequest, Int64,
    ListSystemCountersRequest, QueryAlarmRequest, QueryCounterRequest, QueryFenceRequest,
    ResetFenceRequest, SetCounterRequest, TESTTYPE, TriggerFenceRequest, VALUETYPE,
};

use super::{RESOURCES, costly, cycle, major, plain};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::extension;
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
    plain(loads, version, major);
    costly(loads, ListSystemCountersRequest, major);
    plain(loads, GetPriorityRequest { id: 0 }, major);
    let value = Int64 { hi: 0, lo: 1 };
    let create = |id| {
        let initial_value = value;
        extension(CreateCounterRequest { id, initial_value }, major)
    };
    let set = |counter| extension(SetCounterRequest { counter, value }, major);
    let change = |counter| {
        let amount = value;
        extension(ChangeCounterRequest { counter, amount }, major)
    };
    let query = |counter| extension(QueryCounterRequest { counter }, major);
    let destroy = |counter| extension(DestroyCounterRequest { counter }, major);
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
fn alarms(client: &mut Client, loads: &mut Loads, major: u8) -> Result<(), MeasureError> {
    let counter = client.id();
    let initial_value = Int64 { hi: 0, lo: 0 };
    let create = CreateCounterRequest {
        id: counter,
        initial_value,
    };
    client.send_bytes(&extension(create, major))?;
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
        extension(CreateAlarmRequest { id, value_list }, major)
    };
    let changed = ChangeAlarmAux::new().value(far);
    let change = |id| {
        let value_list = Cow::Borrowed(&changed);
        extension(ChangeAlarmRequest { id, value_list }, major)
    };
    let query = |alarm| extension(QueryAlarmRequest { alarm }, major);
    let destroy = |alarm| extension(DestroyAlarmRequest { alarm }, major);
    cycle(
        client,
        loads,
        RESOURCES / 8,
        &[&create, &change, &query, &destroy],
    );
    Ok(())
}

fn fences(client: &mut Client, loads: &mut Loads, major: u8) {
    let drawable = client.window;
    let create = |fence| {
        let initially_triggered = false;
        extension(
            CreateFenceRequest {
                drawable,
                fence,
                initially_triggered,
            },
            major,
        )
    };
    let trigger = |fence| extension(TriggerFenceRequest { fence }, major);
    // A fence that is triggered already makes nobody wait.
    let wait = |fence| {
        let fence_list = vec![fence].into();
        extension(AwaitFenceRequest { fence_list }, major)
    };
    let query = |fence| extension(QueryFenceRequest { fence }, major);
    let reset = |fence| extension(ResetFenceRequest { fence }, major);
    let destroy = |fence| extension(DestroyFenceRequest { fence }, major);
    let all: &[&dyn Fn(u32) -> Vec<u8>] = &[&create, &trigger, &wait, &query, &reset, &destroy];
    cycle(client, loads, RESOURCES, all);
}

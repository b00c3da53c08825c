//! Properties, atoms, selections.

use x11rb_protocol::protocol::xproto::{
    AtomEnum, ChangePropertyRequest, ConvertSelectionRequest, DeletePropertyRequest,
    GetAtomNameRequest, GetPropertyRequest, GetSelectionOwnerRequest, InternAtomRequest,
    ListPropertiesRequest, PropMode, SetSelectionOwnerRequest,
};

use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Phase, Sync, Workload};

/// Bytes of a property's value.
const LENGTHS: [u32; 5] = [4, 32, 256, 2048, 16384];
/// Atoms used at once. Atoms stay for the server's life, so their number is small and their
/// names are the same in every run.
const ATOMS: usize = 32;

/// Adds the loads.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let window = client.unwatched;
    let type_ = u32::from(AtomEnum::STRING);
    let change = |property, data_len: u32| {
        core(ChangePropertyRequest {
            mode: PropMode::REPLACE,
            window,
            property,
            type_,
            format: 8,
            data_len,
            data: vec![b'x'; data_len as usize].into(),
        })
    };
    for &length in plan.sizes(&LENGTHS) {
        let property = client.atom(&format!("X11PROF_{length}"))?;
        client.send_bytes(&change(property, length))?;
        loads.push(Workload::repeated(
            &change(property, length),
            Sync::RoundTrip,
        ));
        let get = core(GetPropertyRequest {
            delete: false,
            window,
            property,
            type_,
            long_offset: 0,
            long_length: length.div_ceil(4),
        });
        loads.push(Workload::answered(&get));
    }
    let mut atoms = Vec::new();
    for index in 0..ATOMS {
        atoms.push(client.atom(&format!("X11PROF_PROPERTY_{index}"))?);
    }
    // A separate window keeps the two loads' properties apart.
    let told = client.notified;
    let set = |property: &u32| {
        core(ChangePropertyRequest {
            mode: PropMode::REPLACE,
            window: told,
            property: *property,
            type_,
            format: 8,
            data_len: 4,
            data: b"xxxx".into(),
        })
    };
    let delete = |property: &u32| {
        core(DeletePropertyRequest {
            window: told,
            property: *property,
        })
    };
    loads.push(Workload::cycle([
        Phase::new(atoms.iter().map(set), Sync::RoundTrip),
        Phase::new(atoms.iter().map(delete), Sync::RoundTrip),
    ]));
    loads.plain(core(ListPropertiesRequest { window }));
    loads.plain(core(InternAtomRequest {
        only_if_exists: false,
        name: b"_NET_WM_NAME".into(),
    }));
    loads.plain(core(GetAtomNameRequest {
        atom: u32::from(AtomEnum::WM_NAME),
    }));
    let selection = atoms.first().copied().unwrap_or_default();
    loads.plain(core(SetSelectionOwnerRequest {
        owner: window,
        selection,
        time: 0,
    }));
    loads.plain(core(GetSelectionOwnerRequest { selection }));
    // Nobody owns this one, so the server answers itself, with an event.
    let unowned = atoms.last().copied().unwrap_or_default();
    loads.plain(core(ConvertSelectionRequest {
        requestor: window,
        selection: unowned,
        target: type_,
        property: selection,
        time: 0,
    }));
    Ok(())
}

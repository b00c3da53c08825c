//! Input devices: the X Input Extension, XKEYBOARD, XTEST.

use x11rb_protocol::protocol::xinput::{
    EventMask, GetExtensionVersionRequest, GrabMode22, GrabOwner, GrabType,
    ListInputDevicesRequest, XIEventMask, XIGetClientPointerRequest, XIGetFocusRequest,
    XIGetPropertyRequest, XIGetSelectedEventsRequest, XIGrabDeviceRequest, XIListPropertiesRequest,
    XIPassiveGrabDeviceRequest, XIPassiveUngrabDeviceRequest, XIQueryDeviceRequest,
    XIQueryPointerRequest, XIQueryVersionRequest, XISelectEventsRequest, XIUngrabDeviceRequest,
};
use x11rb_protocol::protocol::xkb::{
    EventType, GetCompatMapRequest, GetControlsRequest, GetDeviceInfoRequest,
    GetIndicatorMapRequest, GetIndicatorStateRequest, GetMapRequest, GetNamedIndicatorRequest,
    GetNamesRequest, GetStateRequest, Group, ID, LatchLockStateRequest, LedClass, MapPart,
    NameDetail, PerClientFlag, PerClientFlagsRequest, SelectEventsAux, SelectEventsRequest,
    SetOfGroup, UseExtensionRequest,
};
use x11rb_protocol::protocol::xproto::{GrabMode, ModMask};
use x11rb_protocol::protocol::xtest;

use super::major;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;

/// The id of all devices (XI2proto).
const ALL_DEVICES: u16 = 0;
/// The first master pointer and keyboard: the virtual core devices, on every server.
pub(super) const POINTER: u16 = 2;
const KEYBOARD: u16 = 3;
/// Types of events (X.h): MotionNotify, KeyPress and KeyRelease, ButtonPress and ButtonRelease.
const MOTION: u8 = 6;
const KEYS: [u8; 2] = [2, 3];
const BUTTONS: [u8; 2] = [4, 5];
/// A letter on an evdev keyboard.
const LETTER: u8 = 38;

/// Adds the loads.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    devices(client, plan, loads)?;
    keyboard(client, plan, loads)?;
    tests(client, plan, loads)
}

fn devices(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "XInputExtension")? else {
        return Ok(());
    };
    let version = XIQueryVersionRequest {
        major_version: 2,
        minor_version: 3,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    let name = b"XInputExtension";
    loads.plain(major.bytes(GetExtensionVersionRequest { name: name.into() }));
    loads.costly(major.bytes(ListInputDevicesRequest));
    for deviceid in [ALL_DEVICES, POINTER, KEYBOARD] {
        loads.costly(major.bytes(XIQueryDeviceRequest { deviceid }));
        if deviceid != ALL_DEVICES {
            loads.plain(major.bytes(XIListPropertiesRequest { deviceid }));
        }
    }
    let window = client.unwatched;
    let masks = vec![EventMask {
        deviceid: POINTER,
        mask: vec![XIEventMask::BUTTON_PRESS | XIEventMask::MOTION],
    }];
    loads.plain(major.bytes(XISelectEventsRequest {
        window,
        masks: masks.into(),
    }));
    loads.plain(major.bytes(XIGetSelectedEventsRequest { window }));
    loads.plain(major.bytes(XIGetClientPointerRequest { window: 0 }));
    loads.plain(major.bytes(XIQueryPointerRequest {
        window,
        deviceid: POINTER,
    }));
    loads.plain(major.bytes(XIGetFocusRequest { deviceid: KEYBOARD }));
    let enabled = client.atom("Device Enabled")?;
    loads.plain(major.bytes(XIGetPropertyRequest {
        deviceid: POINTER,
        property: enabled,
        len: 4,
        ..XIGetPropertyRequest::default()
    }));
    // A passive grab on a window that is not mapped: nobody's input is taken away.
    let modifiers = [0_u32];
    let mask = [u32::from(XIEventMask::BUTTON_PRESS)];
    let grab = XIPassiveGrabDeviceRequest {
        time: 0,
        grab_window: window,
        cursor: 0,
        detail: 1,
        deviceid: POINTER,
        grab_type: GrabType::BUTTON,
        grab_mode: GrabMode22::ASYNC,
        paired_device_mode: GrabMode::ASYNC,
        owner_events: GrabOwner::OWNER,
        mask: (&mask).into(),
        modifiers: (&modifiers).into(),
    };
    let ungrab = XIPassiveUngrabDeviceRequest {
        grab_window: window,
        detail: 1,
        deviceid: POINTER,
        grab_type: GrabType::BUTTON,
        modifiers: (&modifiers).into(),
    };
    loads.pair(major.bytes(grab), major.bytes(ungrab));
    if plan.intrusive {
        let grab = XIGrabDeviceRequest {
            window: client.window,
            time: 0,
            cursor: 0,
            deviceid: POINTER,
            mode: GrabMode::ASYNC,
            paired_device_mode: GrabMode::ASYNC,
            owner_events: GrabOwner::OWNER,
            mask: (&mask).into(),
        };
        let ungrab = XIUngrabDeviceRequest {
            time: 0,
            deviceid: POINTER,
        };
        loads.pair(major.bytes(grab), major.bytes(ungrab));
    }
    Ok(())
}

fn keyboard(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "XKEYBOARD")? else {
        return Ok(());
    };
    let version = UseExtensionRequest {
        wanted_major: 1,
        wanted_minor: 0,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    let device_spec = u16::from(ID::USE_CORE_KBD);
    loads.plain(major.bytes(GetStateRequest { device_spec }));
    loads.plain(major.bytes(GetControlsRequest { device_spec }));
    loads.plain(major.bytes(GetIndicatorStateRequest { device_spec }));
    loads.plain(major.bytes(GetIndicatorMapRequest {
        device_spec,
        which: !0,
    }));
    // As Xlib and libxkbcommon ask: the parts in whole.
    for full in [
        MapPart::KEY_TYPES | MapPart::KEY_SYMS | MapPart::MODIFIER_MAP,
        MapPart::from(0xFF_u16),
    ] {
        loads.costly(major.bytes(GetMapRequest {
            device_spec,
            full,
            ..GetMapRequest::default()
        }));
    }
    let which = NameDetail::from(0x3FFF_u32);
    loads.costly(major.bytes(GetNamesRequest { device_spec, which }));
    let groups = SetOfGroup::from(0xF_u8);
    loads.costly(major.bytes(GetCompatMapRequest {
        device_spec,
        groups,
        get_all_si: true,
        first_si: 0,
        n_si: 0,
    }));
    loads.plain(major.bytes(PerClientFlagsRequest {
        device_spec,
        change: PerClientFlag::DETECTABLE_AUTO_REPEAT,
        ..PerClientFlagsRequest::default()
    }));
    indicators(client, plan, loads, major)?;
    let details = SelectEventsAux::new();
    loads.plain(major.bytes(SelectEventsRequest {
        device_spec,
        clear: EventType::BELL_NOTIFY,
        details: std::borrow::Cow::Owned(details),
        ..SelectEventsRequest::default()
    }));
    Ok(())
}

/// The questions of xset and toolkits about lamps and devices, and a change of locks that changes none.
fn indicators(
    client: &mut Client,
    plan: &Plan,
    loads: &mut Loads,
    major: Major,
) -> Result<(), MeasureError> {
    let device_spec = u16::from(ID::USE_CORE_KBD);
    let indicator = client.atom("Caps Lock")?;
    loads.plain(major.bytes(GetNamedIndicatorRequest {
        device_spec,
        led_class: LedClass::DFLT_XI_CLASS,
        led_id: u16::from(ID::DFLT_XI_ID),
        indicator,
    }));
    loads.plain(major.bytes(GetDeviceInfoRequest {
        device_spec,
        led_class: LedClass::KBD_FEEDBACK_CLASS,
        ..GetDeviceInfoRequest::default()
    }));
    loads.plain(major.bytes(same_locks(plan)));
    Ok(())
}

/// A core event as if a device had made it; `detail` is a key or a button.
fn fake_input(
    root: u32,
    type_: u8,
    detail: u8,
    (root_x, root_y): (i16, i16),
) -> xtest::FakeInputRequest {
    xtest::FakeInputRequest {
        type_,
        detail,
        time: 0,
        root,
        root_x,
        root_y,
        deviceid: 0,
    }
}

/// A change of locks that changes none.
fn same_locks(plan: &Plan) -> LatchLockStateRequest {
    let none = ModMask::from(0_u16);
    LatchLockStateRequest {
        device_spec: u16::from(ID::USE_CORE_KBD),
        affect_mod_locks: none,
        mod_locks: none,
        // As xdotool locks the first group, which is another one only on a desktop in use.
        lock_group: plan.intrusive,
        group_lock: Group::M1,
        affect_mod_latches: none,
        latch_group: false,
        group_latch: 0,
    }
}

fn tests(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "XTEST")? else {
        return Ok(());
    };
    loads.plain(major.bytes(xtest::GetVersionRequest {
        major_version: 2,
        minor_version: 2,
    }));
    loads.plain(major.bytes(xtest::CompareCursorRequest {
        window: client.window,
        cursor: 0,
    }));
    if plan.intrusive {
        // The pointer moves, within our own window: there and back.
        let root = client.screen.root;
        let motion = |x| major.bytes(fake_input(root, MOTION, 0, (x, 20)));
        loads.pair(motion(20), motion(30));
        // Nobody has asked for the key or the button.
        for ([press, release], detail) in [(KEYS, LETTER), (BUTTONS, 1)] {
            let fake = |type_| major.bytes(fake_input(root, type_, detail, (0, 0)));
            loads.pair(fake(press), fake(release));
        }
    }
    Ok(())
}

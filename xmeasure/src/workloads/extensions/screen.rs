//! Programs' questions about the screen: RANDR, XINERAMA, MIT-SCREEN-SAVER, DPMS, XVideo, X-Resource; and the Generic
//! Event Extension and XC-MISC.

use x11rb_protocol::protocol::res::{ClientIdMask, ClientIdSpec};
use x11rb_protocol::protocol::{dpms, ge, randr, res, screensaver, xc_misc, xinerama, xv};

use super::major;
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Adds the loads.
pub(super) fn add(client: &mut Client, _: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    outputs(client, loads)?;
    let root = client.screen.root;
    if let Some(major) = major(client, loads, "XINERAMA")? {
        loads.plain(major.bytes(xinerama::QueryVersionRequest { major: 1, minor: 1 }));
        loads.plain(major.bytes(xinerama::IsActiveRequest));
        loads.plain(major.bytes(xinerama::QueryScreensRequest));
    }
    if let Some(major) = major(client, loads, "MIT-SCREEN-SAVER")? {
        loads.plain(major.bytes(screensaver::QueryVersionRequest {
            client_major_version: 1,
            client_minor_version: 1,
        }));
        loads.plain(major.bytes(screensaver::QueryInfoRequest { drawable: root }));
    }
    if let Some(major) = major(client, loads, "DPMS")? {
        loads.plain(major.bytes(dpms::GetVersionRequest {
            client_major_version: 1,
            client_minor_version: 1,
        }));
        loads.plain(major.bytes(dpms::CapableRequest));
        loads.plain(major.bytes(dpms::InfoRequest));
    }
    if let Some(major) = major(client, loads, "Generic Event Extension")? {
        loads.plain(major.bytes(ge::QueryVersionRequest {
            client_major_version: 1,
            client_minor_version: 0,
        }));
    }
    if let Some(major) = major(client, loads, "XC-MISC")? {
        loads.plain(major.bytes(xc_misc::GetVersionRequest {
            client_major_version: 1,
            client_minor_version: 1,
        }));
        loads.costly(major.bytes(xc_misc::GetXIDRangeRequest));
    }
    if let Some(major) = major(client, loads, "XVideo")? {
        loads.plain(major.bytes(xv::QueryExtensionRequest));
        loads.plain(major.bytes(xv::QueryAdaptorsRequest { window: root }));
    }
    resources(client, loads)
}

fn outputs(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "RANDR")? else {
        return Ok(());
    };
    let window = client.screen.root;
    let version = randr::QueryVersionRequest {
        major_version: 1,
        minor_version: 5,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    let enable = randr::NotifyMask::from(0_u16);
    loads.plain(major.bytes(randr::SelectInputRequest {
        window: client.unwatched,
        enable,
    }));
    loads.costly(major.bytes(randr::GetScreenInfoRequest { window }));
    loads.costly(major.bytes(randr::GetScreenResourcesCurrentRequest { window }));
    // On real hardware this one asks the monitors, and takes long.
    loads.costly(major.bytes(randr::GetScreenResourcesRequest { window }));
    loads.plain(major.bytes(randr::GetScreenSizeRangeRequest { window }));
    loads.plain(major.bytes(randr::GetOutputPrimaryRequest { window }));
    loads.plain(major.bytes(randr::GetProvidersRequest { window }));
    for get_active in [true, false] {
        loads.costly(major.bytes(randr::GetMonitorsRequest { window, get_active }));
    }
    let resources = randr::GetScreenResourcesCurrentRequest { window };
    let Some(resources) = client.ask_extension(resources, major)? else {
        return Ok(());
    };
    let config_timestamp = resources.config_timestamp;
    if let Some(&output) = resources.outputs.first() {
        loads.costly(major.bytes(randr::GetOutputInfoRequest {
            output,
            config_timestamp,
        }));
        loads.plain(major.bytes(randr::ListOutputPropertiesRequest { output }));
        let property = client.atom("EDID")?;
        loads.plain(major.bytes(randr::GetOutputPropertyRequest {
            output,
            property,
            long_length: 32,
            ..randr::GetOutputPropertyRequest::default()
        }));
    }
    if let Some(&crtc) = resources.crtcs.first() {
        loads.costly(major.bytes(randr::GetCrtcInfoRequest {
            crtc,
            config_timestamp,
        }));
        loads.plain(major.bytes(randr::GetCrtcGammaSizeRequest { crtc }));
        loads.costly(major.bytes(randr::GetCrtcGammaRequest { crtc }));
        loads.plain(major.bytes(randr::GetCrtcTransformRequest { crtc }));
    }
    Ok(())
}

fn resources(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "X-Resource")? else {
        return Ok(());
    };
    let version = res::QueryVersionRequest {
        client_major: 1,
        client_minor: 2,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    loads.plain(major.bytes(res::QueryClientsRequest));
    let xid = client.window;
    loads.costly(major.bytes(res::QueryClientResourcesRequest { xid }));
    loads.costly(major.bytes(res::QueryClientPixmapBytesRequest { xid }));
    let specs = vec![ClientIdSpec {
        client: xid,
        mask: ClientIdMask::LOCAL_CLIENT_PID,
    }];
    let specs = specs.into();
    loads.plain(major.bytes(res::QueryClientIdsRequest { specs }));
    Ok(())
}

//! Programs' questions about the screen: RANDR, XINERAMA, MIT-SCREEN-SAVER, DPMS, XVideo, X-Resource; and the Generic
//! Event Extension and XC-MISC.

use x11rb_protocol::protocol::res::{ClientIdMask, ClientIdSpec};
use x11rb_protocol::protocol::{dpms, ge, randr, res, screensaver, xc_misc, xinerama, xv};

use super::{costly, major, plain};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Adds the loads.
pub(super) fn add(client: &mut Client, _: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    outputs(client, loads)?;
    let root = client.screen.root;
    if let Some(major) = major(client, loads, "XINERAMA")? {
        let version = xinerama::QueryVersionRequest { major: 1, minor: 1 };
        plain(loads, version, major);
        plain(loads, xinerama::IsActiveRequest, major);
        plain(loads, xinerama::QueryScreensRequest, major);
    }
    if let Some(major) = major(client, loads, "MIT-SCREEN-SAVER")? {
        let version = screensaver::QueryVersionRequest {
            client_major_version: 1,
            client_minor_version: 1,
        };
        plain(loads, version, major);
        plain(
            loads,
            screensaver::QueryInfoRequest { drawable: root },
            major,
        );
    }
    if let Some(major) = major(client, loads, "DPMS")? {
        let version = dpms::GetVersionRequest {
            client_major_version: 1,
            client_minor_version: 1,
        };
        plain(loads, version, major);
        plain(loads, dpms::CapableRequest, major);
        plain(loads, dpms::InfoRequest, major);
    }
    if let Some(major) = major(client, loads, "Generic Event Extension")? {
        let version = ge::QueryVersionRequest {
            client_major_version: 1,
            client_minor_version: 0,
        };
        plain(loads, version, major);
    }
    if let Some(major) = major(client, loads, "XC-MISC")? {
        let version = xc_misc::GetVersionRequest {
            client_major_version: 1,
            client_minor_version: 1,
        };
        plain(loads, version, major);
        costly(loads, xc_misc::GetXIDRangeRequest, major);
    }
    if let Some(major) = major(client, loads, "XVideo")? {
        plain(loads, xv::QueryExtensionRequest, major);
        plain(loads, xv::QueryAdaptorsRequest { window: root }, major);
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
    plain(loads, version, major);
    let enable = randr::NotifyMask::from(0_u16);
    let select = randr::SelectInputRequest {
        window: client.unwatched,
        enable,
    };
    plain(loads, select, major);
    costly(loads, randr::GetScreenInfoRequest { window }, major);
    costly(
        loads,
        randr::GetScreenResourcesCurrentRequest { window },
        major,
    );
    // On real hardware this one asks the monitors, and takes long.
    costly(loads, randr::GetScreenResourcesRequest { window }, major);
    plain(loads, randr::GetScreenSizeRangeRequest { window }, major);
    plain(loads, randr::GetOutputPrimaryRequest { window }, major);
    plain(loads, randr::GetProvidersRequest { window }, major);
    for get_active in [true, false] {
        costly(
            loads,
            randr::GetMonitorsRequest { window, get_active },
            major,
        );
    }
    let resources = randr::GetScreenResourcesCurrentRequest { window };
    let Some(resources) = client.ask_extension(resources, major)? else {
        return Ok(());
    };
    let config_timestamp = resources.config_timestamp;
    if let Some(&output) = resources.outputs.first() {
        costly(
            loads,
            randr::GetOutputInfoRequest {
                output,
                config_timestamp,
            },
            major,
        );
        plain(loads, randr::ListOutputPropertiesRequest { output }, major);
        let property = client.atom("EDID")?;
        let get = randr::GetOutputPropertyRequest {
            output,
            property,
            type_: 0,
            long_offset: 0,
            long_length: 32,
            delete: false,
            pending: false,
        };
        plain(loads, get, major);
    }
    if let Some(&crtc) = resources.crtcs.first() {
        costly(
            loads,
            randr::GetCrtcInfoRequest {
                crtc,
                config_timestamp,
            },
            major,
        );
        plain(loads, randr::GetCrtcGammaSizeRequest { crtc }, major);
        costly(loads, randr::GetCrtcGammaRequest { crtc }, major);
        plain(loads, randr::GetCrtcTransformRequest { crtc }, major);
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
    plain(loads, version, major);
    plain(loads, res::QueryClientsRequest, major);
    let xid = client.window;
    costly(loads, res::QueryClientResourcesRequest { xid }, major);
    costly(loads, res::QueryClientPixmapBytesRequest { xid }, major);
    let specs = vec![ClientIdSpec {
        client: xid,
        mask: ClientIdMask::LOCAL_CLIENT_PID,
    }];
    let specs = specs.into();
    plain(loads, res::QueryClientIdsRequest { specs }, major);
    Ok(())
}

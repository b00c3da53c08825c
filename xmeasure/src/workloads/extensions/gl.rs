//! The server requests of a GL program before it draws: GLX, DRI2, DRI3. The contexts are direct ones: rendering itself
//! does not go over the connection.

use x11rb_protocol::protocol::glx::{
    CreateContextAttribsARBRequest, CreateContextRequest, CreateNewContextRequest,
    DestroyContextRequest, GetDrawableAttributesRequest, GetFBConfigsRequest,
    GetVisualConfigsRequest, IsDirectRequest, QueryContextRequest, QueryServerStringRequest,
    QueryVersionRequest, SetClientInfo2ARBRequest, SetClientInfoARBRequest,
};
use x11rb_protocol::protocol::{dri2, dri3};

use super::{RESOURCES, cycle, major};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::Major;
use crate::workloads::loads::Loads;

/// Names of a server's strings: vendor, version, extensions (glx.h).
const STRINGS: [u32; 3] = [1, 2, 3];
/// Names of a configuration's properties (glxext.h).
const FBCONFIG_ID: u32 = 0x8013;
const VISUAL_ID: u32 = 0x800B;
const RGBA_TYPE: u32 = 0x8014;

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    if let Some(major) = major(client, loads, "GLX")? {
        glx(client, loads, major)?;
    }
    let window = client.screen.root;
    if let Some(major) = major(client, loads, "DRI2")? {
        loads.plain(major.bytes(dri2::QueryVersionRequest {
            major_version: 1,
            minor_version: 4,
        }));
        let driver_type = dri2::DriverType::DRI;
        loads.plain(major.bytes(dri2::ConnectRequest {
            window,
            driver_type,
        }));
    }
    if let Some(major) = major(client, loads, "DRI3")? {
        let version = dri3::QueryVersionRequest {
            major_version: 1,
            minor_version: 2,
        };
        let spoken = client.ask_extension(version, major)?;
        loads.plain(major.bytes(version));
        // Opening the device is left out: it hands out access to the graphics card.
        if spoken.is_some_and(|version| (version.major_version, version.minor_version) >= (1, 2)) {
            let (depth, bpp) = (24, 32);
            loads.plain(major.bytes(dri3::GetSupportedModifiersRequest { window, depth, bpp }));
        }
    }
    Ok(())
}

fn glx(client: &mut Client, loads: &mut Loads, major: Major) -> Result<(), MeasureError> {
    let screen = 0;
    let (major_version, minor_version) = (1, 4);
    let version = QueryVersionRequest {
        major_version,
        minor_version,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    for name in STRINGS {
        loads.plain(major.bytes(QueryServerStringRequest { screen, name }));
    }
    loads.costly(major.bytes(GetVisualConfigsRequest { screen }));
    loads.costly(major.bytes(GetFBConfigsRequest { screen }));
    // Versions and names of extensions, of about the length that Mesa sends.
    let (gl_names, glx_names) = ("GL_EXT_texture ".repeat(190), "GLX_EXT_x ".repeat(40));
    let versions: Vec<u32> = (0..17).flat_map(|at| [1 + at / 6, at % 6]).collect();
    loads.plain(major.bytes(SetClientInfoARBRequest {
        major_version,
        minor_version,
        gl_versions: (&versions).into(),
        gl_extension_string: gl_names.as_bytes().into(),
        glx_extension_string: glx_names.as_bytes().into(),
    }));
    let versions: Vec<u32> = (0..17).flat_map(|at| [1 + at / 6, at % 6, 0]).collect();
    loads.plain(major.bytes(SetClientInfo2ARBRequest {
        major_version,
        minor_version,
        gl_versions: (&versions).into(),
        gl_extension_string: gl_names.as_bytes().into(),
        glx_extension_string: glx_names.as_bytes().into(),
    }));
    let drawable = client.window;
    loads.plain(major.bytes(GetDrawableAttributesRequest { drawable }));
    contexts(client, loads, major)
}

/// Direct contexts come and go, by each of the requests that make one.
fn contexts(client: &mut Client, loads: &mut Loads, major: Major) -> Result<(), MeasureError> {
    let screen = 0;
    let visual = client.screen.root_visual;
    let configs = client.ask_extension(GetFBConfigsRequest { screen }, major)?;
    let fbconfig = configs.and_then(|configs| {
        let length = 2 * configs.num_properties as usize;
        let mut all = configs.property_list.chunks_exact(length.max(2));
        all.find_map(|config| {
            let property = |name| {
                let mut pairs = config.as_chunks::<2>().0.iter();
                pairs.find(|pair| pair[0] == name).map(|pair| pair[1])
            };
            property(FBCONFIG_ID).filter(|_| property(VISUAL_ID) == Some(visual))
        })
    });
    let Some(fbconfig) = fbconfig else {
        loads.lacks("a GLX configuration of the root's visual");
        return Ok(());
    };
    let (share_list, is_direct) = (0, true);
    let destroy = |context| major.bytes(DestroyContextRequest { context });
    let old = |context| {
        major.bytes(CreateContextRequest {
            context,
            visual,
            screen,
            share_list,
            is_direct,
        })
    };
    let direct = |context| major.bytes(IsDirectRequest { context });
    let query = |context| major.bytes(QueryContextRequest { context });
    let count = RESOURCES / 16;
    cycle(client, loads, count, &[&old, &direct, &query, &destroy]);
    let new = |context| {
        major.bytes(CreateNewContextRequest {
            context,
            fbconfig,
            screen,
            render_type: RGBA_TYPE,
            share_list,
            is_direct,
        })
    };
    cycle(client, loads, count, &[&new, &destroy]);
    let with_attributes = |context| {
        major.bytes(CreateContextAttribsARBRequest {
            context,
            fbconfig,
            screen,
            share_list,
            is_direct,
            attribs: (&[]).into(),
        })
    };
    cycle(client, loads, count, &[&with_attributes, &destroy]);
    Ok(())
}

//! The framebuffer configurations of GLX. The contexts in the table of loads need one.

use x11rb_protocol::protocol::glx::{GetFBConfigsRequest, QueryVersionRequest};

use crate::error::MeasureError;
use crate::server::client::Client;

/// Names of a configuration's properties (glxext.h).
const FBCONFIG_ID: u32 = 0x8013;
const VISUAL_ID: u32 = 0x800B;

/// The number of the configuration for the root's visual; `None` if the server has none.
pub(super) fn configuration(client: &mut Client) -> Result<Option<u32>, MeasureError> {
    let Some(major) = client.extension("GLX")? else {
        return Ok(None);
    };
    let version = QueryVersionRequest {
        major_version: 1,
        minor_version: 4,
    };
    client.ask_extension(version, major)?;
    let visual = client.screen.root_visual;
    let configs = client.ask_extension(GetFBConfigsRequest { screen: 0 }, major)?;
    Ok(configs.and_then(|configs| {
        let length = 2 * configs.num_properties as usize;
        let mut all = configs.property_list.chunks_exact(length.max(2));
        all.find_map(|config| {
            let property = |name| {
                let mut pairs = config.as_chunks::<2>().0.iter();
                pairs.find(|pair| pair[0] == name).map(|pair| pair[1])
            };
            property(FBCONFIG_ID).filter(|_| property(VISUAL_ID) == Some(visual))
        })
    }))
}

//! The loads of RENDER's glyphs and drawing.

use std::collections::HashMap;

use x11rb_protocol::protocol::render::{
    FreeGlyphsRequest, QueryPictFormatsRequest, QueryVersionRequest,
};

use super::render::Render;
use super::{composite, edges, glyphs, major};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::workloads::loads::Loads;

/// Adds the loads of RENDER to `loads`, and the formats that the table's loads name to `known`.
pub(super) fn add(
    client: &mut Client,
    plan: &Plan,
    loads: &mut Loads,
    known: &mut HashMap<String, String>,
) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "RENDER")? else {
        return Ok(());
    };
    let version = QueryVersionRequest {
        client_major_version: 0,
        client_minor_version: 11,
    };
    client.ask_extension(version, major)?;
    let Some(formats) = client.ask_extension(QueryPictFormatsRequest, major)? else {
        return Ok(());
    };
    let Some(render) = Render::new(client, major, &formats) else {
        loads.lacks("RENDER formats of the root's visual");
        return Ok(());
    };
    for (name, format) in [("argb32", render.argb32), ("a8", render.a8)] {
        known.insert(name.to_owned(), format.to_string());
    }
    // One glyph per request, as Xft and cairo add them.
    for side in [8, 16, 32] {
        let set = render.glyph_set(client, side, 1)?;
        let ids: Vec<u32> = (1..65).collect();
        let add = |glyph| render.add_glyphs(set, glyph, 1, side);
        let remove = |glyph| {
            let glyphs = vec![glyph].into();
            render.major.bytes(FreeGlyphsRequest {
                glyphset: set,
                glyphs,
            })
        };
        super::super::cycle(loads, &ids, &[&add, &remove]);
    }
    let pictures = composite::add(client, plan, loads, render)?;
    edges::add(plan, loads, render, &pictures);
    let text = [pictures.opaque, pictures.window];
    glyphs::add(client, plan, loads, render, text)
}

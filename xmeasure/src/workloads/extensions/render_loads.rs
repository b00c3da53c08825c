//! RENDER's loads: pictures, gradients, glyph sets, questions; then drawing.

use std::borrow::Cow;

use x11rb_protocol::protocol::render::{
    ChangePictureAux, ChangePictureRequest, CreateCursorRequest, CreateGlyphSetRequest,
    FreeGlyphSetRequest, FreeGlyphsRequest, QueryFiltersRequest, QueryPictFormatsRequest,
    QueryVersionRequest, ReferenceGlyphSetRequest, Repeat, SetPictureClipRectanglesRequest,
};
use x11rb_protocol::protocol::xproto::{FreeCursorRequest, Rectangle};

use super::render::{ONE, Render, TRANSLUCENT};
use super::{RESOURCES, composite, cycle, edges, glyphs, major};
use crate::error::MeasureError;
use crate::plan::Plan;
use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;
use crate::workloads::workload::{Sync, Workload};

/// Adds the loads.
pub(super) fn add(client: &mut Client, plan: &Plan, loads: &mut Loads) -> Result<(), MeasureError> {
    let Some(major) = major(client, loads, "RENDER")? else {
        return Ok(());
    };
    let version = QueryVersionRequest {
        client_major_version: 0,
        client_minor_version: 11,
    };
    client.ask_extension(version, major)?;
    loads.plain(major.bytes(version));
    loads.costly(major.bytes(QueryPictFormatsRequest));
    loads.plain(major.bytes(QueryFiltersRequest {
        drawable: client.window,
    }));
    let Some(known) = client.ask_extension(QueryPictFormatsRequest, major)? else {
        return Ok(());
    };
    let Some(render) = Render::new(client, major, &known) else {
        loads.lacks("RENDER formats of the root's visual");
        return Ok(());
    };
    pictures(client, loads, render)?;
    glyph_sets(client, loads, render)?;
    let pictures = composite::add(client, plan, loads, render)?;
    edges::add(plan, loads, render, &pictures);
    let text = [pictures.opaque, pictures.window];
    glyphs::add(client, plan, loads, render, text)
}

/// Pictures come and go, and are set.
fn pictures(client: &mut Client, loads: &mut Loads, render: Render) -> Result<(), MeasureError> {
    let major = render.major;
    let free = |picture| render.free(picture);
    // The pictures are of a pixmap, as toolkits' mostly are. A window has a list of its pictures, which the server
    // searches at each FreePicture (a picture of a window that has hundreds takes ten times as long).
    let drawable = client.pixmap(32, 32)?;
    let picture = |pid| render.picture(pid, drawable, render.argb32);
    cycle(client, loads, RESOURCES, &[&picture, &free]);
    cycle(
        client,
        loads,
        RESOURCES,
        &[&|id| render.solid(id, TRANSLUCENT), &free],
    );
    cycle(client, loads, RESOURCES, &[&|id| render.linear(id), &free]);
    cycle(client, loads, RESOURCES, &[&|id| render.radial(id), &free]);
    cycle(client, loads, RESOURCES, &[&|id| render.conical(id), &free]);

    let pixmap = client.pixmap(32, 32)?;
    let spare = client.id();
    client.send_bytes(&render.picture(spare, pixmap, render.argb32))?;
    let repeat = ChangePictureAux::new().repeat(Repeat::NONE);
    loads.plain(major.bytes(ChangePictureRequest {
        picture: spare,
        value_list: Cow::Borrowed(&repeat),
    }));
    for count in [1, 8] {
        let rectangles = (0..count).map(|at| Rectangle {
            x: at * 4,
            y: at * 4,
            width: 3,
            height: 3,
        });
        loads.plain(major.bytes(SetPictureClipRectanglesRequest {
            picture: spare,
            clip_x_origin: 0,
            clip_y_origin: 0,
            rectangles: rectangles.collect(),
        }));
    }
    let again = |loads: &mut Loads, bytes: Vec<u8>| {
        let sync = Sync::RoundTrip;
        loads.push(Workload::repeated(&bytes, sync));
    };
    again(loads, render.filter(spare, b"good"));
    again(loads, render.transform(spare, ONE));
    let cursor = |cid| {
        let (source, x, y) = (spare, 0, 0);
        major.bytes(CreateCursorRequest { cid, source, x, y })
    };
    let free = |cursor| core(FreeCursorRequest { cursor });
    cycle(client, loads, RESOURCES / 8, &[&cursor, &free]);
    Ok(())
}

/// Glyph sets come and go, and glyphs in them.
fn glyph_sets(client: &mut Client, loads: &mut Loads, render: Render) -> Result<(), MeasureError> {
    let major = render.major;
    let format = render.a8;
    let create = |gsid| major.bytes(CreateGlyphSetRequest { gsid, format });
    let free = |glyphset| major.bytes(FreeGlyphSetRequest { glyphset });
    cycle(client, loads, RESOURCES / 8, &[&create, &free]);
    let existing = render.glyph_set(client, 8, 1)?;
    let refer = |gsid| major.bytes(ReferenceGlyphSetRequest { gsid, existing });
    cycle(client, loads, RESOURCES / 8, &[&refer, &free]);
    // A glyph at a time, as Xft and cairo add them.
    for side in [8, 16, 32] {
        let set = render.glyph_set(client, side, 1)?;
        let ids: Vec<u32> = (1..65).collect();
        let add = |glyph| render.add_glyphs(set, glyph, 1, side);
        let remove = |glyph| {
            let glyphs = vec![glyph].into();
            major.bytes(FreeGlyphsRequest {
                glyphset: set,
                glyphs,
            })
        };
        super::super::cycle(loads, &ids, &[&add, &remove]);
    }
    Ok(())
}

//! GCs, pixmaps, cursors, fonts, colours: making, changing, freeing.

use x11rb_protocol::protocol::xproto::{
    AllocColorRequest, AllocNamedColorRequest, ChangeGCAux, ChangeGCRequest, ClipOrdering,
    CloseFontRequest, ColormapAlloc, CopyGCRequest, CreateColormapRequest, CreateCursorRequest,
    CreateGCAux, CreateGCRequest, CreateGlyphCursorRequest, CreatePixmapRequest,
    FreeColormapRequest, FreeColorsRequest, FreeCursorRequest, FreeGCRequest, FreePixmapRequest,
    GC, LookupColorRequest, OpenFontRequest, QueryColorsRequest, RecolorCursorRequest, Rectangle,
    SetClipRectanglesRequest, SetDashesRequest,
};

use super::{RESOURCES, cycle};
use crate::error::MeasureError;
use crate::server::client::Client;
use crate::server::wire::core;
use crate::workloads::loads::Loads;

/// Pixels along a pixmap's side, and how many of them there are at once.
const PIXMAPS: [(u16, usize); 5] = [
    (16, RESOURCES),
    (100, RESOURCES / 4),
    (256, RESOURCES / 16),
    (512, RESOURCES / 64),
    (1024, RESOURCES / 128),
];

/// Adds the loads.
pub(super) fn add(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let drawable = client.window;
    let ids = client.ids(RESOURCES);
    let (black, white) = (client.screen.black_pixel, client.screen.white_pixel);
    let colours = CreateGCAux::new()
        .foreground(black)
        .background(white)
        .graphics_exposures(0);
    cycle(
        loads,
        &ids,
        &[
            &|cid| {
                core(CreateGCRequest {
                    cid,
                    drawable,
                    value_list: std::borrow::Cow::Borrowed(&colours),
                })
            },
            &|gc| core(FreeGCRequest { gc }),
        ],
    );
    graphics_contexts(client, loads)?;
    // From a glyph's mask to more than the screen of a window that is drawn in memory first.
    for (side, count) in PIXMAPS {
        let ids = client.ids(count);
        let depth = client.screen.root_depth;
        cycle(
            loads,
            &ids,
            &[
                &|pid| {
                    core(CreatePixmapRequest {
                        depth,
                        pid,
                        drawable,
                        width: side,
                        height: side,
                    })
                },
                &|pixmap| core(FreePixmapRequest { pixmap }),
            ],
        );
    }
    cursors(client, loads)?;
    colormaps(client, loads)
}

fn graphics_contexts(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let window = client.window;
    let gc = client.gc(window, CreateGCAux::new())?;
    let other = client.gc(window, CreateGCAux::new())?;
    let foreground = ChangeGCAux::new().foreground(client.screen.black_pixel);
    loads.plain(core(ChangeGCRequest {
        gc,
        value_list: std::borrow::Cow::Borrowed(&foreground),
    }));
    loads.plain(core(CopyGCRequest {
        src_gc: other,
        dst_gc: gc,
        value_mask: GC::FOREGROUND,
    }));
    loads.plain(core(SetDashesRequest {
        gc,
        dash_offset: 0,
        dashes: (&[4, 4]).into(),
    }));
    loads.plain(core(SetClipRectanglesRequest {
        ordering: ClipOrdering::UNSORTED,
        gc,
        clip_x_origin: 0,
        clip_y_origin: 0,
        rectangles: vec![Rectangle {
            x: 0,
            y: 0,
            width: 100,
            height: 100,
        }]
        .into(),
    }));
    Ok(())
}

/// A cursor, black on white, of a bitmap that is its mask as well.
pub(super) fn cursor_of(cid: u32, bitmap: u32) -> CreateCursorRequest {
    CreateCursorRequest {
        cid,
        source: bitmap,
        mask: bitmap,
        fore_red: 0,
        fore_green: 0,
        fore_blue: 0,
        back_red: 0xFFFF,
        back_green: 0xFFFF,
        back_blue: 0xFFFF,
        x: 0,
        y: 0,
    }
}

fn cursors(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let ids = client.ids(RESOURCES);
    let bitmap = client.pixmap(1, 16)?;
    let (fore_red, fore_green, fore_blue) = (0, 0, 0);
    let (back_red, back_green, back_blue) = (0xFFFF, 0xFFFF, 0xFFFF);
    let free = |cursor| core(FreeCursorRequest { cursor });
    cycle(loads, &ids, &[&|cid| core(cursor_of(cid, bitmap)), &free]);
    let Some(font) = client.font("cursor")? else {
        return Ok(());
    };
    let create = |cid| {
        core(CreateGlyphCursorRequest {
            cid,
            source_font: font,
            mask_font: font,
            source_char: 152,
            mask_char: 153,
            fore_red,
            fore_green,
            fore_blue,
            back_red,
            back_green,
            back_blue,
        })
    };
    let recolor = |cursor| {
        core(RecolorCursorRequest {
            cursor,
            fore_red: back_red,
            fore_green,
            fore_blue,
            back_red,
            back_green,
            back_blue,
        })
    };
    let ids = client.ids(RESOURCES);
    cycle(loads, &ids, &[&create, &recolor, &free]);
    // The font is in use already: this is the cost of a second opening.
    let ids = client.ids(RESOURCES);
    cycle(
        loads,
        &ids,
        &[
            &|fid| {
                core(OpenFontRequest {
                    fid,
                    name: b"cursor".into(),
                })
            },
            &|font| core(CloseFontRequest { font }),
        ],
    );
    Ok(())
}

fn colormaps(client: &mut Client, loads: &mut Loads) -> Result<(), MeasureError> {
    let cmap = client.screen.default_colormap;
    let pixel = client.colour(0x1234, 0x5678, 0x9ABC)?;
    loads.plain(core(AllocColorRequest {
        cmap,
        red: 0x1234,
        green: 0x5678,
        blue: 0x9ABC,
    }));
    loads.plain(core(AllocNamedColorRequest {
        cmap,
        name: b"navy".into(),
    }));
    loads.plain(core(LookupColorRequest {
        cmap,
        name: b"navy".into(),
    }));
    // A shared cell is taken many times over, and given back as often.
    let take = |_| {
        core(AllocColorRequest {
            cmap,
            red: 0x1234,
            green: 0x5678,
            blue: 0x9ABC,
        })
    };
    let give_back = |_| {
        core(FreeColorsRequest {
            cmap,
            plane_mask: 0,
            pixels: vec![pixel].into(),
        })
    };
    let times = [0; RESOURCES / 8];
    cycle(loads, &times, &[&take, &give_back]);
    for count in [1, 16] {
        loads.plain(core(QueryColorsRequest {
            cmap,
            pixels: vec![pixel; count].into(),
        }));
    }
    let (window, visual) = (client.screen.root, client.screen.root_visual);
    let ids = client.ids(RESOURCES / 8);
    cycle(
        loads,
        &ids,
        &[
            &|mid| {
                core(CreateColormapRequest {
                    alloc: ColormapAlloc::NONE,
                    mid,
                    window,
                    visual,
                })
            },
            &|cmap| core(FreeColormapRequest { cmap }),
        ],
    );
    loads.costly(core(
        x11rb_protocol::protocol::xproto::ListInstalledColormapsRequest { window },
    ));
    Ok(())
}

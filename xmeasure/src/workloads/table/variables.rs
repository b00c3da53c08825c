//! The variables that the tables of loads can use from the start.

use std::collections::HashMap;

use crate::plan::Plan;
use crate::server::client::Client;

/// The variables that follow from the server's setup and from the plan.
pub(in crate::workloads) fn variables(client: &Client, plan: &Plan) -> HashMap<String, String> {
    let (screen, setup) = (&client.screen, &client.raw.setup);
    let keycodes = setup.max_keycode.saturating_sub(setup.min_keycode);
    let short_request = u32::from(setup.maximum_request_length);
    let known = [
        ("window", client.window),
        ("arena", client.arena),
        ("unwatched", client.unwatched),
        ("notified", client.notified),
        ("root", screen.root),
        ("depth", screen.root_depth.into()),
        ("visual", screen.root_visual),
        ("colormap", screen.default_colormap),
        ("black", screen.black_pixel),
        ("white", screen.white_pixel),
        // With a foreground of zero, GXxor and similar functions would have no effect.
        ("contrast", screen.black_pixel ^ screen.white_pixel),
        ("screen_width", screen.width_in_pixels.into()),
        ("bitmap_pad", setup.bitmap_format_scanline_pad.into()),
        (
            "longest_request",
            client.longest_request.unwrap_or(short_request),
        ),
        ("min_keycode", setup.min_keycode.into()),
        ("keycodes", u32::from(keycodes) + 1),
        ("intrusive", plan.intrusive.into()),
        ("quick", plan.quick.into()),
    ];
    let mut known: HashMap<String, String> = known
        .map(|(name, value)| (name.to_owned(), value.to_string()))
        .into();
    let depths = setup.roots.iter().flat_map(|screen| &screen.allowed_depths);
    for depth in depths.map(|allowed| allowed.depth) {
        let mut formats = setup.pixmap_formats.iter();
        if let Some(format) = formats.find(|format| format.depth == depth) {
            let (bits, pad) = (format.bits_per_pixel, format.scanline_pad);
            known.insert(format!("bits{depth}"), bits.to_string());
            known.insert(format!("pad{depth}"), pad.to_string());
        }
    }
    for name in ["bits", "pad"] {
        known.insert(
            format!("screen_{name}"),
            format!("{name}{}", screen.root_depth),
        );
    }
    known
}

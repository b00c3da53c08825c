//! Maps the recorded screen, visuals and picture formats to those of the display.

use rustc_hash::FxHashMap;
use x11rb_protocol::protocol::render::Pictforminfo;
use x11rb_protocol::protocol::xproto::{Screen, Visualtype};

use crate::ReplayError;
use crate::ids::Ids;
use crate::script::Script;

/// Maps the recorded root, colormap and visuals to those of the display's screen `here`, and stores them in `ids`.
pub(super) fn match_screens(
    script: &Script,
    here: &Screen,
    ids: &mut Ids,
) -> Result<(), ReplayError> {
    let Some(recorded) = script.setup.roots.first() else {
        return Err(ReplayError::NoClient);
    };
    if recorded.root_depth != here.root_depth {
        return Err(ReplayError::Depth {
            recorded: recorded.root_depth,
            here: here.root_depth,
            advice: match recorded.root_depth {
                8 => " (--server xvfb-8)",
                _ => "",
            },
        });
    }
    ids.fixed.insert(recorded.root, here.root);
    ids.fixed
        .insert(recorded.default_colormap, here.default_colormap);
    let visuals = |screen: &Screen| -> Vec<(u8, Visualtype)> {
        let depths = screen.allowed_depths.iter();
        let all = depths.flat_map(|depth| depth.visuals.iter().map(|one| (depth.depth, *one)));
        all.collect()
    };
    let theirs = visuals(here);
    for (depth, visual) in visuals(recorded) {
        let alike = |(other, one): &&(u8, Visualtype)| {
            *other == depth
                && one.class == visual.class
                && one.red_mask == visual.red_mask
                && one.green_mask == visual.green_mask
                && one.blue_mask == visual.blue_mask
        };
        if let Some((_, one)) = theirs.iter().find(alike) {
            ids.visuals.insert(visual.visual_id, one.visual_id);
        }
    }
    // Programs draw in the default visual, which may be one of several equivalent ones.
    ids.visuals.insert(recorded.root_visual, here.root_visual);
    Ok(())
}

/// Maps the ids of the recorded picture formats to the ids of equal formats of the display.
pub(super) fn formats(recorded: &[Pictforminfo], here: &[Pictforminfo]) -> FxHashMap<u32, u32> {
    let alike = |a: &Pictforminfo, b: &Pictforminfo| {
        (a.type_, a.depth, a.direct) == (b.type_, b.depth, b.direct)
    };
    let pairs = recorded.iter().filter_map(|format| {
        let mut all = here.iter();
        let there = all.find(|one| alike(one, format))?;
        Some((format.id, there.id))
    });
    pairs.collect()
}

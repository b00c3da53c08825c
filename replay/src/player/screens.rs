//! Maps the recorded screen, visuals and picture formats to those of the display.

use rustc_hash::FxHashMap;
use x11rb_protocol::protocol::render::Pictforminfo;
use x11rb_protocol::protocol::xproto::{Screen, Visualtype};

use crate::ReplayError;
use crate::ids::Ids;
use crate::script::{Outputs, Script};

/// Maps the recorded root window, colormap and visuals to those of the display's screen `here`, and stores them in
/// `ids`. Fails if the recording contains no screen, or if the display's screen has another depth.
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
    // The recorded default visual maps to the display's default visual, even if several visuals are equivalent.
    ids.visuals.insert(recorded.root_visual, here.root_visual);
    Ok(())
}

/// Maps recorded CRTCs and outputs to the display's by their order, and modes to modes of the same size.
pub(super) fn outputs(recorded: &Outputs, here: &Outputs) -> FxHashMap<u32, u32> {
    let in_order = |recorded: &[u32], here: &[u32]| -> Vec<(u32, u32)> {
        recorded.iter().copied().zip(here.iter().copied()).collect()
    };
    let modes = recorded.modes.iter().filter_map(|mode| {
        let size = (mode.width, mode.height);
        let mut all = here.modes.iter();
        let there = all.find(|one| (one.width, one.height) == size)?;
        Some((mode.id, there.id))
    });
    let others = [
        in_order(&recorded.crtcs, &here.crtcs),
        in_order(&recorded.outputs, &here.outputs),
    ];
    modes.chain(others.into_iter().flatten()).collect()
}

/// Maps the ids of recorded picture formats to the ids of the display's formats with the same type, depth and channels.
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

#[cfg(test)]
mod tests {
    use x11rb_protocol::protocol::randr::ModeInfo;

    use super::outputs;
    use crate::script::Outputs;

    #[test]
    fn outputs_are_mapped_in_order_and_modes_by_size() {
        let of = |crtcs: &[u32], output: u32, modes: &[(u32, u16)]| Outputs {
            crtcs: crtcs.to_vec(),
            outputs: vec![output],
            modes: modes
                .iter()
                .map(|&(id, width)| ModeInfo {
                    id,
                    width,
                    ..ModeInfo::default()
                })
                .collect(),
        };
        let recorded = of(&[0x3B, 0x3C], 0x3D, &[(0x40, 1280), (0x41, 9999)]);
        let here = of(&[0x3A], 0x3B, &[(0x50, 640), (0x51, 1280)]);
        let mut pairs: Vec<_> = outputs(&recorded, &here).into_iter().collect();
        pairs.sort_unstable();
        assert_eq!(pairs, [(0x3B, 0x3A), (0x3D, 0x3B), (0x40, 0x51)]);
    }
}

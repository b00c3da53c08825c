//! Unnecessary colour requests: in a TrueColor visual a pixel consists of the bits of its colour, which the client can
//! compute itself (protocol, section 8 "Screens": red-mask, green-mask, blue-mask).

use rustc_hash::FxHashMap;
use x11prof_protocol::Symbol;
use x11prof_trace::ConnectionId;

use super::{AvoidableTrips, Context, Finding, GROUPS, Groups, Insight};
use crate::round_trips::CompletedRequest;

/// The minimum number of colours for a finding.
const COLOURS: u64 = 3;

#[derive(Debug, Default)]
struct Allocated {
    colours: u64,
    waits: AvoidableTrips,
}

/// Finds AllocColor requests in colormaps whose pixels the client can compute from the colours.
#[derive(Debug, Default)]
pub(super) struct Colours {
    allocated: Groups<u32, Allocated>,
    /// Colormaps in which the bits of a pixel were not the bits of its colour.
    others: FxHashMap<(ConnectionId, u32), ()>,
}

/// Returns true if `pixel` consists of the upper bits of the colour, with the masks that servers have at depths 24 and
/// 16.
fn is_packed(pixel: u32, [red, green, blue]: [u16; 3]) -> bool {
    let pack = |[for_red, for_green, for_blue]: [u32; 3]| {
        let upper = |value: u16, bits: u32| u32::from(value) >> (16 - bits);
        upper(red, for_red) << (for_green + for_blue)
            | upper(green, for_green) << for_blue
            | upper(blue, for_blue)
    };
    // The alpha channel is in the bits above.
    pixel & 0xFF_FFFF == pack([8, 8, 8]) || pixel == pack([5, 6, 5])
}

impl Insight for Colours {
    fn answered(&mut self, answer: &CompletedRequest<'_>, _: &Context<'_>) {
        let question = &answer.question;
        if question.name.as_str() != "AllocColor" {
            return;
        }
        // AllocColor: colormap, red, green, blue; its reply: the colour at 8, its pixel at 16.
        let (Some(colormap), Some(reply)) = (question.u32(0), answer.reply) else {
            return;
        };
        let part = |at| reply.order.u16(reply.bytes, at);
        let (Some(red), Some(green), Some(blue), Some(pixel)) = (
            part(8),
            part(10),
            part(12),
            reply.order.u32(reply.bytes, 16),
        ) else {
            return;
        };
        if !is_packed(pixel, [red, green, blue]) && self.others.len() < GROUPS {
            self.others.insert((answer.client, colormap), ());
        }
        if let Some(allocated) = self.allocated.of(answer.client, colormap) {
            allocated.colours += 1;
            allocated.waits.add(answer);
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let found = |(client, colormap, allocated): (ConnectionId, u32, &Allocated)| {
            let reported = allocated.colours >= COLOURS && allocated.waits.round_trips > 0;
            (reported && !self.others.contains_key(&(client, colormap))).then(|| Finding {
                kind: "colours",
                client,
                request: Symbol::new("AllocColor"),
                count: allocated.colours,
                action: "Make the pixels from the masks of the visual (red_mask, green_mask, blue_mask): a TrueColor \
                         visual needs no AllocColor"
                    .to_owned(),
                why: format!(
                    "{} AllocColor in colormap {colormap:#x}, each reply has the bits of the requested colour",
                    allocated.colours
                ),
                saves: allocated.waits.saving(allocated.colours * (16 + 32)),
            })
        };
        self.allocated.all().filter_map(found).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Colours, is_packed};
    use crate::roundtrips::insights::testing::findings;
    use crate::testing::*;

    const ALLOC_COLOR: u8 = 84;

    fn allocate(trace: &mut Synthetic, number: u16, pixel: u32) {
        let (red, green_blue) = (0x1234 + u32::from(number), 0x5678 | 0x9ABC << 16);
        let question = request(
            ALLOC_COLOR,
            0,
            &[0x101, red | green_blue << 16, green_blue >> 16],
        );
        trace.wait(10).client_sends(&[question]);
        let mut answer = reply(number);
        answer[8..10].copy_from_slice(&(red as u16).to_le_bytes());
        answer[10..14].copy_from_slice(&green_blue.to_le_bytes());
        answer[16..20].copy_from_slice(&pixel.to_le_bytes());
        trace.wait(50).server_sends(&[answer]);
    }

    #[test]
    fn packed_pixel_allocations_need_no_round_trip() {
        let mut trace = Synthetic::new();
        for number in 1..=4 {
            allocate(&mut trace, number, 0x0012_569A);
        }
        let found = findings(&trace, Colours::default());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].count, found[0].saves.round_trips), (4, 4));
        // Only the server has the cell of a colour table.
        allocate(&mut trace, 5, 17);
        assert_eq!(findings(&trace, Colours::default()), []);
    }

    #[test]
    fn packed_pixels_are_recognised() {
        assert!(is_packed(0xFF12_569A, [0x1234, 0x5678, 0x9ABC]));
        assert!(is_packed(0x12B3, [0x1234, 0x5678, 0x9ABC]));
        assert!(!is_packed(3, [0x1234, 0x5678, 0x9ABC]));
    }
}

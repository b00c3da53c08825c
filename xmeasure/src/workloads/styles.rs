//! GCs by the attributes that determine costs in the paper.

use x11rb_protocol::protocol::xproto::{
    CreateGCAux, FillStyle, GX, ImageFormat, LineStyle, PutImageRequest,
};

use super::shapes;
use crate::error::MeasureError;
use crate::server::client::Client;

/// The attributes of a GC that determine costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) function: GX,
    pub(super) fill: FillStyle,
    pub(super) line: LineStyle,
    pub(super) width: u32,
}

/// The most common attributes: function GXcopy, fill style solid, line width 0.
pub(super) const COMMON: Style = Style {
    function: GX::COPY,
    fill: FillStyle::SOLID,
    line: LineStyle::SOLID,
    width: 0,
};

/// The line widths to measure, in pixels, in addition to 0.
const WIDTHS: [u32; 2] = [1, 10];

impl Style {
    /// Returns the common style, and styles that differ from the common style in one attribute.
    pub(super) fn single(strokes: bool, thorough: bool) -> Vec<Style> {
        let mut all = vec![COMMON];
        let functions = (0..16_u32).filter(|&function| function != u32::from(GX::COPY));
        let few = [
            u32::from(GX::XOR),
            u32::from(GX::AND),
            u32::from(GX::INVERT),
        ];
        for function in functions.filter(|function| thorough || few.contains(function)) {
            all.push(Style {
                function: GX::from(function),
                ..COMMON
            });
        }
        for fill in 1..4_u32 {
            all.push(Style {
                fill: FillStyle::from(fill),
                ..COMMON
            });
        }
        if strokes {
            for line in 1..3_u32 {
                all.push(Style {
                    line: LineStyle::from(line),
                    ..COMMON
                });
            }
            for width in WIDTHS {
                all.push(Style { width, ..COMMON });
            }
        }
        all
    }
}

/// Creates the GCs of all styles for the window.
pub(super) struct Styles {
    tile: u32,
    stipple: u32,
    made: Vec<(Style, u32)>,
}

impl Styles {
    /// Creates the tile and the stipple that the GCs use.
    pub(super) fn new(client: &mut Client) -> Result<Styles, MeasureError> {
        let depth = client.screen.root_depth;
        let tile = client.pixmap(depth, 8)?;
        let stipple = client.pixmap(1, 8)?;
        let of_stipple = client.gc(stipple, CreateGCAux::new().foreground(1))?;
        client.send(PutImageRequest {
            format: ImageFormat::XY_PIXMAP,
            drawable: stipple,
            gc: of_stipple,
            width: 8,
            height: 8,
            depth: 1,
            // A checkerboard for any bit and byte order, with scanlines of 32 bits.
            data: [[0x55_u8; 4], [0xAA; 4]].concat().repeat(4).into(),
            ..PutImageRequest::default()
        })?;
        let (black, white) = (client.screen.black_pixel, client.screen.white_pixel);
        let on_tile = client.gc(tile, CreateGCAux::new().foreground(white))?;
        client.send(shapes::rectangle(tile, on_tile, 8, 8))?;
        let on_tile = client.gc(tile, CreateGCAux::new().foreground(black))?;
        client.send(shapes::rectangle(tile, on_tile, 8, 4))?;
        Ok(Styles {
            tile,
            stipple,
            made: Vec::new(),
        })
    }

    /// Returns the id of the GC with this style. Creates the GC on first use.
    pub(super) fn gc(&mut self, client: &mut Client, style: Style) -> Result<u32, MeasureError> {
        if let Some((_, gc)) = self.made.iter().find(|(made, _)| *made == style) {
            return Ok(*gc);
        }
        let (black, white) = (client.screen.black_pixel, client.screen.white_pixel);
        // With a foreground of zero, GXxor and similar functions would have no effect.
        let combines = ![GX::COPY, GX::CLEAR, GX::SET].contains(&style.function);
        let foreground = if combines { black ^ white } else { black };
        let mut values = CreateGCAux::new()
            .function(style.function)
            .foreground(foreground)
            .background(white)
            .fill_style(style.fill)
            .line_style(style.line)
            .line_width(style.width);
        values = match style.fill {
            FillStyle::TILED => values.tile(self.tile),
            FillStyle::SOLID => values,
            _ => values.stipple(self.stipple),
        };
        let gc = client.gc(client.window, values)?;
        self.made.push((style, gc));
        Ok(gc)
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMON, Style};

    #[test]
    fn styles_are_distinct_and_the_common_one_comes_first() {
        let styles = Style::single(true, true);
        assert_eq!(styles.len(), 1 + 15 + 3 + 2 + 2);
        assert_eq!(styles.first(), Some(&COMMON));
        for (at, style) in styles.iter().enumerate() {
            assert!(!styles.iter().skip(at + 1).any(|other| other == style));
        }
        assert!(
            Style::single(false, true)
                .iter()
                .all(|style| style.width == 0)
        );
    }
}

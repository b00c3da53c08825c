//! The byte order that a client chose in its connection setup.

/// The byte order of one connection, in both directions (protocol, section "Connection Setup").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first; `l` (0x6C) in the setup.
    Little,
    /// Most significant byte first; `B` (0x42) in the setup.
    Big,
}

impl ByteOrder {
    /// The byte order that the first byte of a client's setup means; `None` for an invalid byte.
    pub fn from_setup_byte(byte: u8) -> Option<ByteOrder> {
        match byte {
            0x6C => Some(ByteOrder::Little),
            0x42 => Some(ByteOrder::Big),
            _ => None,
        }
    }

    /// The byte order of this machine, the only one that `x11rb-protocol` decodes.
    pub fn native() -> ByteOrder {
        if cfg!(target_endian = "little") {
            ByteOrder::Little
        } else {
            ByteOrder::Big
        }
    }

    /// The CARD16 at offset `at`; `None` if the bytes end before its end.
    #[inline]
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let two: [u8; 2] = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u16::from_le_bytes(two),
            ByteOrder::Big => u16::from_be_bytes(two),
        })
    }

    /// The INT16 at offset `at`; `None` if the bytes end before its end.
    #[inline]
    pub fn i16(self, bytes: &[u8], at: usize) -> Option<i16> {
        self.u16(bytes, at).map(u16::cast_signed)
    }

    /// The CARD32 at offset `at`; `None` if the bytes end before its end.
    #[inline]
    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self {
            ByteOrder::Little => u32::from_le_bytes(four),
            ByteOrder::Big => u32::from_be_bytes(four),
        })
    }

    /// The bytes of a CARD16.
    pub fn u16_bytes(self, number: u16) -> [u8; 2] {
        match self {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        }
    }

    /// The bytes of a CARD32.
    pub fn u32_bytes(self, number: u32) -> [u8; 4] {
        match self {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        }
    }

    /// Writes a CARD32 at offset `at`, if the bytes do not end before its end.
    pub fn put_u32(self, bytes: &mut [u8], at: usize, number: u32) {
        if let Some(place) = bytes.get_mut(at..at.saturating_add(4)) {
            place.copy_from_slice(&self.u32_bytes(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ByteOrder;

    #[test]
    fn integers_are_read_in_both_byte_orders_within_bounds() {
        let bytes = [1, 2, 3, 4];
        assert_eq!(ByteOrder::Little.u16(&bytes, 1), Some(0x0302));
        assert_eq!(ByteOrder::Big.u16(&bytes, 1), Some(0x0203));
        assert_eq!(ByteOrder::Big.u32(&bytes, 0), Some(0x0102_0304));
        assert_eq!(ByteOrder::Little.u32(&bytes, 1), None);
        assert_eq!(ByteOrder::Little.u16(&bytes, usize::MAX), None);
        assert_eq!(ByteOrder::Big.i16(&[0xFF, 0xFE], 0), Some(-2));
    }
}

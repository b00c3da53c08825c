//! The unwind tables of a program file (DWARF, `.eh_frame`). The tables also contain the address ranges of functions,
//! even in stripped files.

use std::sync::Arc;

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    UnwindSection,
};
use object::{Object, ObjectSection};

/// The contents of a section of a program file.
pub(crate) type Bytes = Arc<[u8]>;

/// The unwind tables of a program file, and the addresses of its sections.
#[derive(Debug, Clone)]
pub(crate) struct Tables {
    pub(crate) bases: BaseAddresses,
    pub(crate) eh_frame: Bytes,
    pub(crate) eh_frame_hdr: Bytes,
}

impl Tables {
    /// Reads the unwind tables of a program file; `None` if the file has none.
    pub(crate) fn of<'d>(elf: &impl Object<'d>) -> Option<Tables> {
        let at = |name| {
            elf.section_by_name(name)
                .map_or(0, |section| section.address())
        };
        Some(Tables {
            bases: BaseAddresses::default()
                .set_text(at(".text"))
                .set_got(at(".got"))
                .set_eh_frame(at(".eh_frame"))
                .set_eh_frame_hdr(at(".eh_frame_hdr")),
            eh_frame: section(elf, ".eh_frame")?,
            eh_frame_hdr: section(elf, ".eh_frame_hdr")?,
        })
    }

    pub(crate) fn frames(&self) -> EhFrame<EndianSlice<'_, LittleEndian>> {
        EhFrame::new(&self.eh_frame, LittleEndian)
    }

    /// The table entry of the function that contains this address of the file; `None` if there is none.
    pub(crate) fn function(
        &self,
        address: u64,
    ) -> Option<FrameDescriptionEntry<EndianSlice<'_, LittleEndian>>> {
        let header = EhFrameHdr::new(&self.eh_frame_hdr, LittleEndian);
        let header = header.parse(&self.bases, 8).ok()?;
        let frames = self.frames();
        let function = header.table()?.fde_for_address(
            &frames,
            &self.bases,
            address,
            EhFrame::cie_from_offset,
        );
        function.ok()
    }
}

/// The longest section to read, in bytes. A sparse file may have any length.
const LONGEST: u64 = 64 << 20;

/// The contents of the section with this name; `None` if the section is missing, empty or too long.
pub(crate) fn section<'d>(elf: &impl Object<'d>, name: &str) -> Option<Bytes> {
    let section = elf.section_by_name(name)?;
    let data = (section.size() <= LONGEST).then(|| section.data().ok())?;
    data.filter(|data| !data.is_empty()).map(Bytes::from)
}

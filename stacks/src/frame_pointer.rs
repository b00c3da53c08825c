//! Computes the frame pointer of a function if only the stack pointer is known.
//!
//! For a sleeping thread, the kernel reports only the stack pointer and the instruction pointer to an ordinary user. A
//! function that was compiled with a frame pointer (RBP) can only be unwound with the value of RBP. The distance
//! between the stack pointer and RBP follows from the function's prologue. The unwind tables (DWARF, `.eh_frame`)
//! contain the address at which RBP is set. From there to the first call, each push and `sub rsp` moves the stack
//! pointer by a known length. To check the result, the return address next to the saved RBP must follow a call.

use gimli::{CfaRule, UnwindContext, X86_64};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::tables::Tables;

/// The maximum length of a prologue in bytes.
const LONGEST: usize = 512;
/// The maximum length of a call instruction in bytes.
const CALL: usize = 7;

/// The point in a prologue at which RBP has been set: the next address in the file, and the distance in bytes from the
/// stack pointer up to the address in RBP.
#[derive(Debug, PartialEq, Eq)]
struct Set {
    at: u64,
    below: i64,
}

impl Tables {
    /// The point at which RBP has been set in the function that contains `address`, an address of the file. `None` if
    /// the function is not unwound with RBP.
    fn set(&self, address: u64) -> Option<Set> {
        let frames = self.frames();
        let function = self.function(address)?;
        let mut context = UnwindContext::new();
        let mut rows = function.rows(&frames, &self.bases, &mut context).ok()?;
        let (mut by_stack, mut set) = (None, None);
        while let Some(row) = rows.next_row().ok()? {
            let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
                return None;
            };
            match register {
                X86_64::RSP if set.is_none() => by_stack = Some(offset),
                X86_64::RBP if set.is_none() => {
                    set = Some(Set {
                        at: row.start_address(),
                        below: by_stack?.checked_sub(offset)?,
                    });
                }
                _ => {}
            }
            if row.contains(address) {
                return set.filter(|_| register == X86_64::RBP);
            }
        }
        None
    }

    /// The distance in bytes from the stack pointer up to the address in RBP, while the call at `address` runs (an
    /// address in the file); `None` if unknown. `code(address, length)` returns that many bytes of the file's code.
    pub(crate) fn below(
        &self,
        address: u64,
        code: impl FnOnce(u64, usize) -> Option<Vec<u8>>,
    ) -> Option<u64> {
        let set = self.set(address)?;
        let length = usize::try_from(address.checked_sub(set.at)?).ok()?;
        let code = code(set.at, length.min(LONGEST))?;
        let depth = set.below.checked_add(pushed(&code)?)?;
        u64::try_from(depth).ok()
    }
}

/// The number of bytes that the code pushes before its first call or its end; `None` if the number is not constant.
fn pushed(code: &[u8]) -> Option<i64> {
    let mut sum: i64 = 0;
    for instruction in Decoder::new(64, code, DecoderOptions::NONE) {
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            _ => break,
        }
        sum = sum.checked_add(moved(&instruction)?)?;
    }
    Some(sum)
}

/// The number of bytes by which an instruction moves the stack pointer down; `None` if the number is not constant.
fn moved(instruction: &Instruction) -> Option<i64> {
    let writes = instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().full_register() == Register::RSP
        && !matches!(
            instruction.mnemonic(),
            Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push
        );
    let is_constant = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8to64 | OpKind::Immediate32to64
    );
    match instruction.mnemonic() {
        Mnemonic::Sub if writes && is_constant => i64::try_from(instruction.immediate(1)).ok(),
        Mnemonic::Add if writes && is_constant => {
            i64::try_from(instruction.immediate(1)).ok()?.checked_neg()
        }
        Mnemonic::Leave | Mnemonic::Enter => None,
        _ if writes => None,
        _ => Some(-i64::from(instruction.stack_pointer_increment())),
    }
}

/// True if `before`, the bytes before a return address, ends with a call instruction.
pub(crate) fn ends_with_call(before: &[u8]) -> bool {
    let lengths = 2..=CALL.min(before.len());
    lengths.into_iter().any(|length| {
        let call = &before[before.len() - length..];
        let instruction = Decoder::new(64, call, DecoderOptions::NONE).decode();
        instruction.len() == length
            && matches!(
                instruction.flow_control(),
                FlowControl::Call | FlowControl::IndirectCall
            )
    })
}

/// The number of bytes to read before a return address to recognize a call.
pub(crate) const BEFORE: usize = CALL;

#[cfg(test)]
mod tests {
    use super::{ends_with_call, pushed};

    #[test]
    fn prologues_give_the_stack_pointer_offset() {
        // push r12; mov r12, rdi; push rbx; sub rsp, 0x20; test rdi, rdi; je; call; then other code.
        let code = b"\x41\x54\x49\x89\xfc\x53\x48\x83\xec\x20\x48\x85\xff\x74\x10\xe8\0\0\0\0\x50";
        assert_eq!(pushed(code), Some(8 + 8 + 0x20));
        // sub rsp, 0x1000
        assert_eq!(pushed(b"\x48\x81\xec\0\x10\0\0"), Some(0x1000));
        // and rsp, -32: the length depends on the caller.
        assert_eq!(pushed(b"\x48\x83\xe4\xe0"), None);
        // sub rsp, rax
        assert_eq!(pushed(b"\x48\x29\xc4"), None);
    }

    #[test]
    fn call_instructions_are_recognized() {
        assert!(ends_with_call(b"\x90\x90\xe8\x01\x02\x03\x04"));
        assert!(ends_with_call(b"\x90\x90\x90\x90\x41\xff\xd4"), "call r12");
        assert!(
            ends_with_call(b"\x90\xff\x15\x01\x02\x03\x04"),
            "call [rip]"
        );
        assert!(!ends_with_call(b"\x90\x90\x90\x90\x90\x90\x90"));
        assert!(!ends_with_call(b"\xe8"));
    }
}

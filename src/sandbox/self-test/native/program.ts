import { machineCode } from "../../plan/listing.ts";
import type { Architecture } from "../../system-calls.ts";
import type { HostileCall } from "./calls.ts";

/**
 * An executable file that makes these calls, writes a character for each to stderr, and ends: `!` when it went through,
 * else `@` plus the number of the error. It needs no library and no compiler.
 */
export function nativeProgram(architecture: Architecture, calls: readonly HostileCall[]): Buffer {
  const code = machineCode(LISTINGS[architecture]);
  const table = Buffer.concat([...calls.map(record), Buffer.alloc(RECORD_BYTES, 0xff)]);
  return Buffer.concat([header(architecture, HEADER_BYTES + code.length + table.length), code, table]);
}

/** The character that the program writes for an error; those beyond are all the last. */
export const FIRST_ERROR = 0x40;

const HEADER_BYTES = 120;
const RECORD_BYTES = 64;
const ADDRESS = 0x40_0000;
const MACHINES: Readonly<Record<Architecture, number>> = { x64: 62, arm64: 183 };
/** Of the largest pages that arm64 has. */
const ALIGNMENT = 0x1_0000;
const READ_AND_EXECUTE = 5;

/** Number, six arguments, attempts; a number with all bits set ends the table. */
function record({ number, arguments: words, attempts }: HostileCall): Buffer {
  const buffer = Buffer.alloc(RECORD_BYTES);
  for (const [index, word] of [number, ...words].entries()) buffer.writeBigInt64LE(BigInt(word), index * 8);
  buffer.writeBigInt64LE(BigInt(attempts), RECORD_BYTES - 8);
  return buffer;
}

/** ELF: one file header, one program header, and all of the file in memory (elf(5)). */
function header(architecture: Architecture, size: number): Buffer {
  const file = Buffer.alloc(HEADER_BYTES);
  file.write("\x7fELF", "latin1");
  // 64 bits, little endian, version 1.
  file.set([2, 1, 1], 4);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(MACHINES[architecture], 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(ADDRESS + HEADER_BYTES), 24);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  const segment = file.subarray(64);
  segment.writeUInt32LE(1, 0);
  segment.writeUInt32LE(READ_AND_EXECUTE, 4);
  segment.writeBigUInt64LE(BigInt(ADDRESS), 16);
  segment.writeBigUInt64LE(BigInt(ADDRESS), 24);
  segment.writeBigUInt64LE(BigInt(size), 32);
  segment.writeBigUInt64LE(BigInt(size), 40);
  segment.writeBigUInt64LE(BigInt(ALIGNMENT), 48);
  return file;
}

/**
 * For each record: load, call, note. With attempts, the call is made until it fails; what it starts waits for ever,
 * without a stack of its own, and ends with the program. The table follows the code, the notes lie below the stack.
 */
const LISTINGS: Readonly<Record<Architecture, string>> = {
  x64: `
    48 8d 1d 93 00 00 00               lea rbx,[table]
    48 8d ac 24 00 ff ff ff            lea rbp,[rsp-0x100]
    49 89 ef                           mov r15,rbp
    4c 8b 63 38               next:    mov r12,[rbx+0x38]
    48 83 3b ff                        cmp [rbx],0xffffffffffffffff
    74 4e                              je done
    48 8b 03                  again:   mov rax,[rbx]
    48 8b 7b 08                        mov rdi,[rbx+0x8]
    48 8b 73 10                        mov rsi,[rbx+0x10]
    48 8b 53 18                        mov rdx,[rbx+0x18]
    4c 8b 53 20                        mov r10,[rbx+0x20]
    4c 8b 43 28                        mov r8,[rbx+0x28]
    4c 8b 4b 30                        mov r9,[rbx+0x30]
    0f 05                              syscall
    48 85 c0                           test rax,rax
    78 13                              js failed
    4d 85 e4                           test r12,r12
    74 0a                              je through
    48 85 c0                           test rax,rax
    74 40                              je park
    49 ff cc                           dec r12
    75 cf                              jne again
    b0 21                     through: mov al,0x21
    eb 0d                              jmp store
    48 f7 d8                  failed:  neg rax
    48 83 f8 3e                        cmp rax,0x3e
    76 02                              jbe small
    b0 3e                              mov al,0x3e
    04 40                     small:   add al,0x40
    41 88 07                  store:   mov [r15],al
    49 ff c7                           inc r15
    48 83 c3 40                        add rbx,0x40
    eb a8                              jmp next
    b8 01 00 00 00            done:    mov eax,0x1
    bf 02 00 00 00                     mov edi,0x2
    48 89 ee                           mov rsi,rbp
    4c 89 fa                           mov rdx,r15
    48 29 ea                           sub rdx,rbp
    0f 05                              syscall
    b8 e7 00 00 00                     mov eax,0xe7
    31 ff                              xor edi,edi
    0f 05                              syscall
    b8 0f 01 00 00            park:    mov eax,0x10f
    31 ff                              xor edi,edi
    31 f6                              xor esi,esi
    31 d2                              xor edx,edx
    45 31 d2                           xor r10d,r10d
    0f 05                              syscall
    eb ee                              jmp park`,
  arm64: `
    53 05 00 10                        adr x19, table
    f4 03 04 d1                        sub x20, sp, #0x100
    f5 03 14 aa                        mov x21, x20
    76 1e 40 f9               next:    ldr x22, [x19, #56]
    68 02 40 f9                        ldr x8, [x19]
    1f 05 00 b1                        cmn x8, #0x1
    a0 02 00 54                        b.eq done
    68 02 40 a9               again:   ldp x8, x0, [x19]
    61 0a 41 a9                        ldp x1, x2, [x19, #16]
    63 12 42 a9                        ldp x3, x4, [x19, #32]
    65 1a 40 f9                        ldr x5, [x19, #48]
    01 00 00 d4                        svc #0x0
    e0 00 f8 b7                        tbnz x0, #63, failed
    96 00 00 b4                        cbz x22, through
    a0 02 00 b4                        cbz x0, park
    d6 06 00 d1                        sub x22, x22, #0x1
    f6 fe ff b5                        cbnz x22, again
    20 04 80 52               through: mov w0, #0x21
    06 00 00 14                        b store
    e0 03 00 cb               failed:  neg x0, x0
    1f f8 00 f1                        cmp x0, #0x3e
    49 00 00 54                        b.ls small
    c0 07 80 52                        mov w0, #0x3e
    00 00 01 11               small:   add w0, w0, #0x40
    a0 16 00 38               store:   strb w0, [x21], #1
    73 02 01 91                        add x19, x19, #0x40
    e9 ff ff 17                        b next
    08 08 80 d2               done:    mov x8, #0x40
    40 00 80 d2                        mov x0, #0x2
    e1 03 14 aa                        mov x1, x20
    a2 02 14 cb                        sub x2, x21, x20
    01 00 00 d4                        svc #0x0
    c8 0b 80 d2                        mov x8, #0x5e
    00 00 80 d2                        mov x0, #0x0
    01 00 00 d4                        svc #0x0
    28 09 80 d2               park:    mov x8, #0x49
    00 00 80 d2                        mov x0, #0x0
    01 00 80 d2                        mov x1, #0x0
    02 00 80 d2                        mov x2, #0x0
    03 00 80 d2                        mov x3, #0x0
    01 00 00 d4                        svc #0x0
    fa ff ff 17                        b park`,
};

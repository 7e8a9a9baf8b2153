import type { Architecture } from "../seccomp/system-calls.ts";
import { ALIGNMENT, ELF, elfHeaderBytes, elfHeaders } from "./elf.ts";
import { PLAN_ADDRESS, PLAN_BYTES } from "./encode.ts";
import { machineCode } from "./listing.ts";

/**
 * The descriptor on which the stub receives its plan from the process that started it. It is not the descriptor of the
 * frames: the service reads these at the other end, and the service must not send plans, because it has given up root.
 */
export const PLAN_DESCRIPTOR = 4;

/**
 * Returns the stub: the program that a process runs before it becomes a guest. The stub receives a plan (`encode.ts`) and
 * executes its system calls in order, until a call fails or an execve succeeds. The stub is the same for all guests; the
 * plan makes all decisions. A running Node could not be confined, because it has threads, and Landlock before ABI 8 does
 * not restrict other threads.
 *
 * @returns an executable file (ELF) that needs no library.
 */
export function stubProgram(architecture: Architecture): Buffer {
  const code = machineCode(STUB_LISTINGS[architecture]);
  const fileBytes = HEADER_BYTES + code.length;
  const headers = elfHeaders({
    architecture,
    // This type has fixed addresses.
    type: ELF.executable,
    entry: CODE_ADDRESS + BigInt(HEADER_BYTES),
    // The segments: this file, memory for the plan, a stack that is not executable.
    segments: [
      { type: ELF.load, rights: ELF.readExecute, address: CODE_ADDRESS, fileBytes },
      { type: ELF.load, rights: ELF.readWrite, address: PLAN_ADDRESS, memoryBytes: PLAN_BYTES },
      { type: ELF.stack, rights: ELF.readWrite },
    ],
  });
  return Buffer.concat([headers, code]);
}

const HEADER_BYTES = elfHeaderBytes(3);
const CODE_ADDRESS = PLAN_ADDRESS - BigInt(ALIGNMENT);

/**
 * The stub's machine code. The stack pointer walks through the plan: a step is eight 64-bit words, which the stub pops
 * before the call. Therefore a clone whose new stack is another list of steps continues with these steps.
 *
 * The stub first calls recvfrom(4, plan, 32768, MSG_WAITALL). A plan begins with two addresses: the address of its first
 * step, and the address at which the stub writes two pointers, to its own arguments after the program name and to its
 * environment. A call fails if its result is negative. A failed call ends the process, unless the address for its result is
 * odd. The exit status is 192 plus the number of executed steps, including the failed step.
 */
export const STUB_LISTINGS: Readonly<Record<Architecture, string>> = {
  x64: `
    48 89 e5                       start:  mov rbp, rsp
    48 bc 00 00 01 00 2c 00 00 00          movabs rsp, 0x2c00010000
    49 89 e7                               mov r15, rsp
    b8 2d 00 00 00                         mov eax, 45
    bf 04 00 00 00                         mov edi, 4
    48 89 e6                               mov rsi, rsp
    ba 00 80 00 00                         mov edx, 32768
    41 ba 00 01 00 00                      mov r10d, 256
    45 31 c0                               xor r8d, r8d
    45 31 c9                               xor r9d, r9d
    0f 05                                  syscall
    3d 00 80 00 00                         cmp eax, 32768
    75 38                                  jne failed
    48 8b 45 00                            mov rax, [rbp]
    48 8d 7d 10                            lea rdi, [rbp+16]
    48 8d 34 c7                            lea rsi, [rdi+rax*8]
    48 8b 4c 24 08                         mov rcx, [rsp+8]
    48 89 39                               mov [rcx], rdi
    48 89 71 08                            mov [rcx+8], rsi
    48 8b 24 24                            mov rsp, [rsp]
    49 89 e7                               mov r15, rsp
    58                             next:   pop rax
    5f                                     pop rdi
    5e                                     pop rsi
    5a                                     pop rdx
    41 5a                                  pop r10
    41 58                                  pop r8
    41 59                                  pop r9
    5b                                     pop rbx
    0f 05                                  syscall
    89 03                                  mov [rbx], eax
    48 85 c0                               test rax, rax
    79 ec                                  jns next
    f6 c3 01                               test bl, 1
    75 e7                                  jnz next
    4c 29 fc                       failed: sub rsp, r15
    48 c1 ec 06                            shr rsp, 6
    8d bc 24 c0 00 00 00                   lea edi, [rsp+192]
    b8 e7 00 00 00                         mov eax, 231
    0f 05                                  syscall`,
  arm64: `
    f3 03 00 91                    start:  mov x19, sp
    94 05 c0 d2                            mov x20, #0x2c00000000
    34 00 a0 f2                            movk x20, #1, lsl #16
    9f 02 00 91                            mov sp, x20
    e8 19 80 d2                            mov x8, #207
    80 00 80 d2                            mov x0, #4
    e1 03 14 aa                            mov x1, x20
    02 00 90 d2                            mov x2, #32768
    03 20 80 d2                            mov x3, #256
    04 00 80 d2                            mov x4, #0
    05 00 80 d2                            mov x5, #0
    01 00 00 d4                            svc #0
    1f 20 40 f1                            cmp x0, #8, lsl #12
    01 02 00 54                            b.ne failed
    60 02 40 f9                            ldr x0, [x19]
    61 42 00 91                            add x1, x19, #16
    22 0c 00 8b                            add x2, x1, x0, lsl #3
    89 06 40 f9                            ldr x9, [x20, #8]
    21 09 00 a9                            stp x1, x2, [x9]
    94 02 40 f9                            ldr x20, [x20]
    9f 02 00 91                            mov sp, x20
    e8 03 c1 a8                    next:   ldp x8, x0, [sp], #16
    e1 0b c1 a8                            ldp x1, x2, [sp], #16
    e3 13 c1 a8                            ldp x3, x4, [sp], #16
    e5 1b c1 a8                            ldp x5, x6, [sp], #16
    01 00 00 d4                            svc #0
    c0 00 00 b9                            str w0, [x6]
    40 ff ff b6                            tbz x0, #63, next
    26 ff 07 37                            tbnz w6, #0, next
    e9 03 00 91                    failed: mov x9, sp
    20 01 14 cb                            sub x0, x9, x20
    00 fc 46 d3                            lsr x0, x0, #6
    00 00 03 91                            add x0, x0, #192
    c8 0b 80 d2                            mov x8, #94
    01 00 00 d4                            svc #0`,
};

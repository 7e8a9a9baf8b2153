import { sealFilter } from "../seccomp/seccomp.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { ALIGNMENT, ELF, elfHeaderBytes, elfHeaders } from "./elf.ts";
import { machineCode } from "./listing.ts";

/** The path of the seal below the folder of the guest program. */
export const SEAL = "guest/seal.so";

/**
 * Returns the environment that makes the dynamic loader map the seal with the libraries of Node. The loader runs the seal
 * after the last library is mapped and before the first instruction of Node.
 *
 * @param program the folder of the guest program, as the guest sees it.
 */
export function sealedEnvironment(program: string): { readonly LD_PRELOAD: string } {
  return { LD_PRELOAD: `${program}/${SEAL}` };
}

/**
 * Returns a shared library that installs the guest's second system-call filter when it is loaded. The first filter, of the
 * plan, must still allow the loader to map libraries, and the stub to execute Node. Node itself needs neither, and with
 * both JavaScript could run native code: `loadExtension` of node:sqlite, `process.dlopen` in a worker, `process.execve`.
 */
export function sealLibrary(architecture: Architecture): Buffer {
  const filter = sealFilter(architecture);
  const text = Buffer.concat([machineCode(SEAL_LISTINGS[architecture]), numbers(filter.length / 8), filter]);
  const symbols = align(HEADER_BYTES + text.length);
  const strings = symbols + SYMBOL_BYTES;
  const hash = strings + 8;
  const dynamic = hash + 16;
  const entries = numbers(
    ...[DT_INIT, HEADER_BYTES, DT_SYMTAB, symbols, DT_SYMENT, SYMBOL_BYTES],
    ...[DT_STRTAB, strings, DT_STRSZ, 1, DT_HASH, hash, DT_NULL, 0],
  );
  const address = BigInt(ALIGNMENT + dynamic);
  const written = { rights: ELF.readWrite, offset: dynamic, address, fileBytes: entries.length };
  const headers = elfHeaders({
    architecture,
    type: ELF.sharedObject,
    segments: [
      { type: ELF.load, rights: ELF.readExecute, fileBytes: dynamic },
      // The loader writes into its entries.
      { type: ELF.load, ...written },
      { type: ELF.dynamic, ...written },
      { type: ELF.stack, rights: ELF.readWrite },
    ],
  });
  const file = Buffer.alloc(dynamic);
  headers.copy(file);
  text.copy(file, HEADER_BYTES);
  // The hash table has one bucket and one chain, both empty: no symbol but the empty one.
  file.writeUInt32LE(1, hash);
  file.writeUInt32LE(1, hash + 4);
  return Buffer.concat([file, entries]);
}

/** struct Elf64_Sym. */
const SYMBOL_BYTES = 24;
const HEADER_BYTES = elfHeaderBytes(4);
const [DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_INIT] = [0, 4, 5, 6, 10, 11, 12] as const;

function align(at: number): number {
  return Math.ceil(at / 8) * 8;
}

function numbers(...values: number[]): Buffer {
  return Buffer.from(BigUint64Array.from(values, BigInt).buffer);
}

/**
 * The seal's machine code: prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program). The length of the filter and the filter
 * follow the code. The code builds a struct sock_fprog of both on the stack. If the call fails, the guest ends with status
 * 191, which is below the statuses that name the steps of a plan.
 */
export const SEAL_LISTINGS: Readonly<Record<Architecture, string>> = {
  x64: `
    48 8d 05 2e 00 00 00               lea rax, [rip+46]
    48 8d 48 08                        lea rcx, [rax+8]
    51                                 push rcx
    ff 30                              push qword ptr [rax]
    bf 16 00 00 00                     mov edi, 22
    be 02 00 00 00                     mov esi, 2
    48 89 e2                           mov rdx, rsp
    b8 9d 00 00 00                     mov eax, 157
    0f 05                              syscall
    59                                 pop rcx
    59                                 pop rcx
    85 c0                              test eax, eax
    75 01                              jnz failed
    c3                                 ret
    bf bf 00 00 00             failed: mov edi, 191
    b8 e7 00 00 00                     mov eax, 231
    0f 05                              syscall`,
  arm64: `
    e1 01 00 10                        adr x1, .+60
    22 20 00 91                        add x2, x1, #8
    21 00 40 f9                        ldr x1, [x1]
    e1 0b bf a9                        stp x1, x2, [sp, #-16]!
    c0 02 80 d2                        mov x0, #22
    41 00 80 d2                        mov x1, #2
    e2 03 00 91                        mov x2, sp
    e8 14 80 d2                        mov x8, #167
    01 00 00 d4                        svc #0
    ff 43 00 91                        add sp, sp, #16
    40 00 00 b5                        cbnz x0, failed
    c0 03 5f d6                        ret
    e0 17 80 d2                failed: mov x0, #191
    c8 0b 80 d2                        mov x8, #94
    01 00 00 d4                        svc #0`,
};

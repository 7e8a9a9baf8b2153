import type { Architecture } from "../seccomp/system-calls.ts";

/** The alignment of segments, in bytes: the size of the largest pages of arm64. */
export const ALIGNMENT = 0x1_0000;
/** Segment types, segment rights and file types of elf(5). */
export const ELF = {
  load: 1,
  dynamic: 2,
  stack: 0x6474_e551,
  readExecute: 5,
  readWrite: 6,
  executable: 2,
  sharedObject: 3,
} as const;

const MACHINES: Readonly<Record<Architecture, number>> = { x64: 62, arm64: 183 };
const FILE_HEADER_BYTES = 64;
const SEGMENT_HEADER_BYTES = 56;

/** A segment: the bytes of the file that the kernel or the dynamic loader maps, their address and their rights. */
export interface Segment {
  readonly type: number;
  readonly rights: number;
  /** The offset in the file, in bytes. */
  readonly offset?: number;
  readonly address?: bigint;
  readonly fileBytes?: number;
  /** The size in memory; by default the size in the file. */
  readonly memoryBytes?: number;
}

export interface ElfHeaders {
  readonly architecture: Architecture;
  readonly type: number;
  readonly entry?: bigint;
  readonly segments: readonly Segment[];
}

/** Returns the length, in bytes, of the headers of a file with a number of segments. */
export function elfHeaderBytes(segments: number): number {
  return FILE_HEADER_BYTES + segments * SEGMENT_HEADER_BYTES;
}

/** Encodes the file header and the program headers (elf(5)): 64 bits, little endian. */
export function elfHeaders({ architecture, type, entry = 0n, segments }: ElfHeaders): Buffer {
  const file = Buffer.alloc(FILE_HEADER_BYTES);
  file.write("\x7fELF", "latin1");
  // 64 bits, little endian, version 1.
  file.set([2, 1, 1], 4);
  file.writeUInt16LE(type, 16);
  file.writeUInt16LE(MACHINES[architecture], 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(entry, 24);
  file.writeBigUInt64LE(BigInt(FILE_HEADER_BYTES), 32);
  file.writeUInt16LE(FILE_HEADER_BYTES, 52);
  file.writeUInt16LE(SEGMENT_HEADER_BYTES, 54);
  file.writeUInt16LE(segments.length, 56);
  return Buffer.concat([file, ...segments.map(segmentHeader)]);
}

function segmentHeader({ type, rights, offset = 0, address = 0n, fileBytes = 0, memoryBytes }: Segment): Buffer {
  const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
  header.writeUInt32LE(type, 0);
  header.writeUInt32LE(rights, 4);
  header.writeBigUInt64LE(BigInt(offset), 8);
  header.writeBigUInt64LE(address, 16);
  header.writeBigUInt64LE(address, 24);
  header.writeBigUInt64LE(BigInt(fileBytes), 32);
  header.writeBigUInt64LE(BigInt(memoryBytes ?? fileBytes), 40);
  header.writeBigUInt64LE(BigInt(ALIGNMENT), 48);
  return header;
}

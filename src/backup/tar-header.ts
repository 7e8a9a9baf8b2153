/**
 * The header of a file in a tar (POSIX.1-1988, `ustar`). A backup has only plain files with short names, so it needs no other
 * kind of entry, and a reader that accepts no other kind follows no link and creates no device.
 */
export const BLOCK_BYTES = 512;

const NAME = { at: 0, bytes: 100 } as const;
const SIZE = { at: 124, bytes: 12 } as const;
const CHECKSUM = { at: 148, bytes: 8 } as const;
const TYPE_AT = 156;
const LINK = { at: 157, bytes: 100 } as const;
const MAGIC_AT = 257;
const PREFIX = { at: 345, bytes: 155 } as const;
/** A larger size does not fit into eleven octal digits, and is written as a binary number (as GNU tar does). */
const MOST_OCTAL = 8 ** 11 - 1;
const BINARY = 0x80;

/** A file in a tar. */
export interface TarEntry {
  readonly name: string;
  readonly bytes: number;
}

/** @param modifiedMs Unix milliseconds */
export function writeHeader({ name, bytes }: TarEntry, modifiedMs: number): Buffer {
  if (Buffer.byteLength(name) > NAME.bytes) throw new TypeError(`the name ${name} is too long for a tar`);
  const header = Buffer.alloc(BLOCK_BYTES);
  const octal = (at: number, length: number, value: number): void => {
    header.write(value.toString(8).padStart(length - 1, "0"), at);
  };
  header.write(name, NAME.at);
  octal(100, 8, 0o600);
  octal(108, 8, 0);
  octal(116, 8, 0);
  if (bytes <= MOST_OCTAL) octal(SIZE.at, SIZE.bytes, bytes);
  else {
    header[SIZE.at] = BINARY;
    header.writeBigUInt64BE(BigInt(bytes), SIZE.at + 4);
  }
  octal(136, 12, Math.floor(modifiedMs / 1_000));
  header.write("0", TYPE_AT);
  header.write("ustar\u000000", MAGIC_AT, "latin1");
  header.write(`${checksumOf(header).toString(8).padStart(6, "0")}\0 `, CHECKSUM.at, "latin1");
  return header;
}

/** Returns the file that a header begins; null for the empty block at the end. @throws {Error} if it is anything else. */
export function readHeader(header: Buffer): TarEntry | null {
  if (header.every((byte) => byte === 0)) return null;
  if (Number.parseInt(text(header, CHECKSUM), 8) !== checksumOf(header)) {
    throw new Error("it is not a tar, or it is damaged");
  }
  const name = text(header, NAME);
  const isPlain = header[TYPE_AT] === 0x30 && text(header, LINK) === "" && text(header, PREFIX) === "";
  if (!isPlain) throw new Error(`the entry ${JSON.stringify(name)} is not a plain file`);
  return { name, bytes: sizeIn(header) };
}

function sizeIn(header: Buffer): number {
  const field = text(header, SIZE).trim();
  const isBinary = header[SIZE.at] === BINARY && header.readUInt32BE(SIZE.at) === BINARY * 2 ** 24;
  const bytes = isBinary
    ? Number(header.readBigUInt64BE(SIZE.at + 4))
    : /^[0-7]+$/.test(field)
      ? Number.parseInt(field, 8)
      : Number.NaN;
  if (!Number.isSafeInteger(bytes)) throw new Error("the size of an entry is invalid");
  return bytes;
}

/** The sum of all bytes, with spaces instead of the checksum. */
function checksumOf(header: Buffer): number {
  let sum = 0;
  for (const [at, byte] of header.entries()) {
    sum += at >= CHECKSUM.at && at < CHECKSUM.at + CHECKSUM.bytes ? 0x20 : byte;
  }
  return sum;
}

function text(header: Buffer, { at, bytes }: { at: number; bytes: number }): string {
  const end = header.indexOf(0, at);
  return header.toString("latin1", at, end < 0 ? at + bytes : Math.min(end, at + bytes));
}

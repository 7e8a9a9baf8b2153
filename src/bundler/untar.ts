import { gunzip } from "node:zlib";

import { Failure } from "./failure.ts";

/** The most files of one package, each of which takes memory besides its bytes. */
const MAX_FILES = 20_000;
const MAX_PATH_CHARS = 1_024;
const BLOCK_BYTES = 512;

/** The types of entries of a tar archive (POSIX.1-2017, pax, "ustar Interchange Format"; GNU tar). */
const FILE = new Set(["0", "\0"]);
const PAX = "x";
const LONG_NAME = "L";

/**
 * Unpacks the archive of a package into memory. Nothing is written to a disk, so a path cannot leave anything. Links, devices and
 * folders are left out, as npm does.
 *
 * @param maxBytes the most bytes of the archive after decompression.
 * @returns the contents by their paths below the first folder of the archive.
 * @throws {Failure} `packages_too_large`, or `packages_failed` for an archive that is damaged or has a path that leads out.
 */
export async function untar(archive: Buffer, subject: string, maxBytes: number): Promise<Map<string, Buffer>> {
  const tar = await decompressed(archive, subject, maxBytes);
  const files = new Map<string, Buffer>();
  let nextPath: string | null = null;
  for (let at = 0; at + BLOCK_BYTES <= tar.length;) {
    const header = tar.subarray(at, at + BLOCK_BYTES);
    // Two blocks of zeros end an archive; after one, there is nothing to read either.
    if (header[0] === 0 && header.every((byte) => byte === 0)) break;
    if (!isHeader(header)) throw damaged(subject);
    const size = sizeOf(header, subject);
    const content = tar.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + size);
    if (content.length < size) throw damaged(subject);
    at += BLOCK_BYTES + Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES;
    const type = String.fromCharCode(header[156]!);
    if (type === PAX) nextPath = paxPath(content) ?? nextPath;
    else if (type === LONG_NAME) nextPath = textOf(content);
    else {
      const path = nextPath ?? nameOf(header);
      nextPath = null;
      if (!FILE.has(type) || path.endsWith("/")) continue;
      const below = belowFirst(path, subject);
      if (below !== "") files.set(below, content);
      if (files.size > MAX_FILES)
        throw new Failure("packages_too_large", `${subject} has more than ${MAX_FILES} files`);
    }
  }
  return files;
}

function decompressed(archive: Buffer, subject: string, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gunzip(archive, { maxOutputLength: Math.max(maxBytes, 1) }, (error, tar) => {
      if (!error) resolve(tar);
      else if ((error as NodeJS.ErrnoException).code !== "ERR_BUFFER_TOO_LARGE") reject(damaged(subject));
      else reject(new Failure("packages_too_large", `the packages have more than 100 MiB, up to ${subject}`));
    });
  });
}

function damaged(subject: string): Failure {
  return new Failure("packages_failed", `the archive of ${subject} is damaged`);
}

/** Whether the checksum of a header is right: the sum of its bytes, with spaces in the place of the checksum. */
function isHeader(header: Buffer): boolean {
  let sum = 0;
  for (let index = 0; index < BLOCK_BYTES; index++) sum += index >= 148 && index < 156 ? 0x20 : header[index]!;
  return sum === Number.parseInt(textOf(header.subarray(148, 156)).trim(), 8);
}

/** Reads a size in octal digits. Sizes in base 256 are those of files above 8 GiB. */
function sizeOf(header: Buffer, subject: string): number {
  const digits = textOf(header.subarray(124, 136)).trim();
  if (!/^[0-7]{1,11}$/.test(digits)) throw damaged(subject);
  return Number.parseInt(digits, 8);
}

function nameOf(header: Buffer): string {
  const name = textOf(header.subarray(0, 100));
  const isUstar = header.toString("latin1", 257, 262) === "ustar";
  const prefix = isUstar ? textOf(header.subarray(345, 500)) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Returns the `path` of a pax header, whose records are `length key=value\n`. */
function paxPath(content: Buffer): string | null {
  for (let at = 0; at < content.length;) {
    const space = content.indexOf(0x20, at);
    const length = space < 0 ? 0 : Number(content.toString("latin1", at, space));
    if (!Number.isInteger(length) || length <= space - at) return null;
    const record = content.toString("utf8", space + 1, at + length - 1);
    if (record.startsWith("path=")) return record.slice("path=".length);
    at += length;
  }
  return null;
}

function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString("utf8", 0, end < 0 ? bytes.length : end);
}

/** Removes the first folder, which is mostly `package`. @throws {Failure} for a path that no honest archive has. */
function belowFirst(path: string, subject: string): string {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  const isOdd = path.length > MAX_PATH_CHARS || path.startsWith("/") || path.includes("\\");
  if (isOdd || parts.includes(".."))
    throw new Failure("packages_failed", `the archive of ${subject} has an unsafe path`);
  return parts.slice(1).join("/");
}

import { gzipSync } from "node:zlib";

/** An entry of an archive. The type is that of the header: `0` a file, `2` a symbolic link, `x` a pax header. */
export interface TarEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  readonly type?: string;
  readonly link?: string;
  /** The size that the header states; the default is that of the content. */
  readonly size?: string;
}

const BLOCK_BYTES = 512;

/** Makes an archive (POSIX ustar), without gzip. Nothing is checked, so that archives may be hostile. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => {
    const content = Buffer.from((entry.content ?? "") as string);
    return [headerOf(entry, content.length), content, Buffer.alloc(-content.length & (BLOCK_BYTES - 1))];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK_BYTES)]);
}

/** Makes the archive of a package, as `npm pack` does. */
export function tarballOf(files: Readonly<Record<string, string | Buffer>>): Buffer {
  return gzipSync(tarOf(Object.entries(files).map(([path, content]) => ({ path: `package/${path}`, content }))), {
    level: 1,
  });
}

function headerOf({ path, type = "0", link = "", size }: TarEntry, bytes: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(path, 0, 100);
  header.write("0000644\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(size ?? `${bytes.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return header;
}

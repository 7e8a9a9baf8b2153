import { readFileSync } from "node:fs";

/**
 * Reads a file that a setting names.
 *
 * @param flag the flag of the setting, which the error names
 * @param fix what to do if the file is missing
 * @throws {Error} if it cannot be read. The message does not contain its content.
 */
export function readNamedFile(flag: string, file: string, fix = "name the right file"): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = WHY[code ?? ""] ?? { what: `it cannot be read (${code})`, fix: "name a file that this user may read" };
    throw new Error(`${flag}: ${file}: ${why.what}; ${why.fix ?? fix}`, { cause: error });
  }
}

const WHY: Readonly<Record<string, { readonly what: string; readonly fix?: string }>> = {
  ENOENT: { what: "there is no such file" },
  ENOTDIR: { what: "there is no such file" },
  EISDIR: { what: "it is a folder" },
  EACCES: { what: "this user may not read it", fix: "give the service's user access to it" },
};

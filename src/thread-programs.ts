import { chmod, cp, mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";

/** The extension of every program: `.js` in the build, `.ts` in a checkout that runs as it is. */
const EXTENSION = path.extname(import.meta.filename);
let copies: string | null = null;

/**
 * Returns the file from which a thread starts.
 *
 * @param folder the folder of the program, as a checkout has it
 */
export function threadProgram(folder: string, name: string): string {
  return path.join(copies ?? folder, `${name}${EXTENSION}`);
}

/**
 * Copies the build into a folder that the service's user will own, for a service in a folder of root, such as `/root`. A thread that has
 * ended starts again, and its program is read again then.
 *
 * @param folder absolute; the service's user can reach it, and must become the owner of the copy
 * @returns removes the copy
 */
export async function copyThreadPrograms(folder: string): Promise<AsyncDisposable> {
  const target = path.join(folder, "program");
  if (EXTENSION === ".js") {
    await rm(target, { recursive: true, force: true });
    await mkdir(target, { mode: 0o700 });
    await cp(import.meta.dirname, target, { recursive: true, filter: isProgram });
    // Closed to other users, as all in a data folder, and as the doctor requires.
    for (const file of [target, ...(await readdir(target)).map((name) => path.join(target, name))]) {
      await chmod(file, file === target ? 0o700 : 0o600);
    }
    copies = target;
  }
  return { [Symbol.asyncDispose]: () => rm(target, { recursive: true, force: true }) };
}

/** Leaves out the console, whose files are in memory. `package.json` makes the files ES modules. */
function isProgram(file: string): boolean {
  return file === import.meta.dirname || /\.js$|package\.json$/.test(file);
}

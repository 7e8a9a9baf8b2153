import { closeSync, openSync } from "node:fs";
import path from "node:path";

const NAME = "backup.sock";
/** The bytes of a path that the kernel accepts for a socket, without the zero at its end (unix(7)). */
const MOST_BYTES = 107;

/** The path of the socket in a data folder, in a form that is short enough. Keep it until the socket is closed. */
export class SocketPath implements Disposable {
  readonly path: string;
  readonly #folder: number | undefined;

  /** @throws the system's error if the folder cannot be opened. */
  constructor(folder: string) {
    const plain = path.join(folder, NAME);
    const relative = path.relative(process.cwd(), plain);
    const short = [plain, relative].find((each) => Buffer.byteLength(each) <= MOST_BYTES);
    if (short === undefined) this.#folder = openSync(folder, "r");
    this.path = short ?? `/proc/self/fd/${this.#folder}/${NAME}`;
  }

  [Symbol.dispose](): void {
    if (this.#folder !== undefined) closeSync(this.#folder);
  }
}

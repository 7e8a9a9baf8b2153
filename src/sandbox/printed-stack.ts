import type { Socket } from "node:net";

/** The longest wait for a stack, in milliseconds. It takes a few; the guest is killed without it if it has no processor. */
const INTERRUPT_MS = 100;
/** The most characters of a stack. It has ten frames, but the code chooses the names of its functions. */
const MAX_CHARACTERS = 16_384;
/** The line that Node prints first. A blank line ends the stack. */
const BEGIN = "KEYBOARD_INTERRUPT: Script execution was interrupted by `SIGINT`\n";

/** Returns the stack that an interrupted Node prints to its standard error; empty if none arrives soon. */
export function printedStack(stderr: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  const finish = (): void => {
    clearTimeout(timer);
    stderr.off("data", read).off("close", finish);
    const start = text.lastIndexOf(BEGIN);
    resolve(start < 0 ? "" : text.slice(start + BEGIN.length).slice(0, MAX_CHARACTERS));
  };
  const read = (chunk: string): void => {
    text = (text + chunk).slice(-2 * MAX_CHARACTERS);
    const start = text.lastIndexOf(BEGIN);
    if (start >= 0 && text.includes("\n\n", start)) finish();
  };
  const timer = setTimeout(finish, INTERRUPT_MS);
  stderr.on("data", read).once("close", finish);
  return promise;
}

let text: Promise<Buffer> | null = null;

/** Loads the program of builders at the first order. Its half a megabyte would stay in the memory of a service without packages. */
export function loadText(): Promise<Buffer> {
  text ??= import("./program-text.ts").then(async ({ programText }) => Buffer.from(await programText()));
  return text;
}

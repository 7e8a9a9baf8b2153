/** The code of a task: a text, and the modules that it imports. */
export interface TaskCode {
  readonly code: string;
  /** By relative specifier; null if there are none. */
  readonly modules: Readonly<Record<string, string>> | null;
  /** Whether the text is read as TypeScript before it is read as JavaScript. */
  readonly typescript: boolean;
}

/** The first line of packed code: everything except the texts, which follow without separators. */
interface Head {
  readonly typescript: boolean;
  /** The length of each text in UTF-16 units: first the code, then the modules in the order of their names. */
  readonly lengths: readonly number[];
  readonly names: readonly string[];
}

/** Whether a task's code is stored packed. A text alone is stored as it is, as older versions do. */
export function isPacked({ modules, typescript }: TaskCode): boolean {
  return modules !== null || typescript;
}

/**
 * Returns the code as one text, which is stored, counted and digested. The texts are not escaped: they would take up to six
 * times their bytes, and the service would parse a megabyte before a run.
 */
export function packed(code: TaskCode): string {
  if (!isPacked(code)) return code.code;
  const modules = Object.entries(code.modules ?? {});
  const texts = [code.code, ...modules.map(([, text]) => text)];
  const head: Head = {
    typescript: code.typescript,
    lengths: texts.map((text) => text.length),
    names: modules.map(([name]) => name),
  };
  return [JSON.stringify(head), "\n", ...texts].join("");
}

/** Reads what `packed` has written. @param wasPacked the result of `isPacked` */
export function unpacked(text: string, wasPacked: boolean): TaskCode {
  if (!wasPacked) return { code: text, modules: null, typescript: false };
  const end = text.indexOf("\n");
  const { typescript, lengths, names } = JSON.parse(text.slice(0, end)) as Head;
  let at = end + 1;
  const texts = lengths.map((length) => text.slice(at, (at += length)));
  const [code = "", ...others] = texts;
  const modules = names.map((name, index): [string, string] => [name, others[index]!]);
  return { code, typescript, modules: modules.length === 0 ? null : Object.fromEntries(modules) };
}

/** Returns the bytes of the code with its modules. */
export function bytesOfCode({ code, modules }: TaskCode): number {
  let bytes = Buffer.byteLength(code);
  for (const text of Object.values(modules ?? {})) bytes += Buffer.byteLength(text);
  return bytes;
}

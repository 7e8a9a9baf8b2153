/** How one setting is written, read and explained. */
export interface Setting<T> {
  /** As given on the command line, with its argument. A flag that begins with `--no-` is on unless it is given. */
  readonly flag: string;
  readonly fallback: T;
  /** For the help text: what it sets, and the attack that a limit stops. */
  readonly help: string;
  /** The flag may be given several times; in a variable, commas separate the values. */
  readonly repeatable: boolean;
  /** @throws {TypeError} that says what is wrong with the text. */
  readonly read: (texts: readonly string[]) => T;
}

/** The settings of a configuration, by the names of its members. */
export type Settings<Config> = { readonly [Name in keyof Config]: Setting<Config[Name]> };

export function one<T>(flag: string, fallback: T, help: string, read: (text: string) => T): Setting<T> {
  return { flag, fallback, help, repeatable: false, read: (texts) => read(texts.at(-1) ?? "") };
}

export function many<T>(flag: string, fallback: T, help: string, read: (texts: readonly string[]) => T): Setting<T> {
  return { flag, fallback, help, repeatable: true, read };
}

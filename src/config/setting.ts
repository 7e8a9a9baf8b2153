/** The flag, the default, the help text and the parser of a setting. */
export interface Setting<T> {
  /** The flag of the command line with its argument. A setting with a `--no-` flag is on by default. */
  readonly flag: string;
  readonly fallback: T;
  /** The help text: what it sets, and the attack that a limit stops. */
  readonly help: string;
  /** Whether the flag may be repeated. In a variable, commas separate the values. */
  readonly repeatable: boolean;
  /** @throws {TypeError} with the fault of the text. */
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

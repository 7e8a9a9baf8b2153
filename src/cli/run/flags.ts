/** The flags of `caisson run` in addition to the settings. */
export interface RunFlags {
  readonly container: string;
  readonly input?: string;
  readonly query?: readonly string[];
  readonly bundle?: true;
  readonly esbuild?: string;
  readonly url?: string;
}

/** The exit codes of failures, by the party at fault in `Caisson-Fault`. */
export const EXITS = { task: 1, caller: 2, limit: 3, service: 4 } as const;

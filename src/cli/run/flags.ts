/** What `caisson run` was told beside the settings. */
export interface RunFlags {
  readonly container: string;
  readonly input?: string;
  readonly query?: readonly string[];
  readonly bundle?: true;
  readonly esbuild?: string;
  readonly url?: string;
}

/** Exit codes by whose doing it is that there is no result, as `Caisson-Fault` names them. */
export const EXITS = { task: 1, caller: 2, limit: 3, service: 4 } as const;

/** The members of a token that operators issue often, with the least that its holder needs. */
export interface Preset {
  /** What a token of this preset does, for a list of presets. */
  readonly does: string;
  readonly can: readonly ("run" | "limits" | "tasks" | "logs")[];
  readonly expiresIn: string;
  /** The runs of the token in a window. */
  readonly limits?: Readonly<Partial<Record<"minute" | "day", number>>>;
  readonly timeout?: string;
  /** False for a token whose code has no network. */
  readonly net?: false;
}

/** The presets of `caisson tokens issue` and of the console. The console imports this file, so it must import nothing. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  customer: {
    does: "runs code, keeps tasks and reads their logs in the customer's container",
    can: ["run", "limits", "tasks", "logs"],
    expiresIn: "90d",
    limits: { minute: 60, day: 10_000 },
  },
  "webhook-owner": {
    does: "keeps public tasks, which end with this token, and reads their logs",
    can: ["run", "tasks", "logs"],
    expiresIn: "365d",
    limits: { minute: 600 },
  },
  agent: {
    does: "runs the code of an agent for a day, without a network, each run for at most 30 s, and sees what is left",
    can: ["run", "limits"],
    expiresIn: "24h",
    limits: { minute: 60, day: 5_000 },
    timeout: "30s",
    net: false,
  },
  "log-reader": {
    does: "reads records, logs and usage, and runs nothing",
    can: ["logs"],
    expiresIn: "90d",
  },
};

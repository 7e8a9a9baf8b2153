import { load, type Load } from "./load/wrk.ts";
import { type Measured, type MeasuredService, type Seed, startBare, startSeeded, startService } from "./processes.ts";

export interface BenchOptions {
  /** The seconds of one load. */
  readonly seconds: number;
  /** Whether rows take fewer samples. */
  readonly isQuick: boolean;
  /** Flags for every service. */
  readonly flags: readonly string[];
}

/** Flags for rows that use more containers than the caps of one token allow. */
export const MANY_CONTAINERS: readonly string[] = ["--token-new-containers", "100000"];
/** The shared service keeps the guests of all rows: 2 rows use eight containers, the others one. */
const SHARED: readonly string[] = [...MANY_CONTAINERS, "--token-containers", "40", "--idle-limit", "1h"];

/** What the rows of one run of the benchmark share: the options, a bare server, and a service for rows that compare with it. */
export class Bench implements AsyncDisposable {
  readonly seconds: number;
  readonly isQuick: boolean;
  readonly #flags: readonly string[];
  readonly #closers = new AsyncDisposableStack();
  #bare: Promise<Measured> | null = null;
  #shared: Promise<MeasuredService> | null = null;
  /** The number of the current round, from 0. */
  round = 0;
  /** The isolation level of the services; null if none was started yet. */
  isolation: string | null = null;

  constructor({ seconds, isQuick, flags }: BenchOptions) {
    this.seconds = seconds;
    this.isQuick = isQuick;
    this.#flags = flags;
  }

  /** The plain server, which is started at the first use. */
  bare(): Promise<Measured> {
    this.#bare ??= this.#keep(startBare());
    return this.#bare;
  }

  /** The service of the rows that compare with the plain server. */
  shared(): Promise<MeasuredService> {
    this.#shared ??= this.#keep(this.service(...SHARED));
    return this.#shared;
  }

  /** Starts a service for one measurement. The caller ends it. */
  async service(...flags: readonly string[]): Promise<MeasuredService> {
    const service = await startService(...this.#flags, ...flags);
    this.isolation ??= await isolationOf(service);
    return service;
  }

  /** Starts a service with what `seed` has written into its data folder. The caller ends it. */
  async seeded(seed: Seed): Promise<MeasuredService> {
    const service = await startSeeded(seed, ...this.#flags);
    this.isolation ??= await isolationOf(service);
    return service;
  }

  /**
   * Loads a server for a second before each measurement. V8 compiles what is called often, and an idle service gives memory
   * back: after that it has to compile again.
   */
  async warmUp(url: string, options: Load): Promise<void> {
    await load(url, { ...options, seconds: 1 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closers.disposeAsync();
  }

  async #keep<Server extends AsyncDisposable>(starting: Promise<Server>): Promise<Server> {
    return this.#closers.use(await starting);
  }
}

async function isolationOf({ url }: MeasuredService): Promise<string> {
  const answer = await fetch(`${url}/healthz`);
  return ((await answer.json()) as { isolation: string }).isolation;
}

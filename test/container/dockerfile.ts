import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(import.meta.dirname, "../..");

export interface Instruction {
  readonly name: string;
  /** All that follows the name, as it is written. */
  readonly text: string;
}

export interface Stage {
  /** What it stands on. */
  readonly base: string;
  /** By which others copy from it; the last has none. */
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

/** What an image says of the containers that are made of it. */
export interface ImageConfig {
  cwd: string;
  stopSignal: string;
  readonly environment: Record<string, string>;
  readonly volumes: string[];
  readonly ports: number[];
  healthcheck: readonly string[];
  entrypoint: readonly string[];
  command: readonly string[];
}

const KNOWN = "CMD COPY ENTRYPOINT ENV EXPOSE HEALTHCHECK RUN STOPSIGNAL VOLUME WORKDIR".split(" ");

/**
 * Reads the project's Dockerfile (Docker's documentation, "Dockerfile reference"), as far as it needs to be known here.
 *
 * @throws {Error} naming the first line that uses anything else.
 */
export function readDockerfile(): Stage[] {
  const stages: { base: string; name: string | null; instructions: Instruction[] }[] = [];
  const lines = readFileSync(path.join(ROOT, "Dockerfile"), "utf8").split("\n");
  for (const line of lines.filter((each) => each.trim() !== "" && !each.startsWith("#"))) {
    const [, name, text] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    const [, base, as] = /^FROM (\S+)(?: AS (\S+))?$/.exec(line) ?? [];
    if (base !== undefined) stages.push({ base, name: as ?? null, instructions: [] });
    else if (name !== undefined && KNOWN.includes(name)) stages.at(-1)!.instructions.push({ name, text: text! });
    else throw new Error(`the Dockerfile has a line that is not understood: ${line}`);
  }
  return stages;
}

/** The patterns of what is sent to the engine: without one of these a file cannot be copied. */
export function readContext(): readonly string[] {
  const lines = readFileSync(path.join(ROOT, ".dockerignore"), "utf8").split("\n");
  const patterns = lines.filter((line) => line !== "" && !line.startsWith("#"));
  if (patterns.shift() !== "*") throw new Error(".dockerignore does not begin with *");
  const sent = patterns.map((pattern) => /^!([\w./-]+)$/.exec(pattern)?.[1]);
  if (sent.includes(undefined)) throw new Error(".dockerignore has a line that is not understood");
  return sent as string[];
}

export interface Copy {
  readonly from: string | null;
  readonly sources: readonly string[];
  readonly target: string;
}

export function readCopy(text: string): Copy {
  const [, from, places] = /^(?:--from=(\S+) )?(.+)$/.exec(text)!;
  const sources = places!.split(" ");
  const target = sources.pop()!;
  return { from: from ?? null, sources, target };
}

/** What the last stage leaves behind beside its files. */
export function imageConfig(stage: Stage): ImageConfig {
  const config: ImageConfig = {
    cwd: "/",
    stopSignal: "SIGTERM",
    environment: {},
    volumes: [],
    ports: [],
    healthcheck: [],
    entrypoint: [],
    command: [],
  };
  for (const { name, text } of stage.instructions) SETTERS[name]?.(config, text);
  return config;
}

const SETTERS: Readonly<Record<string, (config: ImageConfig, text: string) => void>> = {
  WORKDIR: (config, text) => (config.cwd = path.resolve(config.cwd, text)),
  STOPSIGNAL: (config, text) => (config.stopSignal = text),
  ENV: (config, text) => {
    for (const pair of text.split(" ")) {
      const [name, value] = pair.split("=");
      if (value === undefined) throw new Error(`ENV ${text} is not understood`);
      config.environment[name!] = value;
    }
  },
  VOLUME: (config, text) => config.volumes.push(text),
  EXPOSE: (config, text) => config.ports.push(Number(text)),
  HEALTHCHECK: (config, text) => (config.healthcheck = words(text.replace(/^(?:--\S+ )*CMD /, ""))),
  ENTRYPOINT: (config, text) => (config.entrypoint = words(text)),
  CMD: (config, text) => (config.command = words(text)),
};

/** The form that no shell reads. */
function words(text: string): string[] {
  return JSON.parse(text) as string[];
}

import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.join(import.meta.dirname, "../..");

export interface Instruction {
  readonly name: string;
  /** The text after the name of the instruction. */
  readonly text: string;
}

export interface Stage {
  /** Its base image. */
  readonly base: string;
  /** The name by which other stages copy from it; the last stage has none. */
  readonly name: string | null;
  readonly instructions: readonly Instruction[];
}

/** The configuration of an image for its containers. */
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
 * Reads the project's Dockerfile (Docker's documentation, "Dockerfile reference"), as far as these tests need it.
 *
 * @throws {Error} that names the first unsupported line.
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

/** Returns the patterns of the files that are sent to the engine. The Dockerfile can copy only these files. */
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

/** Returns the configuration that the last stage sets, in addition to its files. */
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

/** Parses the exec form, which no shell interprets. */
function words(text: string): string[] {
  return JSON.parse(text) as string[];
}

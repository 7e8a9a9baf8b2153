import { type Answer, MAX_HEAD_BYTES, type Order } from "../bundler/build-messages.ts";
import { Problem } from "../errors.ts";
import type { BuildOrder, Builder, Built, Rejection, Text } from "../packages/model.ts";
import { findEsbuild, INSTALL_ESBUILD } from "../sandbox/program/esbuild-program.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { lowerCaseOf, popularNear } from "../wire/popular-packages.ts";
import { executeOrder } from "./build-guests.ts";
import { loadText } from "./load-text.ts";
import { dishonest, lockOf } from "./lock-of.ts";
import { readAnswer } from "./read-answer.ts";
import type { RegistryEgress } from "./registry-fetch.ts";
import { RegistryProxy } from "./registry-proxy.ts";
import type { Registries } from "./registry-urls.ts";

export interface BuilderOptions extends Registries {
  readonly sandbox: Pick<Sandbox, "launch">;
  /** What the service refuses in addition to private addresses. */
  readonly egress: RegistryEgress;
  /** The maximum time of one build; the default is `DEADLINE_MS`. */
  readonly deadlineMs?: number;
  /** The maximum time of one transform; the default is `TRANSFORM_MS`. */
  readonly transformMs?: number;
  /** Returns the program of builders. A test replaces it, as a package does that takes a builder over. */
  readonly program?: () => Promise<string>;
  /** Unix milliseconds; the default is the clock of this machine. */
  readonly now?: () => number;
}

const DEADLINE_MS = 60_000;
/**
 * The maximum time of a transform, in milliseconds. The longest honest text takes less than a second, and two on a busy machine.
 * esbuild needs exponential time for some short texts. Runs wait for 10 seconds, so their answer has the cause.
 */
const TRANSFORM_MS = 8_000;
/** The version of the artefacts. Raise it when equal locks give other artefacts, so that the stored ones are built again. */
const ARTEFACTS = 4;
/** The longest text from a builder that a client receives. */
const SHOWN_CHARS = 600;
const NEWLINE = 0x0a;

/** Opens the builder. Nothing is started or loaded before the first order. */
export function openBuilder(options: BuilderOptions): Builder {
  const { now = Date.now, deadlineMs = DEADLINE_MS, transformMs = TRANSFORM_MS } = options;
  // Looked for now: a service that gives up root may not be able to read the folder later.
  const esbuild = findEsbuild();
  const version = `${ARTEFACTS}-esbuild-${esbuild?.version ?? "none"}`;
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  let program: Promise<Buffer> | null = null;

  const execute = async (
    order: Order,
    proxy: RegistryProxy | null,
    ms: number,
    signal: AbortSignal,
  ): Promise<Whole> => {
    if (!esbuild) {
      const hint = `The operator must install esbuild; ${INSTALL_ESBUILD}.`;
      throw new Problem("packages_unavailable", "packages cannot be built here: esbuild is not installed", { hint });
    }
    program ??= options.program?.().then((text) => Buffer.from(text)) ?? loadText();
    const answer = executeOrder(options.sandbox, await program, order, proxy, ms, signal);
    running.add(answer);
    try {
      return wholeOf(await answer);
    } catch (error) {
      if (proxy?.tooLarge != null) throw new Problem("packages_too_large", proxy.tooLarge, { cause: error });
      throw asProblem(error);
    } finally {
      running.delete(answer);
    }
  };

  const build = async (order: BuildOrder, signal: AbortSignal): Promise<Built> => {
    const late = AbortSignal.timeout(deadlineMs);
    const stopped = new AbortController();
    const whole = AbortSignal.any([signal, closing.signal, late, stopped.signal]);
    const proxy = new RegistryProxy(options, options.egress, whole, () => stopped.abort());
    try {
      const { head, rest } = await execute(messageOf(order, now()), proxy, deadlineMs, whole);
      if (head.is !== "built") throw dishonest();
      return { lock: lockOf(order, head, proxy.passed, { version, at: now() }), artefact: rest };
    } catch (error) {
      if (!late.aborted) throw error;
      const detail = `the packages could not be fetched and built within ${deadlineMs / 1_000} s`;
      throw new Problem("packages_unavailable", detail, { cause: error });
    } finally {
      proxy.close();
    }
  };

  const transform = async (
    texts: readonly Text[],
    _: string,
    signal: AbortSignal,
  ): Promise<readonly string[] | Rejection> => {
    const late = AbortSignal.timeout(transformMs);
    const whole = AbortSignal.any([signal, closing.signal, late]);
    try {
      const { head, rest } = await execute({ do: "transform", texts }, null, transformMs, whole);
      if (head.is === "rejected" && head.at < texts.length) return { rejected: shown(head.detail), at: head.at };
      if (head.is !== "transformed" || head.lengths.length !== texts.length) throw dishonest();
      return textsOf(head.lengths, rest);
    } catch (error) {
      signal.throwIfAborted();
      if (!late.aborted) throw error;
      const detail = `the code could not be made JavaScript within ${transformMs / 1_000} s`;
      throw new Problem("packages_failed", detail, { hint: "Simplify its types and expressions.", cause: error });
    }
  };

  return {
    version,
    build,
    transform,
    close: async () => {
      closing.abort(new Problem("packages_unavailable", "the service stops"));
      await Promise.allSettled(running);
    },
  };
}

interface Whole {
  readonly head: Exclude<Answer, { is: "failed" }>;
  readonly rest: Buffer;
}

/** Reads an answer. @throws {Problem} that the builder reports, or if the answer is not an honest one. */
function wholeOf(bytes: Buffer): Whole {
  const end = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE);
  const head = end < 0 ? null : readAnswer(bytes.toString("utf8", 0, end));
  if (!head) throw dishonest();
  if (head.is !== "failed") return { head, rest: bytes.subarray(end + 1) };
  const { code, detail, hint } = head;
  const better = hint === null ? misspelt(detail) : shown(hint);
  throw new Problem(code, shown(detail), better === null ? {} : { hint: better });
}

/**
 * Returns the hint for a package that the registry does not have, or has without a version, and whose name resembles one that is
 * imported often; or null.
 */
export function misspelt(detail: string): string | null {
  const [, absent, empty] = ABSENT.exec(detail) ?? [];
  const name = absent ?? empty;
  if (name === undefined) return null;
  const lower = lowerCaseOf(name);
  if (lower !== null) return `npm has names in lower case; did you mean ${lower}?`;
  const near = popularNear(name);
  return near === null ? null : `Did you mean ${near}?`;
}

const ABSENT = /^(?:the package (\S{1,214}) does not exist at the registry$|no version of (\S{1,214}) is ")/;

/** Splits what follows the head of transformed texts. @throws {Problem} if it has another length. */
function textsOf(lengths: readonly number[], rest: Buffer): string[] {
  let end = 0;
  const texts = lengths.map((length) => rest.toString("utf8", end, (end += length)));
  if (end !== rest.length) throw dishonest();
  return texts;
}

function messageOf({ set, from, update, minAgeMs }: BuildOrder, nowMs: number): Order {
  return {
    do: "build",
    ranges: set.ranges,
    entries: set.entries,
    from: from && { packages: from.packages, roots: from.roots },
    update,
    beforeMs: minAgeMs > 0 ? nowMs - minAgeMs : null,
  };
}

/** Returns a text of a builder for a client: one line without control characters, except line breaks. */
function shown(text: string): string {
  const plain = text.replaceAll(/[^\P{Cc}\n]/gu, " ");
  return plain.length > SHOWN_CHARS ? `${plain.slice(0, SHOWN_CHARS)}...` : plain;
}

/** Converts the end of a builder's guest, which is reported as that of a task. */
function asProblem(error: unknown): unknown {
  if (!(error instanceof Problem)) return error;
  const { code } = error;
  if (code === "task_memory") {
    return new Problem("packages_too_large", "the packages need more memory than a builder has", { cause: error });
  }
  if (code === "sandbox_failed") {
    return new Problem("packages_unavailable", "no guest that builds packages could be started", { cause: error });
  }
  if (code.startsWith("packages_") || code === "code_syntax") return error;
  return new Problem("packages_failed", "the builder ended before it had an answer", { cause: error });
}

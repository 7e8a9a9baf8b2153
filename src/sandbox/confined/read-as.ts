import { NOTES, executeWhole } from "../plan/execute-plan.ts";
import { guestPlan } from "../plan/guest-plan.ts";
import { type Memory, type Step, stepsFor, text } from "../plan/steps.ts";
import type { Identity } from "../privilege.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { BLOCK_BYTES } from "./disk.ts";
import { type Mappings, MOST_PAGES, PAGE_BYTES } from "./mappings.ts";

/** A file that a guest holds open. */
export interface OpenFile {
  /** Identifies the file: a file that is open twice is one file. */
  readonly key: string;
  readonly isRemoved: boolean;
  readonly bytes: number;
}

/** What a guest holds. */
export interface Seen {
  readonly files: readonly OpenFile[];
  readonly mappings: Mappings;
}

/** How many descriptors fit into one plan. */
const AT_ONCE = 90;
const CLOSE_FROM = 4;

/** Has a stub become the user of a guest, and look at its descriptors and its mappings as that user. */
export async function readAs(identity: Identity, stub: string, pid: number, names: readonly string[]): Promise<Seen> {
  const files: OpenFile[] = [];
  for (let first = 0; first < names.length; first += AT_ONCE) {
    const answers = await execute(stub, filesPlan(pid, identity, names.slice(first, first + AT_ONCE)));
    for (let at = 0; at + STAT.bytes <= answers.length; at += STAT.bytes)
      files.push(...parseAnswer(answers.subarray(at)));
  }
  const pages = await execute(stub, mappingsPlan(pid, identity));
  return { files, mappings: { text: parsePages(pages) } };
}

/** If no process can be started now, the next look comes soon. */
async function execute(stub: string, steps: readonly Step[]): Promise<Buffer> {
  const { said } = await executeWhole(stub, { steps }).catch(() => ({ said: Buffer.alloc(0) }));
  return said;
}

/** The offsets of members of `struct stat` (arch/x86/include/uapi/asm/stat.h, include/uapi/asm-generic/stat.h of Linux). */
const STATS = {
  x64: { bytes: 144, mode: 24, links: 16, blocks: 64 },
  arm64: { bytes: 128, mode: 16, links: 20, blocks: 64 },
} as const;
const STAT = STATS[process.arch as Architecture];
const S_IFMT = 0o170000;
const S_IFREG = 0o100000;
const AT_FDCWD = -100;
const step = stepsFor(process.arch as Architecture);

function become(pid: number, identity: Identity, folder: string): readonly Step[] {
  const architecture = process.arch as Architecture;
  const workingFolder = `/proc/${pid}${folder}`;
  return guestPlan({ architecture, closeFrom: CLOSE_FROM, identity, diesWithParent: true, workingFolder }).steps;
}

/** Asks what is behind each descriptor, and writes down every answer. */
function filesPlan(pid: number, identity: Identity, names: readonly string[]): readonly Step[] {
  const answer: Memory = { bytes: Buffer.alloc(STAT.bytes) };
  const looks = names.flatMap((name) => [
    // A descriptor that is gone leaves the answer of the one before, which then still counts once.
    step("newfstatat", [AT_FDCWD, text(name), answer, 0]),
    step("write", [NOTES, answer, STAT.bytes]),
  ]);
  const all = [...looks, step("exit_group", [0])].map((each) => ({ ...each, mayFail: true }));
  return [...become(pid, identity, "/fd"), ...all];
}

/** A page and then how many bytes of it were read, at an odd offset: that call may fail. */
const COUNT_OFFSET = PAGE_BYTES + 1;
const NOTED_BYTES = COUNT_OFFSET + 4;
/** The lowest free descriptor, once the descriptors from there on were closed. */
const OPENED = CLOSE_FROM;

/** Reads the mappings page by page, and writes down each page. */
function mappingsPlan(pid: number, identity: Identity): readonly Step[] {
  const noted: Memory = { bytes: Buffer.alloc(NOTED_BYTES) };
  const read = { ...step("read", [OPENED, noted, PAGE_BYTES]), result: { memory: noted, at: COUNT_OFFSET } };
  const pages = Array.from({ length: MOST_PAGES }, () => [read, step("write", [NOTES, noted, NOTED_BYTES])]).flat();
  const all = [step("openat", [AT_FDCWD, text("maps"), 0, 0]), ...pages, step("exit_group", [0])];
  return [...become(pid, identity, ""), ...all.map((each) => ({ ...each, mayFail: true }))];
}

/** @returns null if the pages that were read are not all. */
function parsePages(noted: Buffer): string | null {
  const pages: string[] = [];
  for (let at = 0; at + NOTED_BYTES <= noted.length; at += NOTED_BYTES) {
    const count = noted.readInt32LE(at + COUNT_OFFSET);
    if (count <= 0) return pages.join("");
    pages.push(noted.toString("latin1", at, at + count));
  }
  return pages.length < MOST_PAGES ? pages.join("") : null;
}

function parseAnswer(answer: Buffer): OpenFile[] {
  if ((answer.readUInt32LE(STAT.mode) & S_IFMT) !== S_IFREG) return [];
  const key = `${answer.readBigUInt64LE(0)}:${answer.readBigUInt64LE(8)}`;
  const isRemoved = answer.readUInt32LE(STAT.links) === 0;
  return [{ key, isRemoved, bytes: Number(answer.readBigUInt64LE(STAT.blocks)) * BLOCK_BYTES }];
}

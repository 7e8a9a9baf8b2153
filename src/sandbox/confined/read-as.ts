import { NOTES, executeWhole } from "../plan/execute-plan.ts";
import { guestPlan } from "../plan/guest-plan.ts";
import { type Memory, type Step, stepsFor, text } from "../plan/steps.ts";
import type { Identity } from "../privilege.ts";
import type { Architecture } from "../seccomp/system-calls.ts";
import { BLOCK_BYTES } from "./disk.ts";
import { type Mappings, MOST_PAGES, PAGE_BYTES } from "./mappings.ts";

/** A file that a guest has open. */
export interface OpenFile {
  /** Identifies the file, so that a file that is open twice counts once. */
  readonly key: string;
  readonly isRemoved: boolean;
  readonly bytes: number;
}

/** The files that a guest has open or mapped. */
export interface HeldFiles {
  readonly files: readonly OpenFile[];
  readonly mappings: Mappings;
}

/** The number of descriptors that fit into one plan. */
const BATCH_DESCRIPTORS = 90;
const CLOSE_FROM = 4;

/**
 * Reads the descriptors and mappings of a guest in a stub process that becomes the guest's user.
 *
 * @param names the names of the guest's descriptors in `/proc/<pid>/fd`.
 */
export async function readAs(
  identity: Identity,
  stub: string,
  pid: number,
  names: readonly string[],
): Promise<HeldFiles> {
  const files: OpenFile[] = [];
  for (let first = 0; first < names.length; first += BATCH_DESCRIPTORS) {
    const answers = await execute(stub, filesPlan(pid, identity, names.slice(first, first + BATCH_DESCRIPTORS)));
    for (let at = 0; at + STAT.bytes <= answers.length; at += STAT.bytes)
      files.push(...parseAnswer(answers.subarray(at)));
  }
  const pages = await execute(stub, mappingsPlan(pid, identity));
  return { files, mappings: { text: parsePages(pages) } };
}

/** Returns nothing if no process can be started now. The next check comes soon. */
async function execute(stub: string, steps: readonly Step[]): Promise<Buffer> {
  const { output } = await executeWhole(stub, { steps }).catch(() => ({ output: Buffer.alloc(0) }));
  return output;
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

function becomeUser(pid: number, identity: Identity, folder: string): readonly Step[] {
  const architecture = process.arch as Architecture;
  const workingFolder = `/proc/${pid}${folder}`;
  return guestPlan({ architecture, closeFrom: CLOSE_FROM, identity, diesWithParent: true, workingFolder }).steps;
}

/** Returns a plan that stats each descriptor and writes out every answer. */
function filesPlan(pid: number, identity: Identity, names: readonly string[]): readonly Step[] {
  const answer: Memory = { bytes: Buffer.alloc(STAT.bytes) };
  const stats = names.flatMap((name) => [
    // For a closed descriptor the memory still has the previous answer, which has the same key and so counts once.
    step("newfstatat", [AT_FDCWD, text(name), answer, 0]),
    step("write", [NOTES, answer, STAT.bytes]),
  ]);
  const all = [...stats, step("exit_group", [0])].map((each) => ({ ...each, mayFail: true }));
  return [...becomeUser(pid, identity, "/fd"), ...all];
}

/** A note is a page and the number of bytes read. The number is at an odd offset, because the read may fail. */
const COUNT_OFFSET = PAGE_BYTES + 1;
const NOTE_BYTES = COUNT_OFFSET + 4;
/** The descriptor of the opened file: the lowest free number, because the plan closes all from there on. */
const OPENED = CLOSE_FROM;

/** Returns a plan that reads the mappings page by page and writes out each page. */
function mappingsPlan(pid: number, identity: Identity): readonly Step[] {
  const note: Memory = { bytes: Buffer.alloc(NOTE_BYTES) };
  const read = { ...step("read", [OPENED, note, PAGE_BYTES]), result: { memory: note, at: COUNT_OFFSET } };
  const pages = Array.from({ length: MOST_PAGES }, () => [read, step("write", [NOTES, note, NOTE_BYTES])]).flat();
  const all = [step("openat", [AT_FDCWD, text("maps"), 0, 0]), ...pages, step("exit_group", [0])];
  return [...becomeUser(pid, identity, ""), ...all.map((each) => ({ ...each, mayFail: true }))];
}

/** @returns null if there are more pages than were read. */
function parsePages(notes: Buffer): string | null {
  const pages: string[] = [];
  for (let at = 0; at + NOTE_BYTES <= notes.length; at += NOTE_BYTES) {
    const count = notes.readInt32LE(at + COUNT_OFFSET);
    if (count <= 0) return pages.join("");
    pages.push(notes.toString("latin1", at, at + count));
  }
  return pages.length < MOST_PAGES ? pages.join("") : null;
}

function parseAnswer(answer: Buffer): OpenFile[] {
  if ((answer.readUInt32LE(STAT.mode) & S_IFMT) !== S_IFREG) return [];
  const key = `${answer.readBigUInt64LE(0)}:${answer.readBigUInt64LE(8)}`;
  const isRemoved = answer.readUInt32LE(STAT.links) === 0;
  return [{ key, isRemoved, bytes: Number(answer.readBigUInt64LE(STAT.blocks)) * BLOCK_BYTES }];
}

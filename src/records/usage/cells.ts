import type { RecordConfig } from "../../config/groups/records.ts";
import type { RunStatus } from "../record.ts";
import { WaitingBytes } from "../waiting-bytes.ts";
import { Cell, type CellBatch, type Names, takeBatch } from "./cell.ts";
import { ADMITTED, CPU_MS, EGRESS_BYTES, ENDED, placeOfDuration, placeOfStatus, REFUSED, RUN_MS } from "./columns.ts";
import { OTHER, type UsageSubject } from "./usage.ts";

/** The bounds of the memory and of the rows that subjects take. */
export interface CellBounds {
  /** The named containers of a family in an hour. */
  readonly familyContainers: number;
  /** The subjects of a family in an hour: stops a family with many tokens that use many containers each. */
  readonly familySubjects: number;
  /**
   * The subjects of a family in an hour that only refused requests have named. A refused request counts against no limit, so
   * no limit stops a caller that sends each one to another container.
   */
  readonly familyRefused: number;
  /** The subjects of all families in an hour: stops many families at once. */
  readonly subjects: number;
  /** The subjects of a family that always have their own counts, so that other families cannot take this away. */
  readonly leastSubjects: number;
  /** The bytes of the cells that wait for the writer. While the disk is full, each minute adds cells. */
  readonly waitingBytes: number;
}

/** The approximate memory of a cell: its numbers, and its place among those that wait. */
const CELL_BYTES = 320;

/**
 * Returns the bounds that follow from the settings. The names without a setting are few, or have room for two tokens or tasks in
 * each of the usual containers.
 */
export function cellBounds({
  countedFamilies,
  familyContainers,
  diskQueue,
}: Pick<RecordConfig, "countedFamilies" | "familyContainers" | "diskQueue">): CellBounds {
  return {
    familyContainers,
    familySubjects: Math.max(20_000, 2 * familyContainers),
    familyRefused: 100,
    subjects: 5 * countedFamilies,
    leastSubjects: 100,
    waitingBytes: diskQueue,
  };
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A container, task and token in the current hour, and its cells of the latest minute. */
interface Subject {
  readonly names: Names;
  runs: Cell | null;
  refusals: Map<string, Cell> | null;
}

/** By container, token and task. */
type SubjectTree = Map<string, Map<string | null, Map<string | null, Subject>>>;

interface FamilyHour {
  readonly subjects: SubjectTree;
  count: number;
  /** The subjects that a refused request has named. */
  refused: number;
}

/**
 * The counts in memory that the writer does not have yet. Each cap counts a family of tokens: past it, further containers,
 * tasks and tokens are counted together as `OTHER`, so the sums stay exact.
 */
export class UsageCells {
  readonly #bounds: CellBounds;
  #hour = -1;
  /** The subjects of the hour. They are forgotten at its end. */
  #families = new Map<string, FamilyHour>();
  #count = 0;
  #waiting: Cell[] = [];
  readonly #places: WaitingBytes;
  #lost = 0;
  /** Takes the outcomes of runs whose admission was lost. */
  readonly #unwritten: Cell = new Cell(0, { family: "", container: "", token: "", task: "" }, "");

  constructor(bounds: CellBounds) {
    this.#bounds = bounds;
    this.#places = new WaitingBytes(bounds.waitingBytes);
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get lost(): number {
    return this.#lost;
  }

  admitted(subject: UsageSubject, nowMs: number): Cell {
    const cell = this.#runsOf(this.#subjectOf(subject, nowMs), Math.floor(nowMs / MINUTE_MS));
    if (!this.#wait(cell)) return this.#unwritten;
    cell.numbers[ADMITTED]!++;
    return cell;
  }

  ended(cell: Cell, status: RunStatus, runMs: number, egressBytes: number): void {
    const place = placeOfStatus(status);
    if (cell === this.#unwritten || place === undefined || !this.#wait(cell)) return;
    const { numbers } = cell;
    const ms = finite(runMs);
    numbers[ENDED]!++;
    numbers[place]!++;
    numbers[placeOfDuration(ms)]!++;
    numbers[RUN_MS]! += ms;
    numbers[EGRESS_BYTES]! += Math.floor(finite(egressBytes));
  }

  addCpu(cell: Cell, cpuMs: number): void {
    if (cell !== this.#unwritten && this.#wait(cell)) cell.numbers[CPU_MS]! += finite(cpuMs);
  }

  refused(subject: UsageSubject, code: string, nowMs: number): void {
    const cell = this.#refusalsOf(this.#refusedSubjectOf(subject, nowMs), code, Math.floor(nowMs / MINUTE_MS));
    if (this.#wait(cell)) cell.numbers[REFUSED]!++;
  }

  /** Takes the counts of some waiting cells, which then begin from 0 again. @returns null if no cell waits. */
  take(count: number): CellBatch | null {
    const cells = this.#waiting.splice(0, count);
    for (const { names } of cells) this.#places.release(names.family, CELL_BYTES);
    return cells.length === 0 ? null : takeBatch(cells);
  }

  /** Enqueues a cell for the writer before its counts change. @returns false if there is no place: the count is lost. */
  #wait(cell: Cell): boolean {
    if (cell.isWaiting) return true;
    const { family } = cell.names;
    if (!this.#places.fits(family, CELL_BYTES)) {
      this.#lost++;
      return false;
    }
    this.#places.add(family, CELL_BYTES);
    cell.isWaiting = true;
    this.#waiting.push(cell);
    return true;
  }

  #runsOf(subject: Subject, minute: number): Cell {
    if (subject.runs?.minute === minute) return subject.runs;
    return (subject.runs = new Cell(minute, subject.names, ""));
  }

  #refusalsOf(subject: Subject, code: string, minute: number): Cell {
    const known = subject.refusals?.get(code);
    if (known?.minute === minute) return known;
    const { family: name } = subject.names;
    const family = this.#families.get(name)!;
    const counted = known || !this.#isFull(family) ? subject : this.#named(family, name, OTHER, OTHER, OTHER);
    const latest = counted.refusals?.get(code);
    if (latest?.minute === minute) return latest;
    if (!latest) this.#add(family);
    const cell = new Cell(minute, counted.names, code);
    counted.refusals ??= new Map();
    counted.refusals.set(code, cell);
    return cell;
  }

  #subjectOf(subject: UsageSubject, nowMs: number): Subject {
    return this.#knownSubject(subject, nowMs) ?? this.#newSubject(subject);
  }

  /** Returns a subject with a name if it is known, or if refused requests of its family may name another one. */
  #refusedSubjectOf(subject: UsageSubject, nowMs: number): Subject {
    const known = this.#knownSubject(subject, nowMs);
    if (known) return known;
    const { family: name, container } = subject;
    const family = this.#familyOf(name);
    if (family.refused < this.#bounds.familyRefused) {
      family.refused++;
      return this.#newSubject(subject);
    }
    return this.#named(family, name, family.subjects.has(container) ? container : OTHER, OTHER, OTHER);
  }

  #knownSubject(subject: UsageSubject, nowMs: number): Subject | undefined {
    const hour = Math.floor(nowMs / HOUR_MS);
    if (hour !== this.#hour) this.#begin(hour);
    const family = this.#families.get(subject.family);
    return family?.subjects.get(subject.container)?.get(subject.token)?.get(subject.task);
  }

  #familyOf(name: string): FamilyHour {
    return getOrSet(this.#families, name, () => ({ subjects: new Map(), count: 0, refused: 0 }));
  }

  #begin(hour: number): void {
    this.#hour = hour;
    this.#families = new Map();
    this.#count = 0;
  }

  #newSubject({ family: name, container, token, task }: UsageSubject): Subject {
    const family = this.#familyOf(name);
    const { subjects } = family;
    const isKnown = subjects.has(container);
    const place = isKnown || (subjects.size < this.#bounds.familyContainers && !this.#isCrowdedOut(family));
    const shown = place ? container : OTHER;
    return this.#isFull(family)
      ? this.#named(family, name, shown, OTHER, OTHER)
      : this.#named(family, name, shown, token, task);
  }

  /** Returns the subject of these names, and creates it if it is new. */
  #named(
    family: FamilyHour,
    familyName: string,
    container: string,
    token: string | null,
    task: string | null,
  ): Subject {
    const known = family.subjects.get(container)?.get(token)?.get(task);
    if (known) return known;
    const names = { family: familyName, container: copy(container), token: token ?? "", task: copy(task ?? "") };
    const subject: Subject = { names, runs: null, refusals: null };
    const tokens = getOrSet(
      family.subjects,
      names.container,
      () => new Map<string | null, Map<string | null, Subject>>(),
    );
    getOrSet(tokens, token, () => new Map<string | null, Subject>()).set(task === null ? null : names.task, subject);
    this.#add(family);
    return subject;
  }

  #add(family: FamilyHour): void {
    family.count++;
    this.#count++;
  }

  #isFull(family: FamilyHour): boolean {
    return family.count >= this.#bounds.familySubjects || this.#isCrowdedOut(family);
  }

  #isCrowdedOut(family: FamilyHour): boolean {
    return this.#count >= this.#bounds.subjects && family.count >= this.#bounds.leastSubjects;
  }
}

/** A number that is not finite would make the writer reject the whole batch, again and again. */
function finite(value: number): number {
  return value > 0 && value < Infinity ? value : 0;
}

/** Copies a text. A part of the target of a request would keep the whole target in memory for an hour. */
function copy(text: string): string {
  return Buffer.from(text).toString();
}

function getOrSet<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = create()));
  return value;
}

import { WIDTH } from "./columns.ts";

/** The names that a cell counts for. An absent token or task is empty. */
export interface Names {
  readonly family: string;
  readonly container: string;
  readonly token: string;
  readonly task: string;
}

/** The counts of a subject and minute that the writer does not have yet. */
export class Cell {
  /** Unix minutes. */
  readonly minute: number;
  readonly names: Names;
  /** The error code of refused requests; empty for runs. */
  readonly code: string;
  /** Whether the cell waits for the writer. */
  isWaiting = false;
  /** See `columns.ts` for the layout. */
  readonly numbers: number[] = Array.from({ length: WIDTH }, () => 0);

  constructor(minute: number, names: Names, code: string) {
    this.minute = minute;
    this.names = names;
    this.code = code;
  }
}

/** Counts for the writer. */
export interface CellBatch {
  /** Family, container, token, task and code of each cell. */
  readonly texts: readonly string[];
  /** Minute and numbers of each cell. */
  readonly numbers: Float64Array;
}

/** Takes the counts of cells, which then begin from 0 again. */
export function takeBatch(cells: readonly Cell[]): CellBatch {
  const texts: string[] = [];
  const numbers = new Float64Array(cells.length * (WIDTH + 1));
  for (const [index, cell] of cells.entries()) {
    const { family, container, token, task } = cell.names;
    texts.push(family, container, token, task, cell.code);
    numbers[index * (WIDTH + 1)] = cell.minute;
    numbers.set(cell.numbers, index * (WIDTH + 1) + 1);
    cell.numbers.fill(0);
    cell.isWaiting = false;
  }
  return { texts, numbers };
}

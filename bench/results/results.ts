import { median } from "../figures.ts";
import type { Figure, Peer, Round, Row } from "../row.ts";
import type { Commit, Machine } from "./machine.ts";

/** The content of `bench/results.json`. */
export interface Results extends Commit {
  /** When the measurement began, in UTC (RFC 3339). */
  readonly date: string;
  /** Whether all rows were measured at full length. */
  readonly isFull: boolean;
  readonly machine: Machine;
  /** The isolation level of the services; null if none was started. */
  readonly isolation: string | null;
  readonly rounds: number;
  readonly seconds: number;
  readonly rows: readonly RowResult[];
}

export interface RowResult {
  readonly id: string;
  readonly title: string;
  readonly peer?: Peer & { readonly version: string };
  readonly figures: readonly FigureResult[];
  /** The medians of everything that the rounds have measured. */
  readonly medians: Round;
  readonly rounds: readonly Round[];
  /** Why the row has no figures, or fewer rounds. */
  readonly failure?: string;
}

export interface FigureResult extends Figure {
  /** The median of the rounds; null if there was none. */
  readonly value: number | null;
  /** Whether the value is within the budget, and reaches the aim; null if there is no value or no bound. */
  readonly isWithinBudget: boolean | null;
  readonly reachesAim: boolean | null;
}

/** Computes the result of a row from its rounds. */
export function rowResult(row: Row, rounds: readonly Round[], failure?: string, version?: string): RowResult {
  const medians = mediansOf(rounds);
  return {
    id: row.id,
    title: row.title,
    ...(row.peer && { peer: { ...row.peer, version: version ?? "" } }),
    figures: row.figures.map((figure) => figureResult(figure, medians[figure.id] ?? null)),
    medians,
    rounds,
    ...(failure !== undefined && { failure }),
  };
}

function mediansOf(rounds: readonly Round[]): Round {
  const names = new Set(rounds.flatMap((round) => Object.keys(round)));
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      median(rounds.map((round) => round[name]!).filter((value) => !Number.isNaN(value))),
    ]),
  );
}

function figureResult(figure: Figure, value: number | null): FigureResult {
  const reaches = (bound: number | null): boolean | null => {
    if (value === null || bound === null) return null;
    return figure.better === "more" ? value >= bound : value <= bound;
  };
  return { ...figure, value, isWithinBudget: reaches(figure.budget), reachesAim: reaches(figure.aim) };
}

/** Returns what `--check` finds wrong: figures worse than their budget, and rows of the service that could not be measured. */
export function faultsOf({ rows }: Pick<Results, "rows">): string[] {
  const own = rows.filter(({ peer }) => peer === undefined);
  const failed = own.flatMap(({ id, failure }) => (failure === undefined ? [] : [`${id}: not measured: ${failure}`]));
  const worse = own.flatMap(({ id, figures }) =>
    figures
      .filter(({ isWithinBudget }) => isWithinBudget === false)
      .map(
        (figure) => `${id}: ${figure.title}: ${inUnit(figure, figure.value)}, budget ${inUnit(figure, figure.budget)}`,
      ),
  );
  return [...failed, ...worse];
}

/** Formats a value of a figure with its unit. */
export function inUnit({ unit }: Pick<Figure, "unit">, value: number | null): string {
  return value === null ? "-" : `${formatNumber(value)} ${unit}`.trim();
}

/** Formats a number with as many digits as a noisy machine deserves. */
export function formatNumber(value: number): string {
  const size = Math.abs(value);
  const digits =
    size === 0 || Number.isInteger(value) ? 0 : size < 0.1 ? 4 : size < 1 ? 2 : size < 10 ? 2 : size < 100 ? 1 : 0;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+$)/g, digits === 0 ? "," : "");
}

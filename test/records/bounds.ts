import { type RecordConfig, RECORDS } from "../../src/config/groups/records.ts";

type Bounds = Pick<
  RecordConfig,
  | "recentRuns"
  | "containerRuns"
  | "consoleLimit"
  | "eventReaders"
  | "familyEventReaders"
  | "familyReads"
  | "familyContainers"
  | "nodeAnswers"
>;

/** The default bounds of everything that keeps or reads records. */
export const BOUNDS: Bounds = {
  recentRuns: RECORDS.recentRuns.fallback,
  containerRuns: RECORDS.containerRuns.fallback,
  consoleLimit: RECORDS.consoleLimit.fallback,
  eventReaders: RECORDS.eventReaders.fallback,
  familyEventReaders: RECORDS.familyEventReaders.fallback,
  familyReads: RECORDS.familyReads.fallback,
  familyContainers: RECORDS.familyContainers.fallback,
  nodeAnswers: RECORDS.nodeAnswers.fallback,
};

import { workerData } from "node:worker_threads";

import { isDamage, setAside } from "../damaged-file.ts";
import { serveRequests } from "../serve-requests.ts";
import { AuditFile, type AuditRow } from "./audit-file.ts";
import type { AuditPage, AuditQuery } from "./audit.ts";

export type AuditRequest =
  | { readonly kind: "add"; readonly row: AuditRow }
  | { readonly kind: "list"; readonly query: AuditQuery }
  | { readonly kind: "close" };

export interface AuditReply {
  /** The page that was requested, or null. */
  readonly page: AuditPage | null;
  /** The new name of a damaged file, or null. */
  readonly setAside: string | null;
}

const { file: path } = workerData as { file: string };
let file: AuditFile | null = null;

serveRequests((request: AuditRequest): AuditReply => {
  try {
    return { page: fulfil(request), setAside: null };
  } catch (error) {
    closeQuietly();
    if (!isDamaged(error) || request.kind === "close") throw error;
    const name = setAside(path, Date.now());
    return { page: fulfil(request), setAside: name };
  }
});

function fulfil(request: AuditRequest): AuditPage | null {
  if (request.kind === "close") {
    file?.close();
    file = null;
    return null;
  }
  file ??= AuditFile.open(path);
  if (request.kind === "list") return file.list(request.query);
  file.add(request.row);
  return null;
}

/** Whether SQLite reported damage, also during the open, whose error has the error of SQLite as its cause. */
function isDamaged(error: unknown): boolean {
  return isDamage(error) || (error instanceof Error && error.cause instanceof Error && isDamage(error.cause));
}

function closeQuietly(): void {
  try {
    file?.close();
  } catch {
    // The error of the request is reported.
  }
  file = null;
}

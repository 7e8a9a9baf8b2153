import type { AnsweredRunRecord, RunRecord } from "@caisson/client";

import { bytes, counted, duration, headOf } from "../format.ts";
import { versionsText } from "../package-ranges.ts";
import { linkTo } from "../route.ts";
import { shownResult } from "../shown-result.ts";
import { StatusBadge } from "./status-badge.tsx";
import { Timings } from "./timings.tsx";

type Shown = AnsweredRunRecord | RunRecord;

/** What became of a run: its result or its error, its console, and what it used. */
export function Outcome({ record }: { readonly record: Shown }) {
  const { run, container, status, error, hint, guest, egress } = record;
  return (
    <section class="card" aria-label="Result">
      <div class="head">
        <StatusBadge status={status} />
        <a class="mono" href={linkTo("runs", [container, run])}>
          {run}
        </a>
      </div>
      {error === null ? <Result record={record} /> : <RunError error={error} />}
      {hint != null && hint !== error?.hint && <p class="notice">{hint}</p>}
      <ConsoleLines lines={record.console ?? []} dropped={record.dropped?.lines ?? 0} />
      <Timings ms={record.ms} start={record.start} />
      <dl class="facts">
        {record.packages !== undefined && (
          <>
            <dt>Packages</dt>
            <dd>
              <a href={linkTo("packages", [record.packages.lock])}>{versionsText(record.packages.versions)}</a>
            </dd>
          </>
        )}
        {guest?.cpuMs != null && (
          <>
            <dt>Processor time</dt>
            <dd>{duration(guest.cpuMs)}</dd>
          </>
        )}
        {guest?.memoryPeakBytes != null && (
          <>
            <dt>Memory of the guest, at most</dt>
            <dd>{bytes(guest.memoryPeakBytes)}</dd>
          </>
        )}
        {egress !== null && (
          <>
            <dt>Network</dt>
            <dd>{networkText(egress)}</dd>
          </>
        )}
      </dl>
    </section>
  );
}

function networkText({ connections, refused, bytesSent, bytesReceived }: NonNullable<Shown["egress"]>): string {
  if (connections + refused === 0) return "no connection";
  const refusals = refused === 0 ? "" : `, ${refused} refused`;
  return `${counted(connections, "connection")}, ${bytes(bytesSent)} sent, ${bytes(bytesReceived)} received${refusals}`;
}

function Result({ record }: { readonly record: Shown }) {
  // A record of the history has no result.
  const answered = record as AnsweredRunRecord;
  const { response } = record;
  const { text, note } = shownResult(answered);
  return (
    <>
      {response && (
        <p>
          A response with status {response.status}
          {answered.resultType ? `, ${answered.resultType}` : ""}
        </p>
      )}
      {text !== null && (
        <pre class="result" tabIndex={0}>
          {text}
        </pre>
      )}
      {note !== null && <p class="quiet">{note}</p>}
    </>
  );
}

function RunError({ error }: { readonly error: NonNullable<Shown["error"]> }) {
  const { name, message, code, at, hint, stack } = error;
  return (
    <div class="run-error">
      <p>
        <strong>{name ?? code}</strong>: {at?.frame ? headOf(message) : message}
      </p>
      {at !== null && (
        <p class="quiet mono">
          {at.file}:{at.line}:{at.column}
        </p>
      )}
      {at?.frame && (
        <pre class="source" tabIndex={0}>
          {at.frame}
        </pre>
      )}
      {hint !== null && <p>{hint}</p>}
      {stack !== null && stack !== undefined && (
        <details>
          <summary>Stack</summary>
          <pre>{stack}</pre>
        </details>
      )}
    </div>
  );
}

interface Line {
  readonly atMs: number;
  readonly level: string;
  readonly text: string;
}

/** The lines that a run printed, as text. */
export function ConsoleLines({ lines, dropped }: { readonly lines: readonly Line[]; readonly dropped: number }) {
  if (lines.length === 0) return null;
  return (
    <div>
      <h3>Console</h3>
      <ol class="console" tabIndex={0} aria-label="Console">
        {lines.map(({ atMs, level, text }, at) => (
          <li key={at} class={level}>
            <span class="quiet">{duration(atMs)}</span>
            <pre>{text}</pre>
          </li>
        ))}
      </ol>
      {dropped > 0 && <p class="quiet">{counted(dropped, "further line")} dropped</p>}
    </div>
  );
}

import type { AnsweredRunRecord } from "./api-types.ts";
import { CaissonError, errorOfRecord, unexpected } from "./error.ts";

/** Responses with these statuses have no body (Fetch standard, null body status). */
const WITHOUT_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/**
 * Returns what the code returned: a JSON value as it is, and anything else (a `Response`, bytes, a `Blob`, a stream) as a
 * `Response` with its status, headers and body.
 *
 * @throws {CaissonError} if the run failed, or if the record has only the beginning of the result
 */
export function valueOf(record: AnsweredRunRecord): unknown {
  try {
    return readValue(record);
  } catch (error) {
    // For example, a status or base64 is not valid.
    throw error instanceof CaissonError ? error : unexpected("it is not the record of a run", { cause: error });
  }
}

function readValue(record: AnsweredRunRecord): unknown {
  const error = errorOfRecord(record);
  if (error) throw error;
  const { result, resultTruncated, resultEncoding, response, run } = record;
  if (resultTruncated) {
    throw new CaissonError({
      ...{ code: "result_truncated", run, record },
      detail: "the code ran, but its result is larger than the service shows",
      hint: "Return less, or read the answer of POST /api/run/{container} as a stream.",
    });
  }
  if (response === null) return result;
  const { status, headers } = response;
  if (WITHOUT_BODY.has(status)) return new Response(null, { status, headers });
  return new Response(resultEncoding === "base64" ? bytesOf(String(result)) : JSON.stringify(result), {
    status,
    headers,
  });
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

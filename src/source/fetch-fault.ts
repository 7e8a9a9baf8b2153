import { EgressDenied } from "../egress/denied.ts";
import type { ProblemCode } from "../error-codes.ts";
import { Problem } from "../errors.ts";

/**
 * Why a fetch failed, as a sentence without subject: only `Sources` decides how the answer may name the URL.
 */
export class FetchFault extends Error {
  override readonly name = "FetchFault";
  readonly code: ProblemCode;
  readonly why: string;
  readonly hint: string | undefined;

  constructor(code: ProblemCode, why: string, hint?: string) {
    super(why);
    this.code = code;
    this.why = why;
    this.hint = hint;
  }
}

/**
 * Converts an error of a fetch into the `Problem` that the client receives. It omits the messages of the system,
 * because they contain addresses.
 *
 * @param subject the subject of the sentence.
 * @returns a `Problem`, or the error itself if it is not a network error.
 */
export function asProblem(error: unknown, subject: string): unknown {
  if (error instanceof Problem) return error;
  if (error instanceof FetchFault) {
    return new Problem(error.code, `${subject} ${error.why}`, error.hint === undefined ? {} : { hint: error.hint });
  }
  if (error instanceof EgressDenied) {
    if (error.reason === "limit") {
      return new Problem("task_url_unreachable", `${subject} ${error.why}`, { cause: error, hint: "Try again later." });
    }
    return new Problem("task_url_forbidden", `${subject} ${error.why}`, {
      hint: error.reason === "claim" ? ASK_FOR_TOKEN : ASK_OPERATOR,
      cause: error,
    });
  }
  if (!(error instanceof Error) || error instanceof TypeError || !("code" in error)) return error;
  const why = describe(String(error.code));
  const hint = why.includes("resolve") ? "Check the name of the host." : "Check the URL, and that its server works.";
  return new Problem("task_url_unreachable", `${subject} ${why}`, { cause: error, hint });
}

const ASK_OPERATOR = "The operator of this service can allow one destination with --egress-allow host:port.";
const ASK_FOR_TOKEN = "Ask for a token whose net claim contains this destination, or for a token without a net claim.";

function describe(code: string): string {
  const known = REASONS.find(([pattern]) => pattern.test(code));
  return known === undefined ? `cannot be reached (${code})` : known[1];
}

const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^(?:ENOTFOUND|ENODATA|EAI_\w+)$/, "is a name that does not resolve"],
  [/^ECONNREFUSED$/, "refused the connection"],
  [/^(?:EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL)$/, "cannot be reached: the network has no route to it"],
  [/^ETIMEDOUT$|_TIMEDOUT$/, "did not accept the connection in time"],
  [/^(?:ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/, "closed the connection before its answer was complete"],
  [/^HPE_/, "did not answer in HTTP/1.1"],
  [/^(?:Z_|ERR_ZLIB|ERR_BROTLI|ERR__ERROR|ERR_PADDING|ERR_ZSTD|ZSTD_)/, "returned a body that cannot be decompressed"],
  [/^CERT_HAS_EXPIRED$/, "has a TLS certificate that has expired"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "has a TLS certificate for another name"],
  [/SELF_SIGNED|^CERT_|CERTIFICATE|UNABLE_TO_\w*(?:CERT|ISSUER|LEAF)/, "has a TLS certificate that is not trusted"],
  [/^(?:ERR_SSL_|ERR_TLS_|EPROTO)/, "did not complete the TLS handshake"],
];

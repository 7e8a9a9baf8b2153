import { EgressDenied } from "../egress/policy.ts";
import type { ProblemCode } from "../error-codes.ts";
import { Problem } from "../errors.ts";

/** Why a fetch failed, as a sentence without its subject: what the place may be called is not known where it fails. */
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
 * What the caller is told of anything that went wrong on the way to a place. The words of the system are left out: they
 * hold addresses.
 *
 * @param place the subject of the sentence.
 * @returns a `Problem`, or the error itself when it is none of the network's.
 */
export function asProblem(error: unknown, place: string): unknown {
  if (error instanceof Problem) return error;
  if (error instanceof FetchFault) {
    return new Problem(error.code, `${place} ${error.why}`, error.hint === undefined ? {} : { hint: error.hint });
  }
  if (error instanceof EgressDenied) {
    return new Problem("task_url_forbidden", `${place} ${error.why}`, {
      hint: error.reason === "claim" ? ASK_FOR_TOKEN : ASK_OPERATOR,
      cause: error,
    });
  }
  if (!(error instanceof Error) || error instanceof TypeError || !("code" in error)) return error;
  return new Problem("task_url_unreachable", `${place} ${describe(String(error.code))}`, { cause: error });
}

const ASK_OPERATOR = "Whoever runs this service can allow one place with --egress-allow host:port.";
const ASK_FOR_TOKEN = "Ask for a token whose net claim names the place, or that has none.";

function describe(code: string): string {
  const known = WORDS.find(([pattern]) => pattern.test(code));
  return known === undefined ? `cannot be reached (${code})` : known[1];
}

const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^(?:ENOTFOUND|ENODATA|EAI_\w+)$/, "is a name that does not resolve"],
  [/^ECONNREFUSED$/, "refused the connection"],
  [/^(?:EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL)$/, "has no route to it"],
  [/^ETIMEDOUT$|_TIMEDOUT$/, "did not answer the connection"],
  [/^(?:ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/, "closed the connection before its answer was whole"],
  [/^HPE_/, "did not answer in HTTP/1.1"],
  [/^(?:Z_|ERR_ZLIB|ERR_BROTLI|ERR__ERROR|ERR_PADDING|ERR_ZSTD|ZSTD_)/, "gave a body that does not decompress"],
  [/^CERT_HAS_EXPIRED$/, "has a TLS certificate that has expired"],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/, "has a TLS certificate for another name"],
  [/SELF_SIGNED|^CERT_|CERTIFICATE|UNABLE_TO_\w*(?:CERT|ISSUER|LEAF)/, "has a TLS certificate that is not trusted"],
  [/^(?:ERR_SSL_|ERR_TLS_|EPROTO)/, "does not speak TLS that can be understood"],
];

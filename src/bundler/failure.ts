import type { FailureCode } from "./build-messages.ts";

/** Why a set of packages cannot be built. The service checks the texts before a client receives them. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  readonly hint: string | null;

  constructor(code: FailureCode, detail: string, hint: string | null = null) {
    super(detail);
    this.code = code;
    this.hint = hint;
  }
}

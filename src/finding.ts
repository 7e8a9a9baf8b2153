/** The result for one layer. */
export interface Finding {
  readonly layer: string;
  /** `weak`: it works, but not by the strongest mechanism. `open`: the service cannot start, or has no sandbox. */
  readonly state: "held" | "weak" | "open";
  /** The observation that shows the state. */
  readonly proof: string;
  /** What to install or set. Always present if the layer is not held. */
  readonly remedy?: string;
}

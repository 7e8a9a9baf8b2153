/** What was found of one layer. */
export interface Finding {
  readonly layer: string;
  /** `weak`: it works, by a means that is less than the best. `open`: no start, or no wall. */
  readonly state: "held" | "weak" | "open";
  /** How it is known. */
  readonly proof: string;
  /** What to install or set; there is one whenever the layer is not held. */
  readonly remedy?: string;
}

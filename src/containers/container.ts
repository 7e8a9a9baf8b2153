import type { Compartment } from "./compartment.ts";

/** One container: the places in it, and what each isolation group has of it. */
export class Container {
  readonly name: string;
  /** Places taken by runs of all groups, from before they are admitted until they are answered. */
  taken = 0;
  /** By the key of their isolation group; those of fresh guests, which nobody looks for, are not among them. */
  readonly compartments: Map<string, Compartment> = new Map();

  constructor(name: string) {
    this.name = name;
  }
}

/** A package that an administrator has added to the list of the operator. */
export interface AddedPermit {
  readonly entry: string;
  readonly by: string;
  readonly at: number;
}

/** The packages that administrators have added to the list of the operator. */
export interface PermitStore {
  /** In the order of their entries. */
  readonly permits: readonly AddedPermit[];
  /** @returns false if the entry was there. @throws {Problem} `store_unavailable` */
  addPermit(permit: AddedPermit): boolean | Promise<boolean>;
  /** @returns false if there is no such entry. @throws {Problem} `store_unavailable` */
  removePermit(entry: string): boolean | Promise<boolean>;
  /** Calls a listener after each change, also of another node. */
  onPermits(listener: () => void): void;
}

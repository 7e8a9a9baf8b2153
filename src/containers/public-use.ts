import { clientSite } from "../client-site.ts";
import { Problem } from "../errors.ts";
import { Multiset } from "./multiset.ts";

/**
 * What the runs in flight use that clients without a token requested: of a container, or of a token and all below it. These
 * clients get half of a limit, and one client network gets a share of that half, as do all networks of one site. Otherwise one
 * client could keep every other client from a public task. Entries are deleted with the last run of their network, so there are never more than runs.
 */
export class PublicUse {
  #runs = 0;
  /** The number of runs in each guest. */
  readonly #runsIn = new Multiset<object>();
  /** By network and by site. The site of an IPv4 address is the address itself. */
  readonly #byNetwork: Map<string, NetworkUse> = new Map();

  get runs(): number {
    return this.#runs;
  }

  /** The number of guests that the runs occupy. */
  get guests(): number {
    return this.#runsIn.size;
  }

  /** The number of client networks and sites that have runs. */
  get networks(): number {
    return this.#byNetwork.size;
  }

  /** @param places the limit of runs. @throws {Problem} `container_busy` */
  admitRun(subject: string, places: number, network: string): void {
    const share = publicShare(places);
    if (this.#runs >= share) throw publicProblem(subject, this.#runs, "runs");
    const ofNetwork = this.#byNetwork.get(network)?.runs ?? 0;
    if (ofNetwork >= partOf(share, RUN_PARTS)) throw networkProblem(subject, ofNetwork, "runs");
    const ofSite = this.#byNetwork.get(clientSite(network))?.runs ?? 0;
    if (ofSite >= partOf(share, SITE_RUN_PARTS)) throw networkProblem(subject, ofSite, "runs");
  }

  /**
   * @param places the limit of guests
   * @param guest the guest that would get the run; null for a new guest
   * @throws {Problem} `container_busy`
   */
  admitGuest(subject: string, places: number, network: string, guest: object | null): void {
    const share = publicShare(places);
    const isOccupied = guest !== null && this.#runsIn.has(guest);
    if (!isOccupied && this.guests >= share) throw publicProblem(subject, this.guests, "guests");
    const { runsIn } = this.#byNetwork.get(network) ?? NOTHING;
    if (guest !== null && runsIn.has(guest)) return;
    if (runsIn.size >= partOf(share, GUEST_PARTS)) throw networkProblem(subject, runsIn.size, "guests");
    const ofSite = this.#byNetwork.get(clientSite(network)) ?? NOTHING;
    if (guest !== null && ofSite.runsIn.has(guest)) return;
    if (ofSite.runsIn.size >= partOf(share, SITE_GUEST_PARTS))
      throw networkProblem(subject, ofSite.runsIn.size, "guests");
  }

  /** Counts a run in a guest. */
  add(network: string, guest: object): void {
    this.#runs++;
    this.#runsIn.add(guest);
    for (const name of namesOf(network)) {
      let use = this.#byNetwork.get(name);
      if (!use) this.#byNetwork.set(name, (use = { runs: 0, runsIn: new Multiset() }));
      use.runs++;
      use.runsIn.add(guest);
    }
  }

  /** Reverses one `add` with the same arguments. */
  remove(network: string, guest: object): void {
    this.#runs--;
    this.#runsIn.remove(guest);
    for (const name of namesOf(network)) {
      const use = this.#byNetwork.get(name)!;
      use.runs--;
      use.runsIn.remove(guest);
      if (use.runs === 0) this.#byNetwork.delete(name);
    }
  }
}

function namesOf(network: string): readonly string[] {
  const site = clientSite(network);
  return site === network ? [network] : [network, site];
}

/** Returns the part of a limit that clients without a token may take together. The owner of a public task has the rest. */
export function publicShare(places: number): number {
  return partOf(places, PUBLIC_PARTS);
}

/** Returns the refusal of a run without a token. @param what the unit of the limit, such as "runs" */
export function publicProblem(subject: string, count: number, what: string): Problem {
  const message = `${subject} has ${count} ${what} of clients without a token, which is their limit`;
  return new Problem("container_busy", message, { retryAfterMs: RETRY_MS });
}

/** What the runs of one client network or site use. */
interface NetworkUse {
  runs: number;
  /** The number of these runs in each guest. */
  readonly runsIn: Multiset<object>;
}

/** The divisor of a limit for all clients without a token. */
const PUBLIC_PARTS = 2;
/** The divisor of that share for the runs of one client network. */
const RUN_PARTS = 4;
/** The same for guests. There are few guests, and a quarter would often be a single guest for a network with several tasks. */
const GUEST_PARTS = 2;
/** The same divisors for all networks of one site. */
const SITE_RUN_PARTS = 2;
const SITE_GUEST_PARTS = 4 / 3;
/** Most runs end within milliseconds, but the service cannot predict when the next run ends. */
const RETRY_MS = 1_000;
const NOTHING: NetworkUse = { runs: 0, runsIn: new Multiset() };

function partOf(places: number, parts: number): number {
  return Math.max(1, Math.floor(places / parts));
}

function networkProblem(subject: string, count: number, what: string): Problem {
  const message = `${subject} has ${count} ${what} of clients without a token in your network, which is the limit of one network`;
  return new Problem("container_busy", message, {
    retryAfterMs: RETRY_MS,
    hint:
      "Wait until an earlier run has ended, or use a token. Behind a proxy, all clients are one network until the operator " +
      "names the proxy with --trust-proxy.",
  });
}

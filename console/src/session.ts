import { Caisson, CaissonError, type Claims } from "@caisson/client";
import { computed, signal } from "@preact/signals";

import { tabStorage } from "./tab-storage.ts";

/** The token of this tab. A tab that is closed forgets it. */
const KEY = "caisson.token";

/** A signed-in token. */
export interface Session {
  readonly token: string;
  readonly jti: string;
  readonly claims: Claims;
  readonly client: Caisson;
}

export const session = signal<Session | null>(null);
/** A token of the fragment that waits for a decision, because another token is signed in. */
export const offered = signal<string | null>(null);
/** Why the last session ended, for the page of the sign-in. */
export const farewell = signal<string | null>(null);

export const isAdmin = computed(() => session.value?.claims.admin === true);

/** Whether the token has a verb. */
export function can(verb: string): boolean {
  const claims = session.value?.claims;
  return claims?.admin === true || (claims?.can ?? []).includes(verb as never);
}

/** The one container of a narrow token, or null: its view shows nothing else. */
export const onlyContainer = computed(() => {
  const claims = session.value?.claims;
  const names = claims?.containers ?? [];
  return claims?.admin !== true && names.length === 1 && !names[0]!.endsWith("*") ? names[0]! : null;
});

/** The address of the service, which the page names if the console has a separate origin. Also works behind a path prefix. */
export const serviceUrl: string =
  setting("service") ?? new URL(".", document.baseURI.split("#")[0]).href.replace(/\/$/, "");

/** Returns a setting that the service has written into the page. */
export function setting(name: "service" | "title" | "accent" | "logo" | "nonce"): string | null {
  return document.querySelector(`meta[name="caisson-${name}"]`)?.getAttribute("content") ?? null;
}

/** The client of the session. @throws {Error} if no token is signed in */
export function client(): Caisson {
  if (session.value === null) throw new Error("no token is signed in");
  return session.value.client;
}

/** Signs in with the token of this tab, or of the fragment. */
export async function restore(): Promise<void> {
  const kept = tabStorage.getItem(KEY);
  const given = tokenOfFragment();
  if (kept !== null) {
    await signIn(kept).catch((error: unknown) => {
      noticeRefusal(error);
      farewell.value ??= (error as Error).message;
    });
  }
  addEventListener("hashchange", () => void take(tokenOfFragment()));
  await take(given);
}

/** Signs in with the token of a link, or asks first if another token is signed in. */
async function take(given: string | null): Promise<void> {
  if (given === null || given === session.value?.token) return;
  if (session.value === null) await signIn(given).catch((error: Error) => (farewell.value = error.message));
  else offered.value = given;
}

/** Takes the token out of the fragment, so that it stays neither in the address bar nor in the history. */
function tokenOfFragment(): string | null {
  const token = /^#token=([\w.-]+)/.exec(location.hash)?.[1] ?? null;
  if (token !== null) history.replaceState(null, "", "#/");
  return token;
}

/** @throws {CaissonError} if the service does not accept the token */
export async function signIn(token: string): Promise<void> {
  const jti = jtiOf(token);
  const next = new Caisson({ url: serviceUrl, token });
  const { claims } = await next.tokens.get(jti);
  tabStorage.setItem(KEY, token);
  farewell.value = null;
  session.value = { token, jti, claims, client: next };
}

export function signOut(reason: string | null = null): void {
  tabStorage.removeItem(KEY);
  session.value = null;
  farewell.value = reason;
}

/** Ends the session if the service reports that its token is not valid any more. */
export function noticeRefusal(error: unknown): void {
  if (error instanceof CaissonError && error.code === "token_invalid") signOut(error.detail ?? error.message);
}

/** @throws {Error} if the text is not a token */
function jtiOf(token: string): string {
  try {
    const payload = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    const { jti } = JSON.parse(atob(payload)) as { jti?: unknown };
    if (typeof jti === "string") return jti;
  } catch {
    // Not even the form of a token.
  }
  throw new Error("This text is no token of caisson. A token has three parts with dots between them.");
}

import type { Page } from "playwright-core";

/** Returns what a hostile page tries. Each attempt returns what it has got; a throw is a failure. */
export function attempts(consoleUrl = "/"): string {
  return `({
  sessionStorage: () => sessionStorage.getItem("caisson.token") ?? sessionStorage.length,
  localStorage: () => localStorage.length,
  cookie: () => document.cookie,
  tokens: async () => { const r = await fetch("/api/tokens"); if (!r.ok) throw new Error(r.status); return r.text(); },
  credentials: async () => {
    const r = await fetch("/api/tokens", { credentials: "include" });
    if (!r.ok) throw new Error(r.status);
    return r.text();
  },
  opener: () => { if (!opener) throw new Error("no opener"); return opener.sessionStorage.getItem("caisson.token"); },
  navigateOpener: () => { if (!opener) throw new Error("no opener"); opener.location.href = "/api/run/evil/page"; return 1; },
  top: () => { if (top === self) throw new Error("is top"); return top.sessionStorage.length; },
  popup: () => { const w = open("${consoleUrl}", "console"); if (!w) throw new Error("no popup"); return w.sessionStorage.length; },
  serviceWorker: async () => (await navigator.serviceWorker.register("/api/run/evil/script", { scope: "/api/run/" })).scope,
  worker: () => new Promise((ok, no) => {
    const worker = new Worker("/api/run/evil/script");
    worker.onmessage = ({ data }) => ok(data);
    worker.onerror = () => no(new Error("refused"));
  }),
  sharedWorker: () => new Promise((ok, no) => {
    const { port, onerror } = Object.assign(new SharedWorker("/api/run/evil/script"), { onerror: () => no(new Error("refused")) });
    port.onmessage = ({ data }) => ok(data);
  }),
  frame: () => new Promise((ok, no) => {
    const frame = document.createElement("iframe");
    frame.src = "${consoleUrl}";
    frame.onload = () => { try { ok(frame.contentWindow.sessionStorage.getItem("caisson.token")); } catch (error) { no(error); } };
    document.body.append(frame);
  }),
  script: () => new Promise((ok, no) => {
    const script = document.createElement("script");
    script.src = "/api/run/evil/script";
    script.onload = () => (globalThis.ranScript ? ok("ran") : no(new Error("did not run")));
    script.onerror = () => no(new Error("refused"));
    document.body.append(script);
  }),
  channel: () => { new BroadcastChannel("caisson").postMessage("token?"); throw new Error("no answer"); },
})`;
}

/** The script of a hostile page: it makes all attempts, and leaves what it has got in the title. */
export function hostileScript(consoleUrl = "/"): string {
  return `
  const attempts = ${attempts(consoleUrl)};
  (async () => {
    const got = {};
    for (const [name, attempt] of Object.entries(attempts)) {
      try { got[name] = String(await attempt()); } catch {}
    }
    document.title = "done " + JSON.stringify(got);
  })();`;
}

/** A page of a task that makes all attempts. */
export function hostilePage(consoleUrl = "/"): string {
  return `<!doctype html><title>evil</title><body><script>${hostileScript(consoleUrl)}</script>`;
}

/** Waits until the hostile page has tried everything. @returns what it has got */
export async function spoils(page: Page): Promise<unknown> {
  page.setDefaultTimeout(10_000);
  for (;;) {
    const title = await page.title();
    if (title.startsWith("done ")) {
      await page.close();
      return JSON.parse(title.slice("done ".length));
    }
    await page.waitForTimeout(50);
  }
}

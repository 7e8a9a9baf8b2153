import type { FaultMessage } from "../wire/messages.ts";

const CALLED = /^(c|ctx|context)\.(json|text|html) is not a function/;
/** A function that is the code, with the parameter c. Elsewhere, c may be anything. */
const HAS_C =
  /^[ \t]{0,20}(?:export[ \t]+default[ \t]+|module\.exports[ \t]*=[ \t]*)?(?:async[ \t]*)?(?:function[ \t]*[\w$]{0,64}[ \t]*)?\(?[ \t]*c[ \t]*(?:[,):]|=>)/m;
/** A longer text is not looked at, because other runs of the guest wait meanwhile. */
const MAX_CHARACTERS = 32 * 1024;

/** Returns the hint for code that answers with the context of Hono, or undefined. A call without a value would read a request. Never throws. */
export function honoHint(text: string, { code, error }: FaultMessage): string | undefined {
  try {
    const [, name, method] = (code === "task_threw" && CALLED.exec(error?.message ?? "")) || [];
    if (name === undefined || text.length > MAX_CHARACTERS || (name === "c" && !HAS_C.test(text))) return undefined;
    const givesValue = new RegExp(String.raw`(?<![\w$.])${name}\s*\.\s*${method}\s*\(\s*[^)\s]`).test(text);
    const isOwn = new RegExp(String.raw`\b(?:const|let|var|function|class)\s+${name}\b`).test(text);
    if (!givesValue || isOwn) return undefined;
    return `${name} is the context of caisson, and not that of Hono: return the value, or Response.json(value), or new Response(text).`;
  } catch {
    // A task has replaced a method of texts or patterns.
    return undefined;
  }
}

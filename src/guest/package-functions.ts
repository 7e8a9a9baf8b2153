import type inspector from "node:inspector";

/**
 * Lets V8 list functions of a script, and compile some of them without calling them. Both use V8's debugger, so call them only in
 * guests of the service that end afterwards.
 */

const getBuiltin = process.getBuiltinModule.bind(process);
const LINE_END = /\r\n|[\n\r\u2028\u2029]/g;

type Session = inspector.Session;

/**
 * Returns the ends of the functions of a script that are called meanwhile, as offsets in its text.
 *
 * @param url the URL of the script, which must not be compiled yet
 */
export function calledFunctions(url: string, evaluate: () => void): number[] {
  using session = connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: false });
  evaluate();
  const ends: number[] = [];
  session.post("Profiler.takePreciseCoverage", (_, { result }) => {
    for (const { functions } of result.filter((script) => script.url === url)) {
      for (const { ranges } of functions) if (ranges[0]!.count > 0) ends.push(ranges[0]!.endOffset);
    }
  });
  return ends;
}

/**
 * Compiles functions of a script.
 *
 * @param define makes V8 show the script to its debugger. It must execute nothing of the text.
 * @param ends the ends of the functions. Any other number compiles another function, or none.
 */
export function compileFunctions(url: string, text: string, ends: readonly number[], define: () => void): void {
  using session = connect();
  let scriptId = "";
  session.on("Debugger.scriptParsed", ({ params }) => {
    if (params.url === url) ({ scriptId } = params);
  });
  session.post("Debugger.enable");
  define();
  const starts = [0];
  for (const end of text.matchAll(LINE_END)) starts.push(end.index + end[0].length);
  const sorted = ends.toSorted((a, b) => a - b);
  let line = 0;
  for (const end of sorted) {
    // Before the last character of a function, V8 finds the function and not what surrounds it.
    const at = end - 1;
    while (line + 1 < starts.length && starts[line + 1]! <= at) line += 1;
    const start = { scriptId, lineNumber: line, columnNumber: at - starts[line]! };
    // V8 compiles a function to find where it may stop in it.
    session.post("Debugger.getPossibleBreakpoints", {
      start,
      end: { ...start, columnNumber: start.columnNumber + 1 },
      restrictToFunction: true,
    });
  }
}

function connect(): Session & Disposable {
  const { Session } = getBuiltin("inspector");
  const session = new Session();
  session.connect();
  return Object.assign(session, { [Symbol.dispose]: () => session.disconnect() });
}

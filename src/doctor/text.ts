import type { Report } from "./examine.ts";
import type { Finding } from "./finding.ts";

const COLUMNS = 110;
const WORDS: Readonly<Record<Finding["state"], string>> = { held: "ok", weak: "weak", open: "FAIL" };
const STATE_COLUMNS = 6;
const LAYER_COLUMNS = 20;

/** The report for people: a line a layer, and under it what mends it. No colour, so that it can be sent to others. */
export function reportText(report: Report): string {
  return [...report.findings.flatMap(lines), "", verdict(report), ""].join("\n");
}

function verdict({ ok, isolation, findings }: Report): string {
  if (isolation === "none") return "There is no wall: run no code here that you have not written.";
  const having = (state: Finding["state"]): number => findings.filter((each) => each.state === state).length;
  if (!ok) return `${count(having("open"))} FAIL: the service does not start like this.`;
  const weaker = having("weak") > 0 ? `; ${count(having("weak"))} by weaker means` : "";
  return `The wall holds (isolation ${isolation})${weaker}.`;
}

function lines({ layer, state, proof, remedy }: Finding): string[] {
  const head = WORDS[state].padEnd(STATE_COLUMNS) + layer.padEnd(LAYER_COLUMNS);
  const [first, ...rest] = wrap(proof);
  const more = remedy === undefined ? rest : [...rest, ...wrap(`-> ${remedy}`)];
  return [head + first, ...more.map((line) => " ".repeat(head.length) + line)];
}

function wrap(text: string): string[] {
  const wrapped: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + word.length >= COLUMNS - STATE_COLUMNS - LAYER_COLUMNS) {
      wrapped.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...wrapped, line];
}

function count(layers: number): string {
  return layers === 1 ? "1 layer" : `${layers} layers`;
}

import type { Finding } from "../finding.ts";
import type { Report } from "./examine.ts";

/** The maximum width of a line. */
const COLUMNS = 110;
const LABELS: Readonly<Record<Finding["state"], string>> = { held: "ok", weak: "weak", open: "FAIL" };
const STATE_COLUMNS = 6;
const LAYER_COLUMNS = 20;

/** Returns the report as text: a line for each layer, followed by its remedy. Without colours, so that it can be copied. */
export function reportText(report: Report): string {
  return [...report.findings.flatMap(lines), "", verdict(report), ""].join("\n");
}

function verdict({ ok, isolation, findings }: Report): string {
  if (isolation === "none") return "There is no sandbox: run only code that you have written.";
  const numberOf = (state: Finding["state"]): number => findings.filter((each) => each.state === state).length;
  if (!ok) return `${count(numberOf("open"))} FAIL: the service does not start like this.`;
  const weaker = numberOf("weak") > 0 ? `; ${count(numberOf("weak"))} by weaker mechanisms` : "";
  return `The sandbox holds (isolation ${isolation})${weaker}.`;
}

function lines({ layer, state, proof, remedy }: Finding): string[] {
  const head = LABELS[state].padEnd(STATE_COLUMNS) + layer.padEnd(LAYER_COLUMNS);
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

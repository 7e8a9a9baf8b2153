import { type ChangeDesc, type Extension, MapMode, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, gutter, GutterMarker } from "@codemirror/view";

/** A fault to mark in the text. */
export interface Mark {
  readonly line: number;
  readonly message: string;
}

/** The source of a mark: the last run, or the check of the text while the reader types. */
export type MarkSource = "run" | "typing";

/** Replaces the marks of a source. */
export const setMarks = StateEffect.define<{ readonly source: MarkSource; readonly marks: readonly Mark[] }>();

interface PlacedMark {
  readonly source: MarkSource;
  /** The beginning of the line. It moves when the text before it changes. */
  readonly from: number;
  readonly message: string;
}

const placed = StateField.define<readonly PlacedMark[]>({
  create: () => [],
  update: (before, { changes, effects, docChanged, state }) => {
    const moved = docChanged ? before.flatMap((mark) => movedMark(mark, changes)) : before;
    const set = effects.filter((each) => each.is(setMarks));
    return set.reduce<readonly PlacedMark[]>(
      (marks, { value: { source, marks: own } }) => [
        ...marks.filter((mark) => mark.source !== source),
        ...own.filter(({ line }) => line >= 1 && line <= state.doc.lines).map((mark) => place(mark, source, state.doc)),
      ],
      moved,
    );
  },
  provide: (field) => EditorView.decorations.from(field, linesOf),
});

/** A column with a sign at each marked line, whose accessible name is `error on line N`. */
export const MARKS: Extension = [
  placed,
  gutter({
    class: "cm-marks",
    lineMarker: (view, { from, to }) => {
      const marks = view.state.field(placed).filter((mark) => mark.from >= from && mark.from <= to);
      if (marks.length === 0) return null;
      return new ErrorMarker(view.state.doc.lineAt(from).number, marks.map(({ message }) => message).join("\n"));
    },
    lineMarkerChange: ({ state, startState }) => state.field(placed) !== startState.field(placed),
    initialSpacer: () => new Spacer(),
  }),
];

function place({ line, message }: Mark, source: MarkSource, doc: Text): PlacedMark {
  return { source, from: doc.line(line).from, message };
}

/** Returns nothing if the line of the mark was deleted. */
function movedMark(mark: PlacedMark, changes: ChangeDesc): PlacedMark[] {
  const from = changes.mapPos(mark.from, 1, MapMode.TrackDel);
  return from === null ? [] : [{ ...mark, from }];
}

const FAULTY_LINE = Decoration.line({ class: "error-line" });

function linesOf(marks: readonly PlacedMark[]): DecorationSet {
  const starts = [...new Set(marks.map(({ from }) => from))].toSorted((a, b) => a - b);
  return Decoration.set(starts.map((from) => FAULTY_LINE.range(from)));
}

class ErrorMarker extends GutterMarker {
  readonly line: number;
  readonly message: string;

  constructor(line: number, message: string) {
    super();
    this.line = line;
    this.message = message;
  }

  override eq(other: ErrorMarker): boolean {
    return other.line === this.line && other.message === this.message;
  }

  override toDOM(): Node {
    const sign = document.createElement("span");
    sign.className = "error-mark";
    sign.setAttribute("role", "img");
    sign.setAttribute("aria-label", `error on line ${this.line}`);
    sign.title = this.message;
    sign.textContent = "●";
    return sign;
  }
}

class Spacer extends GutterMarker {
  override toDOM(): Node {
    return document.createTextNode(" ");
  }
}

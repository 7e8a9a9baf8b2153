import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  gutter,
  GutterMarker,
  highlightActiveLine,
  keymap,
  lineNumbers,
  placeholder,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

import { setting } from "../session.ts";
import { completeNames } from "./complete-names.ts";

/** A fault to mark in the text. */
export interface Mark {
  readonly line: number;
  readonly message: string;
}

export interface EditorProps {
  readonly label: string;
  /** The text at first, and when `revision` changes. In between, the reader changes it. */
  readonly value: string;
  readonly revision?: number | string;
  readonly hint?: string;
  readonly mark?: Mark | null;
  readonly isReadOnly?: boolean;
  readonly onChange?: (value: string) => void;
  /** Called on Ctrl-Enter and Cmd-Enter. */
  readonly onRun?: () => void;
}

const setMark = StateEffect.define<Mark | null>();

/** An editor for JavaScript and TypeScript. Escape and then Tab leaves it, because Tab alone indents. */
export default function Editor({
  label,
  value,
  revision,
  hint,
  mark = null,
  isReadOnly = false,
  onChange,
  onRun,
}: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const calls = useRef({ onChange, onRun });
  calls.current = { onChange, onRun };
  useEffect(() => {
    const run = (): boolean => {
      calls.current.onRun?.();
      return true;
    };
    const view = new EditorView({
      parent: place.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          keymap.of([{ key: "Mod-Enter", run, preventDefault: true }]),
          lineNumbers(),
          markField,
          markGutter,
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          autocompletion({ override: [completeNames] }),
          javascript({ typescript: true }),
          syntaxHighlighting(COLOURS),
          EditorView.lineWrapping,
          EditorState.readOnly.of(isReadOnly),
          ...(hint === undefined ? [] : [placeholder(hint)]),
          EditorView.cspNonce.of(setting("nonce") ?? ""),
          EditorView.contentAttributes.of({ "aria-label": label }),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) calls.current.onChange?.(update.state.doc.toString());
          }),
          THEME,
        ],
      }),
    });
    // The marks have names for a screen reader, so only the line numbers are hidden from it.
    view.dom.querySelector(".cm-gutters")?.removeAttribute("aria-hidden");
    view.dom.querySelector(".cm-lineNumbers")?.setAttribute("aria-hidden", "true");
    editor.current = view;
    return () => view.destroy();
  }, [label, isReadOnly]);
  useEffect(() => {
    const view = editor.current!;
    const text = view.state.doc.toString();
    if (text !== value) view.dispatch({ changes: { from: 0, to: text.length, insert: value } });
  }, [revision]);
  useEffect(() => {
    editor.current!.dispatch({ effects: setMark.of(mark) });
  }, [mark?.line, mark?.message]);
  return <div class="editor" ref={place} />;
}

class ErrorMarker extends GutterMarker {
  readonly mark: Mark;

  constructor(mark: Mark) {
    super();
    this.mark = mark;
  }

  override eq(other: ErrorMarker): boolean {
    return other.mark.line === this.mark.line && other.mark.message === this.mark.message;
  }

  override toDOM(): Node {
    const sign = document.createElement("span");
    sign.className = "error-mark";
    sign.setAttribute("role", "img");
    sign.setAttribute("aria-label", `error on line ${this.mark.line}`);
    sign.title = this.mark.message;
    sign.textContent = "●";
    return sign;
  }
}

interface Marked {
  readonly markers: RangeSet<GutterMarker>;
  readonly lines: DecorationSet;
}

const NONE: Marked = { markers: RangeSet.empty, lines: Decoration.none };
const FAULTY_LINE = Decoration.line({ class: "error-line" });

/** The mark stays at its line while the text changes, until the next run. */
const markField = StateField.define<Marked>({
  create: () => NONE,
  update: (marked, { changes, effects, state }) => {
    const moved = { markers: marked.markers.map(changes), lines: marked.lines.map(changes) };
    const effect = effects.find((each) => each.is(setMark));
    if (!effect) return moved;
    const mark = effect.value;
    if (mark === null || mark.line < 1 || mark.line > state.doc.lines) return NONE;
    const { from } = state.doc.line(mark.line);
    return {
      markers: RangeSet.of([new ErrorMarker(mark).range(from)]),
      lines: Decoration.set([FAULTY_LINE.range(from)]),
    };
  },
  provide: (field) => EditorView.decorations.from(field, ({ lines }) => lines),
});

const markGutter = gutter({
  class: "cm-marks",
  markers: (view) => view.state.field(markField).markers,
  initialSpacer: () =>
    new (class extends GutterMarker {
      override toDOM(): Node {
        return document.createTextNode(" ");
      }
    })(),
});

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.className], color: "var(--code-type)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--code-function)" },
]);

const THEME = EditorView.theme({
  "&": { fontSize: "13.5px", backgroundColor: "var(--raised)", color: "var(--ink)" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0.6rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--quiet)", border: "0" },
  ".cm-activeLine": { backgroundColor: "var(--active-line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
});

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

import { headOf } from "../format.ts";
import { setting } from "../session.ts";
import { completeNames } from "./complete-names.ts";
import { type Mark, MARKS, setMarks } from "./editor-marks.ts";

export interface EditorProps {
  readonly label: string;
  /** The text at first, and when `revision` changes. In between, the reader changes it. */
  readonly value: string;
  readonly revision?: number | string;
  readonly hint?: string;
  /** The line of the error of the last run. */
  readonly mark?: Mark | null;
  /** The line at which the text of the editor does not parse. */
  readonly fault?: Mark | null;
  readonly isReadOnly?: boolean;
  readonly onChange?: (value: string) => void;
  /** Called on Ctrl-Enter and Cmd-Enter. */
  readonly onRun?: () => void;
}

/** An editor for JavaScript and TypeScript. Escape and then Tab leaves it, because Tab alone indents. */
export default function Editor({
  label,
  value,
  revision,
  hint,
  mark = null,
  fault = null,
  isReadOnly = false,
  onChange,
  onRun,
}: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  /** Whether the page, and not the reader, changes the text. */
  const isReplaced = useRef(false);
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
          MARKS,
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          autocompletion({ override: [completeNames], icons: false }),
          javascript({ typescript: true }),
          syntaxHighlighting(COLOURS),
          EditorView.lineWrapping,
          EditorState.readOnly.of(isReadOnly),
          ...(hint === undefined ? [] : [placeholder(hint)]),
          EditorView.cspNonce.of(setting("nonce") ?? ""),
          EditorView.contentAttributes.of({ "aria-label": label }),
          keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !isReplaced.current) calls.current.onChange?.(update.state.doc.toString());
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
    if (text === value) return;
    isReplaced.current = true;
    view.dispatch({ changes: { from: 0, to: text.length, insert: value } });
    isReplaced.current = false;
  }, [revision]);
  useEffect(() => {
    editor.current!.dispatch({ effects: setMarks.of({ source: "run", marks: mark === null ? [] : [mark] }) });
  }, [mark?.line, mark?.message, label, isReadOnly]);
  useEffect(() => {
    editor.current!.dispatch({ effects: setMarks.of({ source: "typing", marks: fault === null ? [] : [fault] }) });
  }, [fault, label, isReadOnly]);
  return (
    <>
      <div class="editor" ref={place} />
      <p class="fault" role="status">
        {fault !== null && `Line ${fault.line}: ${headOf(fault.message)}`}
      </p>
    </>
  );
}

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
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0.6rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--quiet)", border: "0" },
  ".cm-activeLine": { backgroundColor: "var(--active-line)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selection)",
  },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "19em" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
});

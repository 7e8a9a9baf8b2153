import type { TokenRequest } from "@caisson/client";
import { useSignal } from "@preact/signals";

import { type Preset, PRESETS } from "../../../src/tokens/presets.ts";
import { useAct } from "../act.ts";
import { client, serviceUrl, session } from "../session.ts";
import { describe } from "../token-words.ts";
import { ActNote } from "./act-note.tsx";
import { CopyButton } from "./copy-button.tsx";
import { Choice, Field } from "./field.tsx";

/** The pattern of a number of runs. The form is not sent while a field does not match. */
const COUNT = "[1-9][0-9]*";
const VERBS = ["run", "limits", "logs", "tasks", "issue"] as const;
type Verb = (typeof VERBS)[number];

interface Form {
  readonly containers: string;
  readonly can: readonly Verb[];
  readonly expiresIn: string;
  readonly minute: string;
  readonly day: string;
  readonly timeout: string;
  readonly net: string;
  readonly packages: string;
  readonly description: string;
}

interface IssueTokenProps {
  readonly container: string;
  readonly onIssued: () => void;
}

/** A form that states in plain words what the new token may do. The token is shown once. */
export function IssueToken({ container, onIssued }: IssueTokenProps) {
  const form = useSignal<Form>({ ...EMPTY, containers: container });
  const issued = useSignal<string | null>(null);
  const act = useAct();
  const change = (changes: Partial<Form>): void => void (form.value = { ...form.value, ...changes });
  const request = requestOf(form.value);
  const submit = (event: Event): void => {
    event.preventDefault();
    issued.value = null;
    void act.run(async () => {
      const { token } = await client().tokens.issue(request);
      issued.value = token;
      onIssued();
      return "The token is shown once. Copy it now.";
    });
  };
  const usable = VERBS.filter((verb) => session.value?.claims.admin || session.value?.claims.can.includes(verb));
  return (
    <section class="card" aria-label="Issue a token">
      <h2>Issue a token</h2>
      <form class="columns" onSubmit={submit}>
        <div class="fields">
          <Choice
            label="Preset"
            value=""
            choices={{
              "": "Choose a preset",
              ...Object.fromEntries(Object.entries(PRESETS).map(([key, { does }]) => [key, `${key}: ${does}`])),
            }}
            onChange={(key) => {
              const preset = PRESETS[key];
              if (preset) change(formOf(preset));
            }}
          />
          <Field
            label="Containers"
            hint="names with commas between them; acme-* is every name that begins with acme-"
            isRequired
            value={form.value.containers}
            onInput={(value) => change({ containers: value })}
          />
          <fieldset>
            <legend>It may</legend>
            <div class="actions">
              {usable.map((verb) => (
                <label key={verb}>
                  <input
                    type="checkbox"
                    checked={form.value.can.includes(verb)}
                    onChange={(event) =>
                      change({
                        can: event.currentTarget.checked
                          ? [...form.value.can, verb]
                          : form.value.can.filter((each) => each !== verb),
                      })
                    }
                  />{" "}
                  {verb}
                </label>
              ))}
            </div>
          </fieldset>
          <div class="pairs">
            <Field
              label="Runs a minute"
              value={form.value.minute}
              pattern={COUNT}
              hint="a whole number"
              onInput={(value) => change({ minute: value })}
            />
            <Field
              label="Runs a day"
              value={form.value.day}
              pattern={COUNT}
              hint="a whole number"
              onInput={(value) => change({ day: value })}
            />
            <Field
              label="Ends after"
              value={form.value.expiresIn}
              hint="such as 12h, 30d"
              onInput={(value) => change({ expiresIn: value })}
            />
            <Field
              label="Timeout of a run"
              value={form.value.timeout}
              hint="such as 5s"
              onInput={(value) => change({ timeout: value })}
            />
          </div>
          <Field
            label="Hosts that its code reaches"
            hint="names with commas; the word none for no network; empty for all that the service permits"
            value={form.value.net}
            onInput={(value) => change({ net: value })}
          />
          <Field
            label="Packages that its code imports"
            hint="such as zod, @acme/*; the word none for no package; empty for all that the service permits"
            value={form.value.packages}
            onInput={(value) => change({ packages: value })}
          />
          <Field
            label="Description"
            value={form.value.description}
            onInput={(value) => change({ description: value })}
          />
        </div>
        <div class="fields">
          <h3>What this token may do</h3>
          <ul>
            {describe(request).map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
          <div class="actions">
            <button type="submit" class="primary" disabled={act.isBusy}>
              Issue token
            </button>
          </div>
          <ActNote of={act} />
          {issued.value !== null && (
            <>
              <pre class="result" tabIndex={0} aria-label="The new token">
                {issued.value}
              </pre>
              <div class="actions">
                <CopyButton text={issued.value}>Copy token</CopyButton>
                <CopyButton text={`${serviceUrl}/#token=${issued.value}`}>Copy a link to this console</CopyButton>
              </div>
            </>
          )}
        </div>
      </form>
    </section>
  );
}

const EMPTY: Form = {
  containers: "",
  can: ["run", "limits"],
  expiresIn: "24h",
  minute: "",
  day: "",
  timeout: "",
  net: "",
  packages: "",
  description: "",
};

function formOf({ can, expiresIn, limits, timeout = "", net }: Preset): Partial<Form> {
  return {
    can,
    expiresIn,
    minute: String(limits?.minute ?? ""),
    day: String(limits?.day ?? ""),
    timeout,
    net: net === false ? "none" : "",
  };
}

function requestOf({
  containers,
  can,
  expiresIn,
  minute,
  day,
  timeout,
  net,
  packages,
  description,
}: Form): TokenRequest {
  const limits = { ...(isCount(minute) && { minute: Number(minute) }), ...(isCount(day) && { day: Number(day) }) };
  return {
    containers: listOf(containers),
    can: [...can],
    ...(expiresIn !== "" && { expiresIn }),
    ...(Object.keys(limits).length > 0 && { limits: { token: limits } }),
    ...(timeout !== "" && { timeout }),
    ...(net.trim() !== "" && { net: narrowed(net) }),
    ...(packages.trim() !== "" && { packages: narrowed(packages) }),
    ...(description !== "" && { description }),
  };
}

/** Returns the names of a text, or false for the word `none`. */
function narrowed(text: string): false | string[] {
  return text.trim() === "none" ? false : listOf(text);
}

function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((each) => each !== "");
}

function isCount(text: string): boolean {
  return new RegExp(`^${COUNT}$`).test(text);
}

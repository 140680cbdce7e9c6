import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/copy.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { Labels } from '../parts/field.tsx';
import { useForm } from '../parts/form.ts';
import { Icon } from '../parts/icon.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toast } from '../parts/toast.tsx';
import { Problem } from '../problem.ts';
import { session } from '../session.ts';
import type { Reach, StoredRules } from './rules-api.ts';

interface RulesEditorProps {
  /** What they are rules of. */
  readonly of: string;
  readonly first: StoredRules;
  /** The stored rules. */
  readonly rules: StoredRules;
  readonly hint: string;
  readonly example: object;
  readonly caption: string;
  /** @param rules null: remove them */
  readonly save: (rules: unknown, signal: AbortSignal) => Promise<StoredRules>;
  readonly onSaved: (rules: StoredRules) => void;
  /** @param text of the field, saved or not */
  readonly preview: (text: string) => ComponentChildren;
}

/** Rules that were written and not saved, by the account and what they are rules of: other pages don't lose them. */
const drafts = new Map<string, string>();

/** The field for rules, their warnings, and what they allow. */
export function RulesEditor(props: RulesEditorProps): JSX.Element {
  const { of, first, rules, hint, example, caption, save, onSaved, preview } = props;
  const draft = `${session.value?.acting?.id} ${of}`;
  const [stored, setStored] = useState(textOf(first));
  const [text, setText] = useState(drafts.get(draft) ?? stored);
  const write = (next: string): void => {
    setText(next);
    if (next === stored) drafts.delete(draft);
    else drafts.set(draft, next);
  };
  const form = useForm(async (signal) => {
    onSaved(await save(text.trim() === '' ? null : jsonOf(text, 'The rules'), signal));
    setStored(text);
    drafts.delete(draft);
    toast('Rules saved. They apply at once.');
  });
  return (
    <>
      <form class="stack" onSubmit={form.submit}>
        <JsonField label="Rules" hint={hint} rows={14} value={text} onInput={write} />
        <details>
          <summary>An example</summary>
          <CodeBlock code={JSON.stringify(example, null, 2)} label="Copy the example" />
        </details>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <div class="row">
          <Button kind="primary" type="submit" busy={form.busy}>
            Save the rules
          </Button>
          {text !== stored && <Button onClick={() => write(stored)}>Discard the changes</Button>}
        </div>
      </form>
      {rules.warnings.length > 0 && (
        <div class="note">
          <Icon name="warning" />
          <ul aria-label="Warnings">
            {rules.warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </div>
      )}
      {rules.rules !== null && (
        <DataTable
          caption={caption}
          columns={reachColumns(rules)}
          rows={Object.keys(rules.stranger)}
          rowKey={(name) => name}
        />
      )}
      {preview(text)}
    </>
  );
}

function textOf({ rules }: StoredRules): string {
  return rules === null ? '' : JSON.stringify(rules, null, 2);
}

function reachColumns({ stranger, user }: StoredRules): readonly Column<string>[] {
  return [
    { label: 'Operation', cell: (name) => name },
    { label: 'Not logged in', cell: (name) => reachText(stranger[name]) },
    { label: 'Logged in', cell: (name) => reachText(user[name]) },
  ];
}

function reachText(reach: Reach[string] | undefined): string {
  return typeof reach === 'object' ? `where ${reach.where}` : (reach ?? 'none');
}

interface JsonFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly rows: number;
  readonly value: string;
  readonly onInput: (text: string) => void;
}

export function JsonField({ rows, value, onInput, ...labels }: JsonFieldProps): JSX.Element {
  return (
    <Labels required {...labels}>
      {(ids) => (
        <textarea
          class="mono"
          spellcheck={false}
          {...ids}
          {...{ rows, value }}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Labels>
  );
}

/** Throws a Problem unless the text is JSON. */
export function jsonOf(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Problem(`${what} should be JSON: ${(error as Error).message}`);
  }
}

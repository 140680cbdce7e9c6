import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { useFields, useForm } from '../parts/form.ts';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import type { PageProps } from '../router.ts';
import { SpacePage } from './frames.tsx';
import { getSpace } from './projects-api.ts';
import { findUser, getRules, type RuleTrial, type StoredRules, setRules, tryRules } from './rules-api.ts';
import { JsonField, jsonOf, RulesEditor } from './rules-editor.tsx';

const operations = Object.entries({
  find: 'find records',
  insert: 'insert this record',
  update: 'change records to this',
  delete: 'delete records',
});

const example = {
  find: { $or: [{ public: true }, { owner: '$user.id' }] },
  insert: { owner: '$user.id' },
  update: { owner: '$user.id' },
  set: { owner: '$user.id' },
};

/** Who may do what with the records of a space, and what a certain user would see. */
export function RulesPage({ params: { project = '', space = '' } }: PageProps): JSX.Element {
  const structure = useLoad((signal) => getSpace(project, space, signal), [project, space]);
  const loaded = useLoad((signal) => getRules(project, space, signal), [project, space]);
  const [saved, setSaved] = useState<StoredRules | null>(null);
  const rules = saved ?? loaded.data;
  return (
    <SpacePage
      {...{ project, space, structure: structure.data }}
      current="Rules"
      intro="Rules limit web pages with a publishable token, and servers that act for a user. They do not apply to other access tokens."
    >
      {loaded.problem !== null && <ProblemNote problem={loaded.problem} onRetry={loaded.reload} />}
      {loaded.data !== null && rules !== null && (
        <RulesEditor
          key={`${project}/${space}`}
          of={`${project}/${space}`}
          {...{ rules, example }}
          first={loaded.data}
          hint="JSON with find, insert, update and delete: conditions, or true for all records. Empty: no rules, and publishable tokens can't reach this space."
          caption={`Who may do what in ${space}`}
          save={(given, signal) => setRules(project, space, given, signal)}
          onSaved={setSaved}
          preview={(text) => <PreviewRules {...{ project, space, text }} stored={rules} />}
        />
      )}
    </SpacePage>
  );
}

/** Tries the rules in the text field, saved or not. */
function PreviewRules({
  project,
  space,
  text: rules,
  stored,
}: {
  project: string;
  space: string;
  text: string;
  stored: StoredRules;
}): JSX.Element {
  const { values, text } = useFields({ user: '', operation: 'find', record: '' });
  const [records, setRecords] = useState<readonly RuleTrial[] | null>(null);
  const { user, operation, record } = values;
  const hasRecord = operation === 'insert' || operation === 'update';
  const form = useForm(async (signal) => {
    setRecords(null);
    const tried = rules.trim() === '' ? undefined : jsonOf(rules, 'The rules');
    const { users } = (tried ?? stored.rules ?? {}) as { readonly users?: string };
    const trial = {
      operation,
      user: user.trim() === '' ? null : await findUser({ project, users }, user.trim(), signal),
      ...(tried === undefined ? {} : { rules: tried }),
      ...(hasRecord && record.trim() !== '' ? { record: jsonOf(record, 'The record') } : {}),
    };
    setRecords((await tryRules(project, space, trial, signal)).records);
  }, stored);
  return (
    <section class="stack" aria-labelledby="preview-rules">
      <h2 id="preview-rules">Preview the rules</h2>
      <form class="stack" onSubmit={form.submit}>
        <TextField
          label="User"
          hint="The id of a user, or a value that only this user has, such as name=ada. Empty: not logged in."
          maxLength={200}
          mono
          {...text('user')}
        />
        <SelectField label="Operation" options={operations} {...text('operation')} />
        {hasRecord && (
          <JsonField label="Record" hint="JSON: the fields and their values." rows={4} {...text('record')} />
        )}
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <div class="row">
          <Button type="submit" busy={form.busy}>
            Try the rules
          </Button>
        </div>
      </form>
      {records !== null && (
        <DataTable
          caption="What the user may do"
          columns={triedColumns}
          rows={records}
          rowKey={({ id }) => id ?? 'new'}
        />
      )}
    </section>
  );
}

const triedColumns: readonly Column<RuleTrial>[] = [
  { label: 'Record', cell: ({ id }) => <code>{id ?? 'new record'}</code> },
  { label: 'Allowed', cell: ({ allowed }) => (allowed ? 'yes' : 'no') },
  { label: 'Why', cell: ({ why }) => why.join('; ') },
  {
    label: 'Visible as',
    cell: ({ record }) => (record === null ? '–' : <code>{JSON.stringify(record).slice(0, 200)}</code>),
  },
];

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { useFields, useForm } from '../parts/form.ts';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Problem } from '../problem.ts';
import { ProjectPage } from '../projects/frames.tsx';
import { findUser, type StoredRules } from '../projects/rules-api.ts';
import { jsonOf, RulesEditor } from '../projects/rules-editor.tsx';
import type { PageProps } from '../router.ts';
import { getFileRules, type SeenFile, seeFiles, seeUpload, setFileRules } from './file-rules-api.ts';

const own = { owner: '$user.id' };
const example = {
  upload: own,
  read: { $or: [own, { contentType: { startsWith: 'image/' } }] },
  list: own,
  delete: own,
  maxBytes: 5_000_000,
  types: ['image/', 'application/pdf'],
  webhooks: [{ url: 'https://hooks.example.com/files', events: ['file.created', 'file.deleted'] }],
};

const views = Object.entries({ files: 'the newest files', upload: 'a file to upload' });

/** Who may do what with the files of a project, and what a certain user would see. */
export function FileRulesPage({ params: { project = '' } }: PageProps): JSX.Element {
  const loaded = useLoad((signal) => getFileRules(project, signal), [project]);
  const [saved, setSaved] = useState<StoredRules | null>(null);
  const rules = saved ?? loaded.data;
  return (
    <ProjectPage
      project={project}
      current="File rules"
      intro="Rules limit web pages with a publishable token, and servers that act for a user. They do not apply to other access tokens."
    >
      {loaded.problem !== null && <ProblemNote problem={loaded.problem} onRetry={loaded.reload} />}
      {loaded.data !== null && rules !== null && (
        <RulesEditor
          key={project}
          of={project}
          {...{ rules, example }}
          first={loaded.data}
          hint="JSON with upload, read, list and delete: conditions, or true for all files; and webhooks: addresses to call. Empty: no rules, and publishable tokens can't reach files."
          caption={`Who may do what with the files of ${project}`}
          save={(given, signal) => setFileRules(project, given, signal)}
          onSaved={setSaved}
          preview={(text) => <SeeAs {...{ project, text }} stored={rules} />}
        />
      )}
    </ProjectPage>
  );
}

interface SeeAsProps {
  readonly project: string;
  /** Of rules, saved or not. */
  readonly text: string;
  /** What was stored last. */
  readonly stored: StoredRules;
}

/** Tries the rules in the text field as a user. */
function SeeAs({ project, text: rules, stored }: SeeAsProps): JSX.Element {
  const { values, text } = useFields({
    user: '',
    view: 'files',
    name: 'photo.png',
    type: 'image/png',
    size: '1000',
  });
  const [seen, setSeen] = useState<Seen | null>(null);
  const { user, view, name, type, size } = values;
  const form = useForm(async (signal) => {
    setSeen(null);
    const tried = rules.trim() === '' ? undefined : jsonOf(rules, 'The rules');
    const { users } = (tried ?? stored.rules ?? {}) as { readonly users?: string };
    const viewer = {
      user: user.trim() === '' ? null : await findUser({ project, users }, user.trim(), signal),
      ...(tried === undefined ? {} : { rules: tried }),
    };
    const files =
      view === 'upload'
        ? await seeUpload(
            project,
            { ...viewer, file: { originalName: name, contentType: type, size: bytesOf(size) } },
            signal,
          )
        : await seeFiles(project, viewer, signal);
    setSeen({ files, view });
  }, stored);
  return (
    <section class="stack" aria-labelledby="see-as">
      <h2 id="see-as">Preview the rules</h2>
      <form class="stack" onSubmit={form.submit}>
        <TextField
          label="User"
          hint="The id of a user, or a value that only this user has, such as name=ada. Empty: not logged in."
          maxLength={200}
          mono
          {...text('user')}
        />
        <SelectField label="Show" options={views} {...text('view')} />
        {view === 'upload' && (
          <>
            <TextField required label="Name" maxLength={200} {...text('name')} />
            <TextField required label="Media type" maxLength={200} {...text('type')} />
            <TextField required label="Bytes" maxLength={16} inputMode="numeric" {...text('size')} />
          </>
        )}
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <div class="row">
          <Button type="submit" busy={form.busy}>
            Try the rules
          </Button>
        </div>
      </form>
      {seen !== null && <SeenFiles {...seen} />}
    </section>
  );
}

function bytesOf(text: string): number {
  if (/^\d{1,15}$/.test(text.trim())) return Number(text);
  throw new Problem('Bytes should be a whole number, such as 1000.');
}

interface Seen {
  readonly files: readonly SeenFile[];
  /** A key of `views`. */
  readonly view: string;
}

function SeenFiles({ files, view }: Seen): JSX.Element {
  if (files.length === 0) return <p>The project has no files.</p>;
  return (
    <DataTable
      caption="What the user may do"
      columns={view === 'upload' ? uploadColumns : fileColumns}
      rows={files}
      rowKey={({ name }) => name ?? 'new'}
    />
  );
}

const nameColumn: Column<SeenFile> = {
  label: 'File',
  // the id before the original name matters to nobody
  cell: ({ name }) =>
    name === null ? 'new file' : <span title={name}>{name.slice(name.indexOf('_') + 1)}</span>,
};
const whyColumn: Column<SeenFile> = {
  label: 'Why',
  cell: ({ why }) => (
    <div>
      {why.map((reason) => (
        <div key={reason}>{reason}</div>
      ))}
    </div>
  ),
};
const fileColumns = [
  nameColumn,
  may('list', 'Listed'),
  may('read', 'Read'),
  may('delete', 'Delete'),
  whyColumn,
];
const uploadColumns = [nameColumn, may('upload', 'Upload'), whyColumn];

function may(operation: string, label: string): Column<SeenFile> {
  return { label, cell: ({ allowed }) => (allowed[operation] === true ? 'yes' : 'no') };
}

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button, IconButton } from '../parts/button.tsx';
import { confirmed } from '../parts/confirm.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { navigate, to } from '../router.ts';
import type { PageProps } from '../routes.tsx';
import { dropSpaceIfConfirmed } from './drop-space.tsx';
import { FieldDialog } from './field-dialog.tsx';
import { changeStructure, dropField, getSpace } from './projects-api.ts';
import { SpaceDialog } from './space-dialog.tsx';
import { type Field, hasDefault } from './structure.ts';
import { SpaceTabs } from './tabs.tsx';

type Flag = 'required' | 'unique';

/** Fields of a record space: what they are, and what may be changed. */
export function StructurePage({ params: { project = '', space = '' } }: PageProps): JSX.Element {
  const loaded = useLoad((signal) => getSpace(project, space, signal), [project, space]);
  const [edited, setEdited] = useState<Field | 'new' | 'space' | null>(null);
  const [changing, setChanging] = useState<string | null>(null);
  const structure = loaded.data;

  /** Sets a flag, and offers to set it back. */
  const setFlag = async (field: Field, flag: Flag, value: boolean, undo = false): Promise<void> => {
    if (structure === null || changing !== null) return;
    setChanging(field.slug);
    try {
      await changeStructure(project, structure, [{ ...field, [flag]: value }]);
      const text = `${field.name} is ${value ? flag : `not ${flag}`} now.`;
      const back = {
        label: 'Undo',
        run: () => void setFlag({ ...field, [flag]: value }, flag, !value, true),
      };
      toast(text, undo ? {} : { action: back });
    } catch (thrown) {
      toastProblem(thrown);
    } finally {
      setChanging(null);
      loaded.reload();
    }
  };

  const drop = async (field: Field): Promise<void> => {
    const dropped = await confirmed({
      title: `Drop the field ${field.name}?`,
      body: <p>This deletes the field and all its values. It can’t be undone.</p>,
      confirm: 'Drop the field',
      typed: field.name,
      run: () => dropField(project, space, field.slug),
      done: `The field ${field.name} is dropped.`,
    });
    if (dropped) loaded.reload();
  };
  const dropAll = async (): Promise<void> => {
    if (await dropSpaceIfConfirmed(project, space)) navigate(to`/projects/${project}`);
  };
  const saved = (): void => {
    setEdited(null);
    loaded.reload();
  };

  const addButton = (
    <Button kind="primary" onClick={() => setEdited('new')} disabled={structure === null}>
      <Icon name="plus" /> Add a field
    </Button>
  );
  const actions = { setFlag, drop, edit: setEdited };
  return (
    <Page
      title={structure?.name || space}
      crumbs={[
        { label: 'Projects', href: to`/projects` },
        { label: project, href: to`/projects/${project}` },
      ]}
      intro={structure?.description || undefined}
      actions={
        <>
          <Button onClick={() => setEdited('space')} disabled={structure === null}>
            <Icon name="edit" /> Edit the record space
          </Button>
          {addButton}
        </>
      }
    >
      <SpaceTabs project={project} space={space} current="structure" />
      {loaded.problem !== null && <ProblemNote problem={loaded.problem} onRetry={loaded.reload} />}
      {structure?.fields.length === 0 ? (
        <EmptyState icon="projects" title="No fields yet">
          <p>Add the fields that a record of this space has. Each has a name and a type.</p>
          {addButton}
        </EmptyState>
      ) : (
        loaded.problem === null && (
          <DataTable
            caption={`Fields of ${space}`}
            columns={fieldColumns(actions)}
            rows={structure?.fields ?? null}
            rowKey={({ slug }) => slug}
          />
        )
      )}
      {structure !== null && (
        <div class="row apart">
          <p class="quiet">Dropping the record space deletes all its records.</p>
          <Button onClick={() => void dropAll()}>
            <Icon name="trash" /> Drop the record space
          </Button>
        </div>
      )}
      {structure !== null && edited === 'space' && (
        <SpaceDialog project={project} space={structure} onClose={() => setEdited(null)} onSaved={saved} />
      )}
      {structure !== null && edited !== null && edited !== 'space' && (
        <FieldDialog
          project={project}
          structure={structure}
          field={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
          onSaved={saved}
        />
      )}
    </Page>
  );
}

interface FieldActions {
  readonly setFlag: (field: Field, flag: Flag, value: boolean) => Promise<void>;
  readonly drop: (field: Field) => Promise<void>;
  readonly edit: (field: Field) => void;
}

function fieldColumns({ setFlag, drop, edit }: FieldActions): readonly Column<Field>[] {
  const flagColumn = (flag: Flag, label: string): Column<Field> => ({
    key: flag,
    label,
    cell: (field) => (
      <input
        type="checkbox"
        aria-label={`${field.name} is ${flag}`}
        checked={field[flag]}
        disabled={flag === 'unique' && field.hashed}
        onChange={(event) => {
          const box = event.currentTarget;
          const value = box.checked;
          // shows what is stored, until it is stored
          box.checked = field[flag];
          void setFlag(field, flag, value);
        }}
      />
    ),
  });
  return [
    {
      key: 'name',
      label: 'Field',
      cell: (field) => (
        <>
          <button type="button" class="link" onClick={() => edit(field)}>
            {field.name}
          </button>
          {field.slug !== field.name && <span class="quiet"> {field.slug}</span>}
          {field.description && <div class="quiet">{field.description}</div>}
        </>
      ),
    },
    { key: 'type', label: 'Type', cell: ({ type }) => <span class="badge">{type}</span> },
    flagColumn('required', 'Required'),
    flagColumn('unique', 'Unique'),
    { key: 'hashed', label: 'Hashed', cell: ({ hashed }) => (hashed ? 'yes, can only be written' : 'no') },
    {
      key: 'default',
      label: 'Default',
      cell: (field) =>
        hasDefault(field) ? <code>{JSON.stringify(field.defaultValue).slice(0, 80)}</code> : '–',
    },
    {
      key: 'tools',
      label: 'Actions',
      tools: true,
      cell: (field) => (
        <>
          <IconButton icon="edit" label={`Edit ${field.name}`} onClick={() => edit(field)} />
          <IconButton icon="trash" label={`Drop ${field.name}`} onClick={() => void drop(field)} />
        </>
      ),
    },
  ];
}

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button, IconButton } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { navigate, type PageProps, to } from '../router.ts';
import { dropSpaceIfConfirmed } from './drop-space.tsx';
import { FieldDialog } from './field-dialog.tsx';
import { SpacePage } from './frames.tsx';
import { dropField, getSpace } from './projects-api.ts';
import { SpaceDialog } from './space-dialog.tsx';
import { type Field, hasDefault } from './structure.ts';

export function StructurePage({ params: { project = '', space = '' } }: PageProps): JSX.Element {
  const loaded = useLoad((signal) => getSpace(project, space, signal), [project, space]);
  const [edited, setEdited] = useState<Field | 'new' | 'space' | null>(null);
  const structure = loaded.data;

  const drop = async (field: Field): Promise<void> => {
    const dropped = await confirmed({
      title: `Drop the field ${field.name}?`,
      body: 'This deletes the field and all its values. It can’t be undone.',
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
  return (
    <SpacePage
      {...{ project, space, structure }}
      current="Structure"
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
            columns={fieldColumns({ drop, edit: setEdited })}
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
    </SpacePage>
  );
}

interface FieldActions {
  readonly drop: (field: Field) => Promise<void>;
  readonly edit: (field: Field) => void;
}

function fieldColumns({ drop, edit }: FieldActions): readonly Column<Field>[] {
  const flag = (key: 'required' | 'unique' | 'hashed', label: string): Column<Field> => {
    return { label, cell: (field) => (field[key] ? 'yes' : '–') };
  };
  return [
    {
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
    { label: 'Type', cell: ({ type }) => <span class="badge">{type}</span> },
    flag('required', 'Required'),
    flag('unique', 'Unique'),
    flag('hashed', 'Hashed'),
    {
      label: 'Default',
      cell: (field) =>
        hasDefault(field) ? <code>{JSON.stringify(field.defaultValue).slice(0, 80)}</code> : '–',
    },
    toolsColumn((field) => (
      <>
        <IconButton icon="edit" label={`Edit ${field.name}`} onClick={() => edit(field)} />
        <IconButton icon="trash" label={`Drop ${field.name}`} onClick={() => void drop(field)} />
      </>
    )),
  ];
}

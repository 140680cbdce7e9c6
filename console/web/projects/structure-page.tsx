import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { address } from '../address.ts';
import { isGranted } from '../granted.ts';
import { Button, IconButton } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { navigate, type PageProps, to } from '../router.ts';
import { dropSpaceIfConfirmed } from './drop-space-if-confirmed.ts';
import { FieldDialog } from './field-dialog.tsx';
import { SpacePage } from './frames.tsx';
import { drop, getSpace } from './projects-api.ts';
import { SpaceDialog } from './space-dialog.tsx';
import { type Field, hasDefault } from './structure.ts';

export function StructurePage({ params: { project = '', space = '' } }: PageProps): JSX.Element {
  const loaded = useLoad((signal) => getSpace(project, space, signal), [project, space]);
  const [edited, setEdited] = useState<Field | 'new' | 'space' | null>(null);
  const structure = loaded.data;

  const dropIfConfirmed = async (field: Field): Promise<void> => {
    const dropped = await confirmed({
      title: `Drop the field ${field.name}?`,
      body: 'This deletes the field and all its values. This can’t be undone.',
      confirm: 'Drop the field',
      typed: field.name,
      run: () => drop(address`/${project}/spaces/${space}/fields/${field.slug}`),
      done: `Field ${field.name} dropped.`,
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

  const mayChange = isGranted('structure', { project, space });
  const addButton = mayChange && (
    <Button icon="plus" kind="primary" onClick={() => setEdited('new')} disabled={structure === null}>
      Add a field
    </Button>
  );
  return (
    <SpacePage
      {...{ project, space, structure }}
      current="Structure"
      intro={structure?.description || undefined}
      actions={
        mayChange && (
          <>
            <Button icon="edit" onClick={() => setEdited('space')} disabled={structure === null}>
              Edit the record space
            </Button>
            {addButton}
          </>
        )
      }
    >
      {loaded.problem !== null && <ProblemNote problem={loaded.problem} onRetry={loaded.reload} />}
      {structure?.fields.length === 0 ? (
        <EmptyState icon="projects" title="No fields yet">
          {mayChange && <p>Add the fields of this record space. Each has a name and a type.</p>}
          {addButton}
        </EmptyState>
      ) : (
        loaded.problem === null && (
          <DataTable
            caption={`Fields of ${space}`}
            columns={fieldColumns(
              mayChange ? { drop: (field) => void dropIfConfirmed(field), edit: setEdited } : null,
            )}
            rows={structure?.fields ?? null}
            rowKey={({ slug }) => slug}
          />
        )
      )}
      {mayChange && structure !== null && (
        <div class="row apart">
          <p class="quiet">Dropping the record space deletes all its records.</p>
          <Button icon="trash" onClick={() => void dropAll()}>
            Drop the record space
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

interface FieldActs {
  readonly drop: (field: Field) => void;
  readonly edit: (field: Field) => void;
}

/** @param acts null: they are not granted */
function fieldColumns(acts: FieldActs | null): readonly Column<Field>[] {
  const flag = (key: 'required' | 'unique' | 'hashed', label: string): Column<Field> => {
    return { label, cell: (field) => (field[key] ? 'yes' : null) };
  };
  return [
    {
      label: 'Field',
      cell: (field) => (
        <>
          {acts === null ? (
            field.name
          ) : (
            <button type="button" class="link" onClick={() => acts.edit(field)}>
              {field.name}
            </button>
          )}
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
        hasDefault(field) ? <code>{JSON.stringify(field.defaultValue).slice(0, 80)}</code> : null,
    },
    ...(acts === null
      ? []
      : [
          toolsColumn<Field>((field) => (
            <>
              <IconButton icon="edit" label={`Edit ${field.name}`} onClick={() => acts.edit(field)} />
              <IconButton icon="trash" label={`Drop ${field.name}`} onClick={() => acts.drop(field)} />
            </>
          )),
        ]),
  ];
}

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button, IconButton } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { ProjectPage } from '../projects/frames.tsx';
import type { PageProps } from '../router.ts';
import { PresetDialog } from './preset-dialog.tsx';
import { fits, type Preset, type Presets } from './presets.ts';
import { getPresets, setPresets } from './presets-api.ts';

interface ListedPreset extends Preset {
  readonly name: string;
  /** One of the configuration, which only the operator changes. */
  readonly ofServer: boolean;
  /** A preset of the configuration has the same name, and this one is used. */
  readonly replaces: boolean;
}

function listed({ presets, ofServer }: Presets): readonly ListedPreset[] {
  const own = Object.entries(presets).map(([name, preset]) => ({
    ...{ name, ...preset, ofServer: false },
    replaces: Object.hasOwn(ofServer, name),
  }));
  const others = Object.entries(ofServer)
    .filter(([name]) => !Object.hasOwn(presets, name))
    .map(([name, preset]) => ({ name, ...preset, ofServer: true, replaces: false }));
  return [...own, ...others].sort((one, other) => one.name.localeCompare(other.name));
}

/** The sizes in which pages get the pictures of a project. */
export function PresetsPage({ params: { project = '' } }: PageProps): JSX.Element {
  const { data, problem, reload } = useLoad((signal) => getPresets(project, signal), [project]);
  /** null: a new one. undefined: none. */
  const [editing, setEditing] = useState<ListedPreset | null | undefined>(undefined);
  const rows = data === null ? null : listed(data);
  const drop = async ({ name, replaces }: ListedPreset): Promise<void> => {
    const dropped = await confirmed({
      title: `Delete the preset ${name}?`,
      body: replaces
        ? 'The preset of the server with the same name is used instead.'
        : 'Addresses of pictures with this preset stop working. The original files stay.',
      confirm: 'Delete the preset',
      run: async (signal) => {
        // what others saved meanwhile stays
        const { presets } = await getPresets(project, signal);
        const left = Object.entries(presets).filter(([other]) => other !== name);
        await setPresets(project, Object.fromEntries(left), signal);
      },
      done: 'Preset deleted.',
    });
    if (dropped) reload();
  };
  const add = (
    <Button icon="plus" kind="primary" onClick={() => setEditing(null)}>
      New preset
    </Button>
  );
  return (
    <ProjectPage
      project={project}
      current="Presets"
      intro="Sizes in which web pages get the images and the posters of the videos, by ?preset=NAME in the address of a file."
      actions={add}
    >
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {rows?.length === 0 ? (
        <EmptyState icon="image" title="No presets yet">
          <p>Without one, pages load the original files, whatever their size.</p>
          {add}
        </EmptyState>
      ) : (
        (rows !== null || problem === null) && (
          <DataTable
            caption={`Presets of ${project}`}
            columns={columnsOf(setEditing, (preset) => void drop(preset))}
            rows={rows}
            rowKey={({ name }) => name}
          />
        )
      )}
      {editing !== undefined && data !== null && (
        <PresetDialog
          {...{ project, preset: editing }}
          onSaved={reload}
          onClose={() => setEditing(undefined)}
        />
      )}
    </ProjectPage>
  );
}

function columnsOf(
  edit: (preset: ListedPreset) => void,
  drop: (preset: ListedPreset) => void,
): readonly Column<ListedPreset>[] {
  return [
    { label: 'Name', cell: ({ name }) => <code>{name}</code> },
    { label: 'Size', cell: ({ width, height }) => `${width} × ${height} pixels` },
    { label: 'Picture', cell: ({ fit }) => fits[fit] },
    {
      label: 'Of',
      cell: ({ ofServer, replaces }) =>
        ofServer ? 'the server' : replaces ? 'the project, instead of the server’s' : 'the project',
    },
    toolsColumn((preset) =>
      preset.ofServer ? null : (
        <>
          <IconButton icon="edit" label={`Change ${preset.name}`} onClick={() => edit(preset)} />
          <IconButton icon="trash" label={`Delete ${preset.name}`} onClick={() => drop(preset)} />
        </>
      ),
    ),
  ];
}

import type { JSX } from 'preact';
import { Button, IconButton } from '../parts/button.tsx';
import { SearchField, SelectField } from '../parts/field.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { useDraft } from '../parts/use-draft.ts';
import type { Space } from '../projects/projects-api.ts';
import { isActive } from './filters.ts';
import { LiveSwitch, type LiveSwitchProps } from './live-switch.tsx';
import type { RecordPages } from './record-pages.ts';
import type { RecordSelection } from './record-selection.ts';
import { emptyView, isBare, type RecordView, searchedFields } from './record-view.ts';
import { showView } from './show-view.ts';

export interface RecordsToolbarProps extends LiveSwitchProps {
  readonly space: Space;
  readonly view: RecordView;
  readonly pages: RecordPages;
  readonly problems: ReadonlyMap<string, string>;
  readonly selected: RecordSelection;
  readonly onSelect: (selected: RecordSelection) => void;
  readonly onExport: () => void;
  /** Null: not granted. */
  readonly onDelete: (() => void) | null;
  readonly onReload: () => void;
  readonly onJump: () => void;
}

/** Search, And or Or for filters, and actions for the selected records. */
export function RecordsToolbar(props: RecordsToolbarProps): JSX.Element {
  const { space, view, pages, selected, live } = props;
  return (
    <div class="row apart records-tools">
      {selected === 'all' || selected.size > 0 ? (
        <SelectionBar {...props} />
      ) : (
        <div class="row finders">
          {searchedFields(space.fields).length > 0 && <Search view={view} />}
          {[...view.filters.values()].filter(isActive).length > 1 && (
            <SelectField
              label="Filters"
              hideLabel
              value={view.match}
              onInput={(match) => showView((last) => ({ ...last, match: match === 'any' ? 'any' : 'all' }))}
              options={Object.entries({ all: 'all filters match', any: 'any filter matches' })}
            />
          )}
          {(view.filters.size > 0 || view.search !== '') && (
            <Button small kind="quiet" onClick={() => showView(({ sorts }) => ({ ...emptyView, sorts }))}>
              Clear
            </Button>
          )}
        </div>
      )}
      <div class="row state">
        <LiveSwitch {...props} />
        <IconButton icon="retry" label="Reload the records" onClick={props.onReload} />
        <IconButton
          icon="down"
          label="Go to the last record"
          disabled={pages.known === 0}
          onClick={props.onJump}
        />
      </div>
      {live.kind === 'refused' && (
        <div role="alert" class="field-error">
          {live.message}
        </div>
      )}
      {props.problems.size > 0 && (
        <div role="alert" class="field-error">
          <ul>
            {[...props.problems].map(([name, problem]) => (
              <li key={name}>
                {name}: {problem}
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}

function SelectionBar(props: RecordsToolbarProps): JSX.Element {
  const { space, view, pages, selected, onSelect, onExport, onDelete } = props;
  const bare = isBare(view);
  const all = bare ? `all ${countOf(space.records ?? 0, 'record')}` : 'all that match';
  const canSelectAll =
    selected !== 'all' && selected.size >= pages.kept && !(pages.complete && pages.kept === pages.known);
  return (
    <fieldset class="row selection">
      <legend class="unseen">RecordSelection records</legend>
      <strong>{selected === 'all' ? all : formatNumber(selected.size)} selected</strong>
      {canSelectAll && (
        <Button small onClick={() => onSelect('all')}>
          Select {all}
        </Button>
      )}
      <Button icon="download" small onClick={onExport}>
        Export
      </Button>
      {onDelete !== null && (
        <Button icon="trash" small onClick={onDelete}>
          Delete
        </Button>
      )}
      <Button small kind="quiet" onClick={() => onSelect(new Set())}>
        Clear the selection
      </Button>
    </fieldset>
  );
}

const settleMs = 400;

function Search({ view }: { readonly view: RecordView }): JSX.Element {
  const draft = useDraft(view.search, (search) => showView((last) => ({ ...last, search })), settleMs);
  return (
    <SearchField
      label="Search in all text fields"
      maxLength={1000}
      value={draft.text}
      onInput={draft.setText}
    />
  );
}

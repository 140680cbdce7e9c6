import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { formatNumber } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import type { Space } from '../projects/projects-api.ts';
import type { RecordPages } from './record-pages.ts';
import { emptyView, type RecordView, searchedFields } from './record-view.ts';
import { showView } from './show-view.ts';

export interface RecordsToolbarProps {
  readonly space: Space;
  readonly view: RecordView;
  readonly pages: RecordPages;
  readonly problems: ReadonlyMap<string, string>;
  readonly selected: ReadonlySet<string>;
  readonly onClear: () => void;
  readonly onExport: () => void;
  readonly onDelete: () => void;
  readonly onReload: () => void;
}

/** Search, how filters are joined, what is on the screen, and what can be done with the selected records. */
export function RecordsToolbar(props: RecordsToolbarProps): JSX.Element {
  const { space, view, selected } = props;
  const searched = searchedFields(space.fields).length > 0;
  return (
    <div class="records-tools">
      {selected.size > 0 ? (
        <fieldset class="row selection">
          <legend class="unseen">Selected records</legend>
          <strong>{formatNumber(selected.size)} selected</strong>
          <Button small onClick={props.onExport}>
            <Icon name="download" /> Export
          </Button>
          <Button small onClick={props.onDelete}>
            <Icon name="trash" /> Delete
          </Button>
          <Button small kind="quiet" onClick={props.onClear}>
            Clear the selection
          </Button>
        </fieldset>
      ) : (
        <div class="row finders">
          {searched && <Search view={view} />}
          {view.search === '' && view.filters.size > 1 && (
            <SelectField
              label="Filters"
              hideLabel
              value={view.match}
              onChange={(match) => showView((last) => ({ ...last, match: match === 'any' ? 'any' : 'all' }))}
              options={[
                { value: 'all', label: 'all filters match' },
                { value: 'any', label: 'any filter matches' },
              ]}
            />
          )}
          {(view.filters.size > 0 || view.search !== '') && (
            <Button small kind="quiet" onClick={() => showView(({ sort }) => ({ ...emptyView, sort }))}>
              Clear
            </Button>
          )}
        </div>
      )}
      <div class="row state">
        <Known {...props} />
        <Button small kind="quiet" label="Read the records again" onClick={props.onReload}>
          <Icon name="retry" />
        </Button>
      </div>
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

/** How much has been read; how much there is, as the engine knows it without counting. */
function Known({ space, view, pages }: RecordsToolbarProps): JSX.Element {
  const known = formatNumber(pages.known);
  const bare = view.filters.size === 0 && view.search === '';
  const all = bare && space.records > pages.known ? ` of about ${formatNumber(space.records)}` : ' so far';
  return (
    <span class="quiet" role="status">
      {pages.known === 0 && !pages.complete
        ? 'Reading…'
        : pages.complete
          ? `${known} ${pages.known === 1 ? 'record' : 'records'}`
          : `${known} read${all}`}
    </span>
  );
}

const settleMs = 400;

function Search({ view }: { readonly view: RecordView }): JSX.Element {
  const [draft, setDraft] = useState(view.search);
  const sent = useRef(view.search);
  useEffect(() => {
    if (sent.current !== view.search) setDraft(view.search);
    sent.current = view.search;
  }, [view.search]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (sent.current === draft) return;
      sent.current = draft;
      // the API has no filters beside a search
      showView((last) =>
        draft === '' ? { ...last, search: '' } : { ...emptyView, sort: last.sort, search: draft },
      );
    }, settleMs);
    return () => clearTimeout(timer);
  }, [draft]);
  return (
    <TextField
      label="Search in all text fields"
      hideLabel
      type="search"
      placeholder="Search in all text fields"
      maxLength={1000}
      value={draft}
      onInput={setDraft}
    />
  );
}

import type { JSX } from 'preact';
import { Button, IconButton } from '../parts/button.tsx';
import { SelectField } from '../parts/field.tsx';
import type { Field } from '../projects/structure.ts';
import {
  fieldsOf,
  functionWords,
  hasZone,
  periods,
  type Summary,
  type SummaryFunction,
  type SummaryValue,
  shorterThanDays,
  timesOf,
} from './summary.ts';

export interface SummaryFieldsProps {
  readonly fields: readonly Field[];
  readonly summary: Summary;
  /** By the part's text in the URL, and `zone`. */
  readonly problems: ReadonlyMap<string, string>;
  readonly onChange: (changed: Partial<Summary>) => void;
}

/** The fields to group by, and the functions of each group. */
export function SummaryFields({ fields, summary, problems, onChange }: SummaryFieldsProps): JSX.Element {
  const { groups, time, every, zone, values } = summary;
  const names = fields.filter(({ hashed }) => !hashed).map(({ name }) => name);
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zoned = hasZone(time, fields);
  const group = (at: number, label: string): JSX.Element => (
    <SelectField
      label={label}
      value={groups[at] ?? ''}
      error={problems.get(groups[at] ?? '')}
      onInput={(name) =>
        onChange({
          groups: [0, 1].map((each) => (each === at ? name : (groups[each] ?? ''))).filter(Boolean),
        })
      }
      options={optionsOf(['', ...names], groups[at] ?? '', 'nothing')}
    />
  );
  return (
    <>
      <div class="row filters">
        {group(0, 'Group by')}
        {group(1, 'and by')}
        <SelectField
          label="By time"
          value={time}
          onInput={(next) => {
            const kept = hasZone(next, fields) || !shorterThanDays.includes(every) ? every : '1d';
            onChange({ time: next, zone: time === '' ? here : zone, every: kept });
          }}
          options={optionsOf(['', ...timesOf(fields)], time, 'no')}
        />
        {time !== '' && (
          <>
            <SelectField
              label="Each"
              value={every}
              onInput={(next) => onChange({ every: next })}
              options={Object.entries(periods).filter(
                ([period]) => zoned || !shorterThanDays.includes(period),
              )}
            />
            {zoned && (
              <SelectField
                label="Time zone"
                value={zone}
                error={problems.get('zone')}
                onInput={(next) => onChange({ zone: next })}
                options={optionsOf([...new Set(['UTC', here])], zone)}
              />
            )}
          </>
        )}
      </div>
      {values.map((value, at) => (
        <ValueFields
          key={at}
          {...{ fields, value }}
          problem={problems.get(`${value.of}.${value.field}`)}
          onChange={(next) => onChange({ values: values.with(at, next) })}
          onRemove={values.length > 1 ? () => onChange({ values: values.toSpliced(at, 1) }) : null}
        />
      ))}
      <div class="row">
        <Button
          small
          onClick={() => {
            const [field] = fieldsOf('sum', fields);
            const next: SummaryValue =
              field === undefined ? { of: 'count', field: '' } : { of: 'sum', field };
            onChange({ values: [...values, next] });
          }}
        >
          Add a figure
        </Button>
      </div>
    </>
  );
}

interface ValueFieldsProps {
  readonly fields: readonly Field[];
  readonly value: SummaryValue;
  readonly problem: string | undefined;
  readonly onChange: (value: SummaryValue) => void;
  readonly onRemove: (() => void) | null;
}

function ValueFields({ fields, value, problem, onChange, onRemove }: ValueFieldsProps): JSX.Element {
  const names = fieldsOf(value.of, fields);
  const choose = (of: SummaryFunction): void => {
    const possible = fieldsOf(of, fields);
    onChange({ of, field: possible.includes(value.field) ? value.field : (possible[0] ?? '') });
  };
  return (
    <div class="row filters summary-value">
      <SelectField
        label="Figure"
        value={value.of}
        onInput={(of) => choose(of as SummaryFunction)}
        options={Object.entries(functionWords)}
      />
      {value.of !== 'count' && (
        <SelectField
          label="of"
          value={value.field}
          error={problem}
          onInput={(field) => onChange({ ...value, field })}
          options={optionsOf(names, value.field)}
        />
      )}
      {onRemove !== null && <IconButton icon="close" label="Remove this figure" onClick={onRemove} />}
    </div>
  );
}

/** Includes the chosen name, even if the URL names a missing field. */
function optionsOf(names: readonly string[], chosen: string, none = ''): [value: string, label: string][] {
  const all = names.includes(chosen) ? names : [...names, chosen];
  return all.map((value) => [value, value === '' ? none : value]);
}

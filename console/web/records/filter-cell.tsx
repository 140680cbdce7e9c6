import type { JSX } from 'preact';
import { useDraft } from '../parts/use-draft.ts';
import { columnTypes } from './field-types.ts';
import { type FilterOperator, operatorWords } from './filter-operators.ts';
import { type Filter, isActive, rangeOf, takesText, textOfRange } from './filters.ts';
import type { GridColumn } from './grid-columns.ts';

export interface FilterCellProps {
  readonly column: GridColumn;
  readonly filter: Filter | undefined;
  readonly problem: string | undefined;
  readonly onFilter: (filter: Filter | null) => void;
}

const settleMs = 500;
const placeholders: Partial<Record<FilterOperator, string>> = {
  in: 'a, b, …',
  nin: 'a, b, …',
  hasAny: 'a, b, …',
  hasAll: 'a, b, …',
  path: 'path = value',
};

/**
 * The condition of a column: an operator of its type, and a value. It counts when Enter is pressed, or nobody types any
 * more.
 */
export function FilterCell({ column, filter, problem, onFilter }: FilterCellProps): JSX.Element {
  const { name, type } = column;
  const { operators, inputMode, rangeInput, input: valueInput } = columnTypes[type];
  const [usual] = operators;
  const operator = filter?.operator ?? usual;
  const send = (next: Filter): void => onFilter(isActive(next) || next.operator !== usual ? next : null);
  const draft = useDraft(filter?.text ?? '', (text) => send({ operator, text }), settleMs);
  const choose = (next: FilterOperator): void => {
    const text = operator === 'between' ? rangeOf(draft.text)[0] : draft.text;
    send({ operator: next, text: takesText(next) ? text : '' });
  };
  const label = `${name} ${operatorWords[operator]}`;
  const isList = operator === 'in' || operator === 'nin';
  const inputType = (operator === 'between' ? rangeInput : isList ? undefined : valueInput) ?? 'text';
  const input = (label: string, value: string, onInput: (text: string) => void): JSX.Element => (
    <input
      // the types of JSX want a literal here
      type={inputType as 'text'}
      aria-label={label}
      aria-invalid={problem === undefined ? undefined : true}
      title={problem ?? label}
      inputMode={inputMode}
      placeholder={placeholders[operator] ?? '…'}
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') draft.send();
      }}
    />
  );
  const [from, to] = rangeOf(draft.text);
  return (
    <>
      <select
        class="operator"
        aria-label={`${name}: filter`}
        title={label}
        value={operator}
        onChange={(event) => choose(event.currentTarget.value as FilterOperator)}
      >
        {operators.map((each) => (
          <option key={each} value={each}>
            {operatorWords[each]}
          </option>
        ))}
      </select>
      {type === 'BOOLEAN' && takesText(operator) ? (
        <select
          aria-label={label}
          value={draft.text}
          onChange={(event) => send({ operator, text: event.currentTarget.value })}
        >
          <option value="">any</option>
          <option value="true">true</option>
          <option value="false">false</option>
        </select>
      ) : operator === 'between' ? (
        <>
          {input(`${name} from`, from, (text) => draft.setText(textOfRange(text, to)))}
          {input(`${name} to`, to, (text) => draft.setText(textOfRange(from, text)))}
        </>
      ) : (
        takesText(operator) && input(label, draft.text, draft.setText)
      )}
    </>
  );
}

import type { ComponentChildren, InputHTMLAttributes, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';

interface FieldLabels {
  readonly label: ComponentChildren;
  /** Next to the label. */
  readonly aside?: ComponentChildren;
  /** Below the label: the expected value. */
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly required?: boolean;
  readonly disabled?: boolean;
  /** Only screen readers get the label. */
  readonly hideLabel?: boolean;
}

export interface TextFieldProps extends FieldLabels, InputAttributes {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'date' | 'url';
  readonly autoFocus?: boolean;
  readonly mono?: boolean;
}

type InputAttributes = Pick<
  InputHTMLAttributes<HTMLInputElement>,
  'autoComplete' | 'placeholder' | 'maxLength' | 'minLength' | 'min' | 'spellcheck' | 'pattern' | 'inputMode'
>;

/** Attributes that connect a control with its label, hint and error. */
export interface ControlIds {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

/** Connects label, hint and error with the control that `children` renders. */
export function Labels(
  props: FieldLabels & { children: (ids: ControlIds) => ComponentChildren },
): JSX.Element {
  const { label, aside, hint, error, required = false, hideLabel = false, children } = props;
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`];
  const ids: ControlIds = {
    id,
    'aria-describedby': described.filter(Boolean).join(' ') || undefined,
    'aria-invalid': error === undefined ? undefined : true,
  };
  const text = (
    <label for={id} class={hideLabel ? 'unseen' : undefined}>
      {label}
      {!required && !hideLabel && <span class="optional"> (optional)</span>}
    </label>
  );
  return (
    <div class={`field${error === undefined ? '' : ' wrong'}`}>
      {!aside ? (
        text
      ) : (
        <div class="row apart">
          {text}
          {aside}
        </div>
      )}
      {hint !== undefined && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {children(ids)}
      {error !== undefined && (
        <div class="field-error" id={`${id}-error`}>
          {error}
        </div>
      )}
    </div>
  );
}

/** An input with its label. A password can be shown. */
export function TextField(props: TextFieldProps): JSX.Element {
  const { label, aside, hint, error, disabled, hideLabel, autoFocus = false, ...own } = props;
  const { onInput, type = 'text', mono = false, ...attributes } = own;
  const [visible, setVisible] = useState(false);
  const control = useRef<HTMLInputElement>(null);
  // before the effect of the surrounding dialog, which focuses the element with this attribute
  useLayoutEffect(() => {
    if (!autoFocus || control.current === null) return;
    control.current.autofocus = true;
    control.current.focus();
  }, []);
  return (
    <Labels {...props}>
      {(ids) => {
        const input = (
          <input
            ref={control}
            // the JSX types need a literal here
            type={(visible ? 'text' : type) as 'text'}
            class={mono ? 'mono' : undefined}
            spellcheck={!mono}
            {...ids}
            {...attributes}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        );
        if (type !== 'password') return input;
        return (
          <div class="with-button">
            {input}
            <Button
              small
              pressed={visible}
              label={visible ? 'Hide the password' : 'Show the password'}
              onClick={() => setVisible(!visible)}
            >
              {visible ? 'Hide' : 'Show'}
            </Button>
          </div>
        );
      }}
    </Labels>
  );
}

/** For a new name, without suggestions of the browser. */
export function NameField(props: TextFieldProps): JSX.Element {
  return <TextField required autoComplete="off" maxLength={200} {...props} />;
}

type SearchFieldProps = Pick<TextFieldProps, 'value' | 'onInput' | 'maxLength'> & { readonly label: string };

export function SearchField(props: SearchFieldProps): JSX.Element {
  return <TextField hideLabel type="search" maxLength={200} placeholder={props.label} {...props} />;
}

export interface SelectFieldProps extends FieldLabels {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly options: readonly (readonly [value: string, label: string])[];
}

export function SelectField(props: SelectFieldProps): JSX.Element {
  return (
    <Labels required {...props}>
      {(ids) => (
        <select
          {...ids}
          value={props.value}
          disabled={props.disabled}
          onChange={(event) => props.onInput(event.currentTarget.value)}
        >
          {props.options.map(([value, label]) => (
            <option value={value} key={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Labels>
  );
}

export interface CheckboxFieldProps {
  readonly label: ComponentChildren;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly hint?: string;
  readonly disabled?: boolean;
}

export function CheckboxField({ label, checked, onChange, hint, disabled }: CheckboxFieldProps): JSX.Element {
  const id = useId();
  return (
    <div class="check">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        disabled={disabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  );
}

import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';

interface Labelled {
  readonly label: string;
  /** Below the label: what is expected. */
  readonly hint?: ComponentChildren;
  /** What is wrong, and what to do. */
  readonly error?: string | undefined;
  readonly required?: boolean;
  readonly disabled?: boolean;
  /** The label is for screen readers alone. */
  readonly hideLabel?: boolean;
}

export interface TextFieldProps extends Labelled {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'number' | 'date' | 'url';
  readonly autoComplete?: string;
  readonly autoFocus?: boolean;
  readonly placeholder?: string;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly min?: string;
  readonly max?: string;
  /** Several lines. */
  readonly rows?: number;
  readonly mono?: boolean;
  readonly spellcheck?: boolean;
  readonly pattern?: string;
}

/** Joins label, hint and error to the control that `children` makes. */
function Labels({
  label,
  hint,
  error,
  required = false,
  hideLabel = false,
  children,
}: Labelled & {
  children: (ids: { id: string; describedBy: string | undefined }) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const described = [hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`].filter(
    Boolean,
  );
  return (
    <div class={`field${error === undefined ? '' : ' wrong'}`}>
      <label for={id} class={hideLabel ? 'unseen' : undefined}>
        {label}
        {!required && !hideLabel && <span class="optional"> (optional)</span>}
      </label>
      {hint !== undefined && (
        <div class="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {children({ id, describedBy: described.join(' ') || undefined })}
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
  const { value, onInput, type = 'text', rows, mono = false, autoFocus = false } = props;
  const [visible, setVisible] = useState(false);
  const control = useRef<HTMLInputElement & HTMLTextAreaElement>(null);
  // before the effect of a dialog around it, which opens with the focus on what has this attribute
  useLayoutEffect(() => {
    if (!autoFocus || control.current === null) return;
    control.current.autofocus = true;
    control.current.focus();
  }, []);
  return (
    <Labels {...props}>
      {({ id, describedBy }) => {
        const common = {
          id,
          value,
          class: mono ? 'mono' : undefined,
          required: props.required,
          disabled: props.disabled,
          placeholder: props.placeholder,
          maxLength: props.maxLength,
          spellcheck: props.spellcheck ?? !mono,
          autocomplete: props.autoComplete,
          'aria-describedby': describedBy,
          'aria-invalid': props.error === undefined ? undefined : true,
          onInput: (event: Event) => onInput((event.currentTarget as HTMLInputElement).value),
        };
        if (rows !== undefined) return <textarea ref={control} rows={rows} {...common} />;
        const input = (
          <input
            ref={control}
            // the types of JSX want a literal here
            type={(visible ? 'text' : type) as 'text'}
            min={props.min}
            max={props.max}
            minLength={props.minLength}
            pattern={props.pattern}
            {...common}
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

export interface SelectFieldProps extends Labelled {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly value: string; readonly label: string }[];
}

export function SelectField(props: SelectFieldProps): JSX.Element {
  return (
    <Labels required {...props}>
      {({ id, describedBy }) => (
        <select
          id={id}
          value={props.value}
          disabled={props.disabled}
          aria-describedby={describedBy}
          onChange={(event) => props.onChange(event.currentTarget.value)}
        >
          {props.options.map(({ value, label }) => (
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

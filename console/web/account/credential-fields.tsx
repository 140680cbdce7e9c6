import type { JSX } from 'preact';
import { TextField, type TextFieldProps } from '../parts/field.tsx';

export type FieldProps = Pick<TextFieldProps, 'value' | 'onInput' | 'autoFocus'> & {
  readonly label?: string;
};

export function EmailField(props: FieldProps): JSX.Element {
  return <TextField label="Email" type="email" required autoComplete="username" maxLength={254} {...props} />;
}

const rules = {
  // the minimum of the server
  minLength: 8,
  hint: 'At least 8 characters. A few words in a row are easy to remember and hard to guess.',
};

type PasswordFieldProps = FieldProps & {
  /** The field is for choosing a password. */
  readonly isNew?: boolean;
};

export function PasswordField({ isNew = false, ...props }: PasswordFieldProps): JSX.Element {
  const autoComplete = isNew ? 'new-password' : 'current-password';
  const own = { type: 'password', required: true, autoComplete, ...(isNew ? rules : {}) } as const;
  return <TextField label="Password" {...own} {...props} />;
}

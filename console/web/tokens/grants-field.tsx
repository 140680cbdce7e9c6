import type { JSX } from 'preact';
import { type Grant, type Grants, grantMeanings, grantNames, grantsInWords } from '#kernel/grants.ts';
import { CheckboxField, TextField } from '../parts/field.tsx';

interface GrantsFieldProps {
  /** Null: everything. */
  readonly grants: Grants | null;
  readonly onChange: (grants: Grants | null) => void;
  /** For a person, who needs no web pages. */
  readonly forMember?: boolean;
}

/** The grants of a token, with a sentence that describes them. */
export function GrantsField({ grants, onChange, forMember = false }: GrantsFieldProps): JSX.Element {
  const change = (part: { readonly [Key in keyof Grants]: Grants[Key] | undefined }): void => {
    const entries = Object.entries({ ...grants, ...part }).filter(([, list]) => list !== undefined);
    onChange(entries.length === 0 ? null : Object.fromEntries(entries));
  };
  const may = grants?.may ?? grantNames;
  const allow = (grant: Grant, allowed: boolean): void => {
    const next = grantNames.filter((name) => (name === grant ? allowed : may.includes(name)));
    change({ may: next.length === grantNames.length ? undefined : next });
  };
  const list = (key: 'projects' | 'spaces' | 'origins') => ({
    value: grants?.[key]?.join(',') ?? '',
    onInput: (text: string) => {
      const items = text === '' ? undefined : text.split(',').map((one) => one.trim());
      change({ [key]: items, ...(key === 'origins' && { publishable: items && true }) });
    },
    autoComplete: 'off',
    maxLength: 1000,
  });
  return (
    <div class="stack">
      <fieldset class="field">
        <legend>
          <strong>{forMember ? 'The member may' : 'It may'}</strong>
        </legend>
        {grantNames.map((name) => (
          <CheckboxField
            key={name}
            label={grantMeanings[name]}
            checked={may.includes(name)}
            onChange={(checked) => allow(name, checked)}
          />
        ))}
      </fieldset>
      <TextField label="Projects" hint="Slugs, separated by commas. Empty: all." {...list('projects')} />
      <TextField label="Record spaces" hint="Slugs, separated by commas. Empty: all." {...list('spaces')} />
      {!forMember && (
        <TextField
          label="Origins of web pages"
          hint="Makes a publishable token for these pages, such as https://app.example.com, separated by commas. It reaches only records and files that have rules, as far as the rules allow. Leave empty for a secret token."
          {...list('origins')}
        />
      )}
      <p class="hint" aria-live="polite">
        {forMember ? 'The member' : 'The token'} {grantsInWords(grants ?? {})}.
      </p>
    </div>
  );
}

import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Grants } from '#kernel/grants.ts';
import { apiBase } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { NameField, SelectField, TextField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { formatDate } from '../parts/format.ts';
import { callConsole } from '../session.ts';
import type { NewToken } from './access-token.ts';
import { firstCommand } from './first-command.ts';
import { GrantsField } from './grants-field.tsx';

/** By days. */
const lifetimes = Object.entries({
  30: '30 days',
  90: '90 days',
  365: '1 year',
  never: 'Never',
  date: 'On a chosen day',
});
const dayMs = 86_400_000;
const wholeNumber = { pattern: '[1-9][0-9]{0,14}', autoComplete: 'off', maxLength: 15 };

interface NewTokenDialogProps {
  readonly onCreated: () => void;
  readonly onClose: () => void;
}

/** Asks for a name, an expiry, grants and limits, then shows the token once. */
export function NewTokenDialog({ onCreated, onClose }: NewTokenDialogProps): JSX.Element {
  const [created, setCreated] = useState<NewToken | null>(null);
  const { values, text } = useFields({ name: '', lifetime: '90', day: '', rows: '', time: '' });
  const [grants, setGrants] = useState<Grants | null>(null);
  if (created !== null) return <CreatedToken token={created} onClose={onClose} />;
  const send = async (signal: AbortSignal): Promise<void> => {
    const { name, lifetime, day, rows, time } = values;
    const limits = { readMaxRows: Number(rows) || null, readTimeoutMs: Number(time) || null };
    const json = { name, expiresAt: expiryOf(lifetime, day), grants, ...limits };
    setCreated(await callConsole('/tokens', { method: 'POST', json, signal }));
    onCreated();
  };
  return (
    <FormDialog title="New access token" verb="Create the token" send={send} onClose={onClose}>
      <NameField
        label="Name"
        hint="What it is for, such as “backup script”."
        autoFocus
        maxLength={100}
        {...text('name')}
      />
      <SelectField label="Expires" {...text('lifetime')} options={lifetimes} />
      {values.lifetime === 'date' && (
        <TextField label="Last day" type="date" required min={isoDay(1)} {...text('day')} />
      )}
      <details>
        <summary>Limit what it may do</summary>
        <GrantsField grants={grants} onChange={setGrants} />
      </details>
      <details>
        <summary>Limit the cost of its reads</summary>
        <div class="stack">
          <TextField
            label="Records"
            hint="Most records that one query may read. Empty: the server’s limit."
            {...wholeNumber}
            {...text('rows')}
          />
          <TextField
            label="Milliseconds"
            hint="Longest time that one query may take, 100 or more. Empty: the server’s limit."
            {...wholeNumber}
            {...text('time')}
          />
        </div>
      </details>
    </FormDialog>
  );
}

function isoDay(daysFromNow: number): string {
  return new Date(Date.now() + daysFromNow * dayMs).toISOString().slice(0, 10);
}

function expiryOf(lifetime: string, day: string): string | null {
  if (lifetime === 'never') return null;
  if (lifetime === 'date') return new Date(`${day}T23:59:59`).toISOString();
  return new Date(Date.now() + Number(lifetime) * dayMs).toISOString();
}

interface CreatedTokenProps {
  readonly token: NewToken;
  readonly onClose: () => void;
}

function CreatedToken({ token, onClose }: CreatedTokenProps): JSX.Element {
  const start = useRef<HTMLParagraphElement>(null);
  // the pressed button was removed
  useLayoutEffect(() => start.current?.focus(), []);
  const first = firstCommand(token.token, token.grants ?? {}, apiBase());
  return (
    <Dialog
      wide
      title="Copy the token now"
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p ref={start} tabIndex={-1}>
        The token <strong>{token.name}</strong> is shown only once. Keep it where you keep passwords.{' '}
        {token.expiresAt === null ? 'It never expires.' : `It expires on ${formatDate(token.expiresAt)}.`}
      </p>
      <CodeBlock code={token.token} label="Copy the token" />
      {first !== null && (
        <div class="field">
          <h3>Try it in a terminal</h3>
          <p class="hint">{first.hint}</p>
          <CodeBlock code={first.command} label="Copy the command" />
        </div>
      )}
    </Dialog>
  );
}

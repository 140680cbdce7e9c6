import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type OpenQuestion, openQuestion } from './confirmed.ts';
import { TextField } from './field.tsx';
import { FormDialog } from './form-dialog.tsx';
import { toast } from './toast.tsx';

export function ConfirmHost(): JSX.Element | null {
  return openQuestion.value && <ConfirmDialog {...openQuestion.value} />;
}

function ConfirmDialog({ question, answer }: OpenQuestion): JSX.Element {
  const [typed, setTyped] = useState('');
  const { title, body, confirm, kind = 'danger', run, done } = question;
  return (
    <FormDialog
      title={title}
      verb={confirm}
      kind={kind}
      asks={false}
      blocked={question.typed !== undefined && typed !== question.typed}
      send={async (signal, progress) => {
        await run?.(signal, progress);
        if (done !== undefined) toast(done);
        answer(true);
      }}
      onClose={() => answer(false)}
    >
      <p>{body}</p>
      {question.typed !== undefined && (
        <TextField
          label={`Type ${question.typed} to confirm`}
          required
          autoFocus
          value={typed}
          onInput={setTyped}
          autoComplete="off"
        />
      )}
    </FormDialog>
  );
}

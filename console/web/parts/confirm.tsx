import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { TextField } from './field.tsx';
import { FormDialog, type FormDialogProps } from './form-dialog.tsx';
import { toast } from './toast.tsx';

export interface Question {
  readonly title: string;
  /** What is lost, and that it can't be undone. */
  readonly body: ComponentChildren;
  /** The verb on the button: "Delete 3 files". */
  readonly confirm: string;
  /** For what destroys much: has to be typed first. */
  readonly typed?: string;
  /** What is done then, while the dialog is open. */
  readonly run?: FormDialogProps['send'];
  /** Said afterwards. */
  readonly done?: string;
}

const open = signal<{ question: Question; answer: (yes: boolean) => void } | null>(null);

/** Asks before something is destroyed, and destroys it. @returns whether that is done */
export function confirmed(question: Question): Promise<boolean> {
  open.value?.answer(false);
  return new Promise((resolve) => {
    open.value = {
      question,
      answer: (yes) => {
        open.value = null;
        resolve(yes);
      },
    };
  });
}

/** Closes at once, or when edits may be thrown away. */
export async function closeUnlessEdited(edited: boolean, close: () => void): Promise<void> {
  const question = {
    title: 'Discard your changes?',
    body: <p>What you entered has not been saved.</p>,
    confirm: 'Discard',
  };
  if (!edited || (await confirmed(question))) close();
}

export function ConfirmHost(): JSX.Element | null {
  return open.value && <ConfirmDialog {...open.value} />;
}

function ConfirmDialog({ question, answer }: NonNullable<typeof open.value>): JSX.Element {
  const [typed, setTyped] = useState('');
  const { title, body, confirm, run, done } = question;
  return (
    <FormDialog
      title={title}
      verb={confirm}
      kind="danger"
      blocked={question.typed !== undefined && typed !== question.typed}
      send={async (signal, progress) => {
        await run?.(signal, progress);
        if (done !== undefined) toast(done);
        answer(true);
      }}
      onClose={() => answer(false)}
    >
      <div>{body}</div>
      {question.typed !== undefined && (
        <TextField
          label={`Type ${question.typed} to confirm`}
          required
          value={typed}
          onInput={setTyped}
          autoComplete="off"
        />
      )}
    </FormDialog>
  );
}

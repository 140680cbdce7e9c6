import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './field.tsx';

export interface Question {
  readonly title: string;
  /** What is lost, and that it can't be undone. */
  readonly body: ComponentChildren;
  /** The verb on the button: "Delete 3 files". */
  readonly confirm: string;
  /** For what destroys much: has to be typed first. */
  readonly typed?: string;
}

const open = signal<{ question: Question; answer: (yes: boolean) => void } | null>(null);

/** Asks before something is destroyed. `if (await confirmed({...})) …` */
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

export function ConfirmHost(): JSX.Element | null {
  const current = open.value;
  if (current === null) return null;
  return <ConfirmDialog question={current.question} answer={current.answer} />;
}

function ConfirmDialog({
  question,
  answer,
}: {
  question: Question;
  answer: (yes: boolean) => void;
}): JSX.Element {
  const [typed, setTyped] = useState('');
  const blocked = question.typed !== undefined && typed !== question.typed;
  return (
    <Dialog title={question.title} onClose={() => answer(false)}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!blocked) answer(true);
        }}
      >
        <div>{question.body}</div>
        {question.typed !== undefined && (
          <TextField
            label={`Type ${question.typed} to confirm`}
            value={typed}
            onInput={setTyped}
            autoComplete="off"
          />
        )}
        <div class="dialog-actions">
          <Button onClick={() => answer(false)}>Cancel</Button>
          <Button kind="danger" type="submit" disabled={blocked}>
            {question.confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { type Question, useEdits } from './confirmed.ts';
import { Dialog } from './dialog.tsx';
import { useForm } from './form.ts';
import { ProblemNote } from './problem-note.tsx';
import { ProgressNote } from './progress.tsx';

export interface FormDialogProps {
  readonly title: string;
  readonly verb: string;
  readonly kind?: 'primary' | 'danger';
  /** Ask before closing with unsaved edits. */
  readonly asks?: boolean;
  readonly blocked?: boolean;
  /** The dialog shows its problem, and closing aborts it. */
  readonly send: NonNullable<Question['run']>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog that sends its form, and shows the progress. */
export function FormDialog(props: FormDialogProps): JSX.Element {
  const { title, verb, kind = 'primary', asks = true, blocked, send, children } = props;
  const [step, setStep] = useState<{ done: number; total: number | null } | null>(null);
  const form = useForm((signal) => send(signal, (done, total) => setStep({ done, total })));
  const { edit, close } = useEdits(props.onClose);
  return (
    <Dialog title={title} onClose={close}>
      <form class="stack" onSubmit={form.submit} onInput={asks ? edit : undefined}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        {children}
        {step !== null && <ProgressNote label={title} {...step} />}
        <div class="row dialog-actions sticky">
          <Button onClick={close}>{step === null ? 'Cancel' : 'Stop'}</Button>
          <Button kind={kind} type="submit" busy={form.busy} disabled={blocked ?? false}>
            {step !== null && form.problem !== null ? 'Try again' : verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

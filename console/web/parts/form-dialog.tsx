import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { useForm } from './form.ts';
import { ProblemNote } from './problem-note.tsx';
import { ProgressNote } from './progress.tsx';

/** @param total null when nobody knows */
export type ShowProgress = (done: number, total: number | null) => void;

export interface FormDialogProps {
  readonly title: string;
  /** What its button does: "Add the field". */
  readonly verb: string;
  readonly kind?: 'primary' | 'danger';
  readonly blocked?: boolean;
  /** Its problem stands in the dialog; closing the dialog aborts it. */
  readonly send: (signal: AbortSignal, progress: ShowProgress) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A dialog that sends what is filled in, and shows how far that is. */
export function FormDialog(props: FormDialogProps): JSX.Element {
  const { title, verb, kind = 'primary', blocked, send, onClose, children } = props;
  const [step, setStep] = useState<{ done: number; total: number | null } | null>(null);
  const form = useForm((signal) => send(signal, (done, total) => setStep({ done, total })));
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        {children}
        {step !== null && <ProgressNote label={title} {...step} />}
        <div class="dialog-actions">
          <Button onClick={onClose}>{step === null ? 'Cancel' : 'Stop'}</Button>
          <Button kind={kind} type="submit" busy={form.busy} disabled={blocked ?? false}>
            {step !== null && form.problem !== null ? 'Try again' : verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

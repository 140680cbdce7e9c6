import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';

/** Shows progress. @param total null: unknown */
export type ShowProgress = (done: number, total: number | null) => void;

export interface Question {
  readonly title: string;
  /** Names what is lost, and that it can't be undone. */
  readonly body: string;
  /** The verb on the button: "Delete 3 files". */
  readonly confirm: string;
  /** Absent: danger. */
  readonly kind?: 'primary';
  /** A text to type as an extra confirmation. */
  readonly typed?: string;
  /** Runs after the confirmation, while the dialog is open. */
  readonly run?: (signal: AbortSignal, progress: ShowProgress) => Promise<void>;
  /** The toast afterwards. */
  readonly done?: string;
}

export interface OpenQuestion {
  readonly question: Question;
  readonly answer: (yes: boolean) => void;
}

export const openQuestion = signal<OpenQuestion | null>(null);

/** Asks for a confirmation, then runs the action. @returns whether it was done */
export function confirmed(question: Question): Promise<boolean> {
  openQuestion.value?.answer(false);
  return new Promise((resolve) => {
    const answer = (yes: boolean): void => {
      openQuestion.value = null;
      resolve(yes);
    };
    openQuestion.value = { question, answer };
  });
}

const discard = {
  title: 'Discard your changes?',
  body: 'What you entered has not been saved.',
  confirm: 'Discard',
};

/** For a dialog: `edit` notes an edit, and `close` asks before discarding edits. */
export function useEdits(onClose: () => void): { readonly edit: () => void; readonly close: () => void } {
  const edited = useRef(false);
  const close = async (): Promise<void> => {
    if (!edited.current || (await confirmed(discard))) onClose();
  };
  const edit = (): void => {
    edited.current = true;
  };
  return { edit, close: () => void close() };
}

import { useEffect, useRef, useState } from 'preact/hooks';
import { isAbort, type Problem, toProblem } from '../problem.ts';

export interface Form {
  readonly busy: boolean;
  readonly problem: Problem | null;
  readonly submit: (event: SubmitEvent) => void;
}

/** Sends a form once at a time, and keeps its problem. */
export function useForm(send: (signal: AbortSignal) => Promise<void>): Form {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const request = useRef<AbortController | null>(null);
  useEffect(() => () => request.current?.abort(), []);
  const run = async (): Promise<void> => {
    const controller = new AbortController();
    request.current = controller;
    setBusy(true);
    setProblem(null);
    try {
      await send(controller.signal);
    } catch (thrown) {
      if (!isAbort(thrown)) setProblem(toProblem(thrown));
    } finally {
      setBusy(false);
    }
  };
  return {
    busy,
    problem,
    submit: (event) => {
      event.preventDefault();
      if (!busy) void run();
    },
  };
}

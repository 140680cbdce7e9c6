import { useEffect, useRef, useState } from 'preact/hooks';
import { isAbort, type Problem, toProblem } from '../problem.ts';

/**
 * Sends a form, one request at a time, and keeps its problem.
 * @param about when it changes, the problem is forgotten
 */
export function useForm(send: (signal: AbortSignal) => Promise<void>, about?: unknown) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const request = useRef<AbortController | null>(null);
  useEffect(() => () => request.current?.abort(), []);
  useEffect(() => setProblem(null), [about]);
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
    submit: (event: SubmitEvent): void => {
      event.preventDefault();
      if (!busy) void run();
    },
  };
}

type KeyOf<Values, Kind> = { [Key in keyof Values]: Values[Key] extends Kind ? Key : never }[keyof Values];

/** The values of a form, and the properties of the controls that change them. */
export function useFields<Values extends object>(initial: Values | (() => Values)) {
  const [values, setValues] = useState(initial);
  const change = (part: Partial<Values>): void => setValues((last) => ({ ...last, ...part }));
  const text = (key: KeyOf<Values, string>) => ({
    value: values[key] as string,
    onInput: (value: string) => change({ [key]: value } as Partial<Values>),
  });
  const flag = (key: KeyOf<Values, boolean>) => ({
    checked: values[key] as boolean,
    onChange: (checked: boolean) => change({ [key]: checked } as Partial<Values>),
  });
  return { values, change, text, flag };
}

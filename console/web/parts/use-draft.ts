import { useEffect, useRef, useState } from 'preact/hooks';

export interface Draft {
  readonly text: string;
  readonly setText: (text: string) => void;
  /** Without waiting any longer. */
  readonly send: () => void;
}

/** A text that counts once nobody has typed for a moment. A change from elsewhere, such as Back, is shown. */
export function useDraft(value: string, onSettled: (text: string) => void, settleMs: number): Draft {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // what was typed here may have gone on since
    if (sent.current !== value) setText(value);
    sent.current = value;
  }, [value]);
  const send = (): void => {
    if (sent.current === text) return;
    sent.current = text;
    onSettled(text);
  };
  useEffect(() => {
    const timer = setTimeout(send, settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return { text, setText, send };
}

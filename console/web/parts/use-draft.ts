import { useEffect, useRef, useState } from 'preact/hooks';

/** A debounced text, which is sent after a pause in typing. Shows changes from elsewhere, such as the back button. */
export function useDraft(value: string, onSettled: (text: string) => void, settleMs: number) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // the text here may have changed since
    if (sent.current !== value) setText(value);
    sent.current = value;
  }, [value]);
  /** Sends it at once. */
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

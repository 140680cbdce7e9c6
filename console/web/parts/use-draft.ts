import { useEffect, useRef, useState } from 'preact/hooks';

/** A debounced text: it counts once nobody has typed for a moment. A change from elsewhere, such as Back, is shown. */
export function useDraft(value: string, onSettled: (text: string) => void, settleMs: number) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // the text here may have changed since
    if (sent.current !== value) setText(value);
    sent.current = value;
  }, [value]);
  /** Without waiting any longer. */
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

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { announce, toastProblem } from './toast.tsx';

/** Copies text, and says that it did. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new Error('The browser does not let this page copy. Select the text and copy it by hand.');
  }
  announce('Copied');
}

export function CopyButton({
  text,
  label,
}: {
  readonly text: string;
  /** Its label, such as "Copy the token". */
  readonly label: string;
}): JSX.Element {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(setCopied, 2_000, false);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async (): Promise<void> => {
    try {
      await copyText(text);
      setCopied(true);
    } catch (thrown) {
      toastProblem(thrown);
    }
  };
  return (
    <Button small label={label} onClick={() => void copy()}>
      <Icon name={copied ? 'check' : 'copy'} />
      <span>{copied ? 'Copied' : 'Copy'}</span>
    </Button>
  );
}

/** A command or some code, with a button that copies it. */
export function CodeBlock({
  code,
  label = 'Copy the code',
}: {
  readonly code: string;
  readonly label?: string;
}): JSX.Element {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
      <CopyButton text={code} label={label} />
    </div>
  );
}

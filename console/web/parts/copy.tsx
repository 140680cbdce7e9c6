import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { announce, toastProblem } from './toast.tsx';

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new Error('The browser does not let this page copy. Select the text and copy it by hand.');
  }
  announce('Copied');
}

interface CopyButtonProps {
  readonly text: string;
  /** Such as "Copy the token". */
  readonly label: string;
}

function CopyButton({ text, label }: CopyButtonProps): JSX.Element {
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

interface CodeBlockProps {
  readonly code: string;
  /** A shorter text to show, if `code` is large. */
  readonly shown?: string;
  readonly label?: string;
}

export function CodeBlock({ code, shown = code, label = 'Copy the code' }: CodeBlockProps): JSX.Element {
  return (
    <div class="code-block">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to reach it */}
      <pre tabIndex={0}>
        <code>{shown}</code>
      </pre>
      <CopyButton text={code} label={label} />
    </div>
  );
}

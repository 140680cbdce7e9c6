import type { JSX } from 'preact';
import { CodeBlock } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { signingKey } from './webhook-api.ts';

/** Shows the key by which a receiver checks that a call is ours. */
export function SigningKeyDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const { data, problem, reload } = useLoad(signingKey, []);
  return (
    <Dialog title="Signing key" onClose={onClose}>
      <div class="stack">
        <p>Calls are signed with it as Standard Webhooks says. Keep it where you keep your passwords.</p>
        {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
        {data !== null && <CodeBlock code={data} label="Copy the signing key" />}
      </div>
    </Dialog>
  );
}

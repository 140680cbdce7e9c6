import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { apiBase } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import type { Space } from '../projects/projects-api.ts';
import { to } from '../router.ts';
import { filterProblems, type RecordView } from './record-view.ts';
import { clientSnippet, curlSnippet, fetchSnippet } from './snippets.ts';

const limit = 50;
const kinds = { curl: 'curl', fetch: 'fetch', client: 'nobox-client' } as const;

interface SnippetsDialogProps {
  readonly project: string;
  readonly space: Space;
  readonly view: RecordView;
  readonly onClose: () => void;
}

/** Code that reads the records on the screen. */
export function SnippetsDialog({ project, space, view, onClose }: SnippetsDialogProps): JSX.Element {
  const [kind, setKind] = useState<keyof typeof kinds>('curl');
  const [wrong] = filterProblems(view, space.fields);
  if (wrong !== undefined) {
    return (
      <Dialog title="Code for this view" onClose={onClose}>
        <p role="status">{wrong.join(': ')}</p>
      </Dialog>
    );
  }
  const input = { apiUrl: apiBase(), project, space, view, limit };
  const client = clientSnippet(input);
  return (
    <Dialog title="Code for this view" wide onClose={onClose}>
      <div class="row">
        {Object.entries(kinds).map(([value, label]) => (
          <Button
            key={value}
            small
            pressed={kind === value}
            onClick={() => setKind(value as keyof typeof kinds)}
          >
            {label}
          </Button>
        ))}
      </div>
      {kind === 'curl' && <CodeBlock code={curlSnippet(input)} />}
      {kind === 'fetch' && <CodeBlock code={fetchSnippet(input)} />}
      {kind === 'client' &&
        ('code' in client ? <CodeBlock code={client.code} /> : <p role="status">{client.problem}</p>)}
      <p class="quiet">
        Replace <code>ACCESS_TOKEN</code> with an access token. <a href={to`/tokens`}>Create one</a>.
      </p>
    </Dialog>
  );
}

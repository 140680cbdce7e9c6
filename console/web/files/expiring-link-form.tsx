import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CodeBlock, copyText } from '../parts/copy.tsx';
import { SelectField } from '../parts/field.tsx';
import { useForm } from '../parts/form.ts';
import { formatTime } from '../parts/format.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toast } from '../parts/toast.tsx';
import { createLink, type ExpiringLink } from './file-links.ts';

/** Lifetimes of links, by seconds. */
const lifetimes = Object.entries({ 3600: '1 hour', 86400: '1 day', 604800: '7 days' });

interface ExpiringLinkFormProps {
  readonly project: string;
  /** Of a file, or the id of a folder. */
  readonly name: string;
}

export function ExpiringLinkForm({ project, name }: ExpiringLinkFormProps): JSX.Element {
  const [lifetime, setLifetime] = useState('3600');
  const [created, setCreated] = useState<ExpiringLink | null>(null);
  const form = useForm(async (signal) => {
    const link = await createLink(project, name, Number(lifetime), signal);
    setCreated(link);
    await copyText(link.link);
    toast('The link was created and copied.');
  });
  return (
    <>
      {form.problem !== null && <ProblemNote problem={form.problem} />}
      <form class="row" onSubmit={form.submit}>
        <div class="grow">
          <SelectField
            label="Valid for"
            hideLabel
            value={lifetime}
            onInput={setLifetime}
            options={lifetimes}
          />
        </div>
        <Button type="submit" busy={form.busy}>
          Create and copy
        </Button>
      </form>
      {created !== null && (
        <>
          <CodeBlock code={created.link} label="Copy the expiring link" />
          <p class="hint">Until {formatTime(created.expiresAt)}.</p>
        </>
      )}
    </>
  );
}

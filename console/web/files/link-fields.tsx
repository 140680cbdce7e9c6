import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { CodeBlock, copyText } from '../parts/copy.tsx';
import { SelectField } from '../parts/field.tsx';
import { useForm } from '../parts/form.ts';
import { formatTime } from '../parts/format.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toast } from '../parts/toast.tsx';
import { createLink, type ExpiringLink, type FileProps } from './file-api.ts';

const lives = [
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '604800', label: '7 days' },
];

/** The address of a file, and links to it that expire. */
export function LinkFields({ project, file }: FileProps): JSX.Element {
  const [life, setLife] = useState('3600');
  const [created, setCreated] = useState<ExpiringLink | null>(null);
  const form = useForm(async (signal) => {
    const link = await createLink(project, file.name, Number(life), signal);
    setCreated(link);
    await copyText(link.link);
    toast('The link was created and copied.');
  });
  return (
    <div class="stack">
      <div class="field">
        <h3>Permanent link</h3>
        <p class="hint">Anyone who has it can read the file, unless this server keeps files private.</p>
        <CodeBlock code={file.s3Link} label="Copy the link" />
      </div>
      <div class="field">
        <h3>Link that expires</h3>
        <p class="hint">Opens this one file without a token until then. It can't be taken back.</p>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <form class="row" onSubmit={form.submit}>
          <div class="grow">
            <SelectField label="Good for" hideLabel value={life} onChange={setLife} options={lives} />
          </div>
          <Button type="submit" busy={form.busy}>
            Create and copy
          </Button>
        </form>
        {created !== null && (
          <>
            <CodeBlock code={created.link} label="Copy the link that expires" />
            <p class="hint">Until {formatTime(created.expiresAt)}.</p>
          </>
        )}
      </div>
    </div>
  );
}

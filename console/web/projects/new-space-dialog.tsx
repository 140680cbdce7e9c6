import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { TextField } from '../parts/field.tsx';
import { useForm } from '../parts/form.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { navigate, to } from '../router.ts';
import { changeFields } from './projects-api.ts';

export function NewSpaceDialog({
  project,
  onClose,
}: {
  readonly project: string;
  readonly onClose: () => void;
}): JSX.Element {
  const [name, setName] = useState('');
  const [slug, setSlug] = useState<string | null>(null);
  const [description, setDescription] = useState('');
  // as the published client makes it
  const made = slug ?? name.trim().toLowerCase();
  const form = useForm(async () => {
    await changeFields(project, { slug: made, name: name.trim(), description, fields: [] }, []);
    navigate(to`/projects/${project}/spaces/${made}/structure`);
  });
  return (
    <Dialog title="New record space" onClose={onClose}>
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <TextField
          label="Name"
          hint="A kind of record, such as People."
          required
          autoFocus
          autoComplete="off"
          maxLength={200}
          value={name}
          onInput={setName}
        />
        <TextField
          label="Slug"
          hint={`It stands in addresses: /${project}/${made || 'people'}.`}
          required
          autoComplete="off"
          maxLength={200}
          spellcheck={false}
          value={made}
          onInput={setSlug}
        />
        <TextField label="Description" value={description} onInput={setDescription} />
        <div class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={form.busy}>
            Make the record space
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

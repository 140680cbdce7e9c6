import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { TextField } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { navigate, to } from '../router.ts';
import { changeStructure } from './projects-api.ts';
import { suggestedSlug } from './structure.ts';

interface NewSpaceDialogProps {
  readonly project: string;
  readonly onClose: () => void;
}

export function NewSpaceDialog({ project, onClose }: NewSpaceDialogProps): JSX.Element {
  const [name, setName] = useState('');
  const [typedSlug, setSlug] = useState<string | null>(null);
  const [description, setDescription] = useState('');
  const slug = typedSlug ?? suggestedSlug(name);
  const send = async (): Promise<void> => {
    await changeStructure(project, { slug, name: name.trim(), description }, []);
    navigate(to`/projects/${project}/spaces/${slug}/structure`);
  };
  return (
    <FormDialog title="New record space" verb="Create the record space" send={send} onClose={onClose}>
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
        hint={`It stands in addresses: /${project}/${slug || 'people'}.`}
        required
        autoComplete="off"
        maxLength={200}
        spellcheck={false}
        value={slug}
        onInput={setSlug}
      />
      <TextField label="Description" value={description} onInput={setDescription} />
    </FormDialog>
  );
}

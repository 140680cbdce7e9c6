import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { joinedSlug } from '#kernel/ids/slug-of-name.ts';
import { NameField, TextField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { navigate, to } from '../router.ts';
import { changeStructure } from './projects-api.ts';

interface NewSpaceDialogProps {
  readonly project: string;
  readonly onClose: () => void;
}

export function NewSpaceDialog({ project, onClose }: NewSpaceDialogProps): JSX.Element {
  const { values, text } = useFields({ name: '', description: '' });
  const [typedSlug, setSlug] = useState<string | null>(null);
  const slug = typedSlug ?? joinedSlug(values.name);
  const send = async (): Promise<void> => {
    await changeStructure(project, { ...values, slug, name: values.name.trim() }, []);
    navigate(to`/projects/${project}/spaces/${slug}/structure`);
  };
  return (
    <FormDialog title="New record space" verb="Create the record space" send={send} onClose={onClose}>
      <NameField label="Name" hint="A kind of record, such as People." autoFocus {...text('name')} />
      <NameField
        label="Slug"
        hint={`Used in URLs, such as /${project}/${slug || 'people'}.`}
        spellcheck={false}
        value={slug}
        onInput={setSlug}
      />
      <TextField label="Description" {...text('description')} />
    </FormDialog>
  );
}

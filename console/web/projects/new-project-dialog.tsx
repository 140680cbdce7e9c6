import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { SelectField, TextField } from '../parts/field.tsx';
import { FormDialog } from '../parts/form-dialog.tsx';
import { navigate, to } from '../router.ts';
import { changeStructure } from './projects-api.ts';
import { suggestedSlug } from './structure.ts';

const slugHint = 'Letters, digits, - and _, beginning with a letter or digit.';
const slugPattern = '[A-Za-z0-9][A-Za-z0-9_\\-]{0,62}';

/** A project begins with its first space or file: there is no call that creates an empty one. */
export function NewProjectDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [slug, setSlug] = useState('');
  const [first, setFirst] = useState('space');
  const [name, setName] = useState('');
  const send = async (): Promise<void> => {
    if (first === 'files') return navigate(to`/projects/${slug}/files`);
    const space = suggestedSlug(name);
    await changeStructure(slug, { slug: space, name: name.trim(), description: '' }, []);
    navigate(to`/projects/${slug}/spaces/${space}/structure`);
  };
  return (
    <FormDialog
      title="New project"
      verb={first === 'files' ? 'Go to the files' : 'Create the project'}
      send={send}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint={`It stands in addresses: /${slug || 'my-app'}/people. ${slugHint}`}
        required
        autoFocus
        autoComplete="off"
        maxLength={63}
        pattern={slugPattern}
        spellcheck={false}
        value={slug}
        onInput={(text) => setSlug(text.replace(/\s+/g, '-'))}
      />
      <SelectField
        label="It begins with"
        value={first}
        onChange={setFirst}
        options={[
          { value: 'space', label: 'a record space' },
          { value: 'files', label: 'files' },
        ]}
      />
      {first === 'space' ? (
        <TextField
          label="Name of the record space"
          hint="A kind of record, such as People. Its fields come next."
          required
          autoComplete="off"
          maxLength={200}
          value={name}
          onInput={setName}
        />
      ) : (
        <p class="quiet">The first upload creates the project.</p>
      )}
    </FormDialog>
  );
}

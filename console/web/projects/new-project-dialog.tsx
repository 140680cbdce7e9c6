import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SelectField, TextField } from '../parts/field.tsx';
import { useForm } from '../parts/form.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { navigate, to } from '../router.ts';
import { changeFields } from './projects-api.ts';

export const slugHint = 'Letters, digits, - and _, beginning with a letter or digit.';
const slugPattern = '[A-Za-z0-9][A-Za-z0-9_\\-]{0,62}';

/** A project begins with what is stored in it first: there is no call that makes an empty one. */
export function NewProjectDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [slug, setSlug] = useState('');
  const [first, setFirst] = useState('space');
  const [space, setSpace] = useState('');
  const form = useForm(async () => {
    if (first === 'files') return navigate(to`/projects/${slug}/files`);
    const spaceSlug = space.trim().toLowerCase();
    await changeFields(slug, { slug: spaceSlug, name: space.trim(), description: '', fields: [] }, []);
    navigate(to`/projects/${slug}/spaces/${spaceSlug}/structure`);
  });
  return (
    <Dialog title="New project" onClose={onClose}>
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
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
          onInput={setSlug}
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
            value={space}
            onInput={setSpace}
          />
        ) : (
          <p class="quiet">The first upload makes the project.</p>
        )}
        <div class="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={form.busy}>
            {first === 'files' ? 'Go to the files' : 'Make the project'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

import type { JSX } from 'preact';
import { joinedSlug } from '#kernel/ids/slug-of-name.ts';
import { NameField, SelectField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { navigate, to } from '../router.ts';
import { changeStructure } from './projects-api.ts';

const slugHint = 'Letters, digits, - and _, beginning with a letter or digit.';
const slugPattern = '[A-Za-z0-9][A-Za-z0-9_\\-]{0,62}';

/** A project is created by its first space or file: the API can't create an empty one. */
export function NewProjectDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const { values, change, text } = useFields({ slug: '', first: 'space', name: '' });
  const { slug, first, name } = values;
  const send = async (): Promise<void> => {
    if (first === 'files') return navigate(to`/projects/${slug}/files`);
    const space = joinedSlug(name);
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
      <NameField
        label="Name"
        hint={`Used in URLs, such as /${slug || 'my-app'}/people. ${slugHint}`}
        autoFocus
        maxLength={63}
        pattern={slugPattern}
        spellcheck={false}
        value={slug}
        onInput={(value) => change({ slug: value.replace(/\s+/g, '-') })}
      />
      <SelectField
        label="Start with"
        {...text('first')}
        options={Object.entries({ space: 'a record space', files: 'files' })}
      />
      {first === 'space' ? (
        <NameField
          label="Name of the record space"
          hint="A kind of record, such as People. You add its fields next."
          {...text('name')}
        />
      ) : (
        <p class="quiet">The first upload creates the project.</p>
      )}
    </FormDialog>
  );
}

import type { JSX } from 'preact';
import { CheckboxField, NameField, TextField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { toast } from '../parts/toast.tsx';
import { changeStructure, type Space } from './projects-api.ts';

interface SpaceDialogProps {
  readonly project: string;
  readonly space: Space;
  readonly onClose: () => void;
  readonly onSaved: () => void;
}

const families = ['find', 'insert', 'update', 'delete'];

export function SpaceDialog({ project, space, onClose, onSaved }: SpaceDialogProps): JSX.Element {
  const { webhooks, authOptions } = space.structure ?? {};
  const {
    values: draft,
    change,
    text,
    flag,
  } = useFields({
    name: space.name,
    description: space.description,
    onInsertUrl: webhooks?.onInsertUrl ?? '',
    onUpdateUrl: webhooks?.onUpdateUrl ?? '',
    active: authOptions?.active ?? false,
    users: authOptions?.space ?? '',
    scope: authOptions?.scope ?? families,
  });
  const send = async (): Promise<void> => {
    const { name, description, onInsertUrl, onUpdateUrl, active, users, scope } = draft;
    const called = [webhooks?.onInsertUrl, webhooks?.onUpdateUrl, onInsertUrl, onUpdateUrl].some(Boolean);
    await changeStructure(project, { slug: space.slug, name: name.trim(), description }, [], {
      ...(called ? { webhooks: { onInsertUrl, onUpdateUrl } } : {}),
      ...(active || authOptions ? { authOptions: { active, space: users.trim(), scope } } : {}),
    });
    toast(`Record space ${space.slug} saved.`);
    onSaved();
  };
  return (
    <FormDialog title={`Edit ${space.slug}`} verb="Save" send={send} onClose={onClose}>
      <NameField label="Name" autoFocus {...text('name')} />
      <TextField label="Description" {...text('description')} />
      <TextField
        label="Call after inserts"
        hint="Webhook: this address gets each new record."
        type="url"
        {...text('onInsertUrl')}
      />
      <TextField label="Call after updates" type="url" {...text('onUpdateUrl')} />
      <CheckboxField
        label="For logged-in users only"
        hint="Operations then also need the login token of a user of your application."
        {...flag('active')}
      />
      {draft.active && (
        <>
          <NameField label="Record space of the users" {...text('users')} />
          <fieldset class="row">
            <legend class="hint">Operations that need a login</legend>
            {families.map((family) => (
              <CheckboxField
                key={family}
                label={family}
                checked={draft.scope.includes(family)}
                onChange={(on) =>
                  // a scope may name single operations, too: those stay
                  change({
                    scope: on ? [...draft.scope, family] : draft.scope.filter((one) => one !== family),
                  })
                }
              />
            ))}
          </fieldset>
        </>
      )}
    </FormDialog>
  );
}

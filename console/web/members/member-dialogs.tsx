import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Grants } from '#kernel/grants.ts';
import { EmailField } from '../account/credential-fields.tsx';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { CheckboxField } from '../parts/field.tsx';
import { useFields } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { formatDate } from '../parts/format.ts';
import { to } from '../router.ts';
import { callConsole } from '../session.ts';
import { GrantsField } from '../tokens/grants-field.tsx';
import type { Member, NewInvitation } from './members-api.ts';

interface TermsFieldsProps {
  readonly grants: Grants | null;
  readonly onGrants: (grants: Grants | null) => void;
  readonly manages: boolean;
  readonly onManages: (manages: boolean) => void;
}

function TermsFields({ grants, onGrants, manages, onManages }: TermsFieldsProps): JSX.Element {
  return (
    <>
      <GrantsField forMember grants={grants} onChange={onGrants} />
      <CheckboxField
        label="manage tokens and members"
        hint="Within these grants: nobody can grant more than they have."
        checked={manages}
        onChange={onManages}
      />
    </>
  );
}

interface InviteDialogProps {
  readonly onInvited: () => void;
  readonly onClose: () => void;
}

/** What is ticked at first: more is a choice. */
const fewGrants: Grants = { may: ['find', 'files:read'] };

/** Asks whom to invite and for what, then shows the link once. */
export function InviteDialog({ onInvited, onClose }: InviteDialogProps): JSX.Element {
  const [made, setMade] = useState<NewInvitation | null>(null);
  const [grants, setGrants] = useState<Grants | null>(fewGrants);
  const { values, text, change } = useFields({ email: '', manages: false });
  if (made !== null) return <InvitationLink invitation={made} onClose={onClose} />;
  const send = async (signal: AbortSignal): Promise<void> => {
    setMade(await callConsole('/invitations', { method: 'POST', json: { ...values, grants }, signal }));
    onInvited();
  };
  return (
    <FormDialog title="Invite a person" verb="Invite" send={send} onClose={onClose}>
      <EmailField autoFocus {...text('email')} />
      <TermsFields
        grants={grants}
        onGrants={setGrants}
        manages={values.manages}
        onManages={(manages) => change({ manages })}
      />
    </FormDialog>
  );
}

function InvitationLink({
  invitation,
  onClose,
}: {
  readonly invitation: NewInvitation;
  readonly onClose: () => void;
}): JSX.Element {
  const start = useRef<HTMLParagraphElement>(null);
  // the pressed button was removed
  useLayoutEffect(() => start.current?.focus(), []);
  const link = `${window.location.origin}${to`/invitation`}#${invitation.token}`;
  return (
    <Dialog
      wide
      title="Send this link"
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p ref={start} tabIndex={-1}>
        {invitation.isSent ? 'A mail with it is on its way. ' : ''}The link is shown only once. It works once,
        for <strong>{invitation.email}</strong>, until {formatDate(invitation.expiresAt)}.
      </p>
      <CodeBlock code={link} label="Copy the link" />
    </Dialog>
  );
}

interface ChangeMemberDialogProps {
  readonly member: Member;
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

export function ChangeMemberDialog({ member, onChanged, onClose }: ChangeMemberDialogProps): JSX.Element {
  const [grants, setGrants] = useState(member.grants);
  const [manages, setManages] = useState(member.manages);
  const send = async (signal: AbortSignal): Promise<void> => {
    const path = `/members/${encodeURIComponent(member.id)}`;
    await callConsole(path, { method: 'POST', json: { grants, manages }, signal });
    onChanged();
    onClose();
  };
  return (
    <FormDialog title={`What ${member.email} may do`} verb="Save" send={send} onClose={onClose}>
      <p class="quiet">
        It takes effect at once. Tokens that this member made and that exceed it are revoked.
      </p>
      <TermsFields grants={grants} onGrants={setGrants} manages={manages} onManages={setManages} />
    </FormDialog>
  );
}

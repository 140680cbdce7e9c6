import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { grantsInWords } from '#kernel/grants.ts';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Time } from '../parts/time.tsx';
import { type Account, callConsole } from '../session.ts';
import { ChangeMemberDialog, InviteDialog } from './member-dialogs.tsx';
import type { Invitation, Member, MemberTerms } from './members-api.ts';

type Row = (Member & { readonly isOwner?: false }) | (Account & { readonly isOwner: true });

export function MembersPage(): JSX.Element {
  const { data, problem, reload } = useLoad(async (signal) => {
    const [people, open] = await Promise.all([
      callConsole<{ owner: Account; members: readonly Member[] }>('/members', { signal }),
      callConsole<{ invitations: readonly Invitation[] }>('/invitations', { signal }),
    ]);
    const rows: readonly Row[] = [{ ...people.owner, isOwner: true }, ...people.members];
    return { rows, invitations: open.invitations };
  }, []);
  const [inviting, setInviting] = useState(false);
  const [changing, setChanging] = useState<Member | null>(null);
  const act = async (done: Promise<boolean>): Promise<void> => {
    if (await done) reload();
  };
  return (
    <Page
      title="Members"
      intro="People who work in this account with their own login. Each gets only what you grant."
      actions={
        <Button icon="plus" kind="primary" onClick={() => setInviting(true)}>
          Invite
        </Button>
      }
    >
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {(data !== null || problem === null) && (
        <DataTable
          caption="Members"
          columns={memberColumns(setChanging, (member) => void act(remove(member)))}
          rows={data?.rows ?? null}
          rowKey={({ id }) => id}
        />
      )}
      {data !== null && data.invitations.length > 0 && (
        <section class="stack" aria-labelledby="open-invitations">
          <h2 id="open-invitations">Open invitations</h2>
          <DataTable
            caption="Open invitations"
            columns={invitationColumns((invitation) => void act(withdraw(invitation)))}
            rows={data.invitations}
            rowKey={({ id }) => id}
          />
        </section>
      )}
      {inviting && <InviteDialog onInvited={reload} onClose={() => setInviting(false)} />}
      {changing !== null && (
        <ChangeMemberDialog member={changing} onChanged={reload} onClose={() => setChanging(null)} />
      )}
    </Page>
  );
}

function remove({ id, email }: Member): Promise<boolean> {
  return confirmed({
    title: `Remove ${email}?`,
    body: 'Access ends within a second, and the tokens that this member made are revoked.',
    confirm: 'Remove the member',
    run: () => callConsole(`/members/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    done: `${email} removed.`,
  });
}

function withdraw({ id, email }: Invitation): Promise<boolean> {
  return confirmed({
    title: `Withdraw the invitation for ${email}?`,
    body: 'Its link stops working.',
    confirm: 'Withdraw it',
    run: () => callConsole(`/invitations/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    done: 'Invitation withdrawn.',
  });
}

function Terms({ grants, manages }: MemberTerms): JSX.Element {
  return (
    <>
      {grantsInWords(grants ?? {})}
      {manages && <div class="hint">and manage tokens and members</div>}
    </>
  );
}

function memberColumns(
  onChange: (member: Member) => void,
  onRemove: (member: Member) => void,
): readonly Column<Row>[] {
  return [
    {
      label: 'Person',
      cell: (row) => (
        <div>
          {row.email} {row.isOwner && <span class="badge">owner</span>}
          {!row.isOwner && row.isYou && <span class="badge">you</span>}
          {row.name !== '' && <div class="hint">{row.name}</div>}
        </div>
      ),
    },
    { label: 'Grants', cell: (row) => (row.isOwner ? 'may do everything' : <Terms {...row} />) },
    { label: 'Since', cell: (row) => (row.isOwner ? null : <Time date={row.joinedAt} />) },
    toolsColumn(
      (row) =>
        !row.isOwner &&
        !row.isYou && (
          <span class="row">
            <Button small label={`Change ${row.email}`} onClick={() => onChange(row)}>
              Change
            </Button>
            <Button small label={`Remove ${row.email}`} onClick={() => onRemove(row)}>
              Remove
            </Button>
          </span>
        ),
    ),
  ];
}

function invitationColumns(onWithdraw: (invitation: Invitation) => void): readonly Column<Invitation>[] {
  return [
    { label: 'Email', cell: ({ email }) => email },
    { label: 'Grants', cell: (invitation) => <Terms {...invitation} /> },
    { label: 'Expires', cell: ({ expiresAt }) => <Time date={expiresAt} /> },
    toolsColumn((invitation) => (
      <Button small label={`Withdraw ${invitation.email}`} onClick={() => onWithdraw(invitation)}>
        Withdraw
      </Button>
    )),
  ];
}

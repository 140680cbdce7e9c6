import type { JSX } from 'preact';
import { grantsInWords } from '#kernel/grants.ts';
import { PasswordField } from '../account/credential-fields.tsx';
import { SignedOutPage } from '../account/signed-out-page.tsx';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import { useFields, useForm } from '../parts/form.ts';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { navigate, to } from '../router.ts';
import { callConsole, forgetSession, type Session, session } from '../session.ts';
import { linkToken } from './link-token.ts';
import type { MemberTerms } from './members-api.ts';

interface ShownInvitation extends MemberTerms {
  readonly email: string;
  readonly account: { readonly email: string; readonly name: string };
}

interface StepProps {
  readonly token: string;
  readonly invitation: ShownInvitation;
}

/** Accepts an invitation, with an account or with a new one. */
export function InvitationPage(): JSX.Element {
  const token = linkToken();
  const { data, problem } = useLoad(
    async (signal) =>
      token === null
        ? null
        : callConsole<ShownInvitation>('/invitation', { method: 'POST', json: { token }, signal }),
    [],
  );
  const back = <a href={to`/projects`}>Go to the dashboard</a>;
  if (token === null)
    return (
      <SignedOutPage title="Invitation" foot={back}>
        <p>Open the link of the invitation again, or ask for another one.</p>
      </SignedOutPage>
    );
  if (data === null)
    return (
      <SignedOutPage title="Invitation" foot={problem !== null && back}>
        {problem !== null && <ProblemNote problem={problem} />}
      </SignedOutPage>
    );
  const user = session.value?.account;
  return (
    <SignedOutPage title="You are invited" foot={back}>
      <p>
        <strong>{data.account.email}</strong> invites <strong>{data.email}</strong> to work in their account.
        You {grantsInWords(data.grants ?? {})}
        {data.manages && ', and manage tokens and members'}.
      </p>
      {user == null ? (
        <Join token={token} invitation={data} />
      ) : user.email === data.email ? (
        <Accept token={token} invitation={data} />
      ) : (
        <OtherUser email={user.email} />
      )}
    </SignedOutPage>
  );
}

function Accept({ token }: StepProps): JSX.Element {
  const form = useForm(async (signal) => {
    session.value = await callConsole<Session>('/invitation/accept', {
      method: 'POST',
      json: { token },
      signal,
    });
    navigate(to`/projects`);
  });
  return (
    <form class="stack" onSubmit={form.submit}>
      {form.problem !== null && <ProblemNote problem={form.problem} />}
      <Button kind="primary" type="submit" busy={form.busy}>
        Accept the invitation
      </Button>
    </form>
  );
}

function OtherUser({ email }: { readonly email: string }): JSX.Element {
  const form = useForm(async (signal) => {
    await callConsole('/logout', { method: 'POST', signal });
    forgetSession();
  });
  return (
    <form class="stack" onSubmit={form.submit}>
      {form.problem !== null && <ProblemNote problem={form.problem} />}
      <p>You are logged in as {email}. Log out to accept it with the other address.</p>
      <Button type="submit" busy={form.busy}>
        Log out
      </Button>
    </form>
  );
}

function Join({ token, invitation }: StepProps): JSX.Element {
  const { values, text } = useFields({ name: '', password: '' });
  const form = useForm(async (signal) => {
    const json = { ...values, email: invitation.email, invitation: token };
    session.value = await callConsole<Session>('/register', { method: 'POST', json, signal });
    navigate(to`/projects`);
  });
  return (
    <form class="stack" onSubmit={form.submit}>
      {form.problem !== null && <ProblemNote problem={form.problem} />}
      <p>
        Have an account? <a href={`${to`/login`}?next=/invitation`}>Log in</a>. Otherwise create one:
      </p>
      <TextField label="Name" autoComplete="name" maxLength={100} {...text('name')} />
      <input type="hidden" autoComplete="username" value={invitation.email} />
      <PasswordField isNew {...text('password')} />
      <Button kind="primary" type="submit" busy={form.busy}>
        Create the account and join
      </Button>
    </form>
  );
}

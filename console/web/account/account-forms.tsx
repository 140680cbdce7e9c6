import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { useFields, useForm } from '../parts/form.ts';
import { FormDialog } from '../parts/form-dialog.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toast } from '../parts/toast.tsx';
import { navigate, to } from '../router.ts';
import { type Account, callConsole, enterAccount, forgetSession, loadSession, session } from '../session.ts';
import { ConfirmField } from './confirm-field.tsx';
import { EmailField } from './credential-fields.tsx';

export function EmailForm(): JSX.Element {
  const { values, change, text } = useFields({ email: '', password: '' });
  const form = useForm(async (signal) => {
    const sent = await callConsole<{ isSent: true } | undefined>('/email', {
      method: 'POST',
      json: values,
      signal,
    });
    change({ email: '', password: '' });
    toast(
      sent === undefined
        ? 'Email address changed. All other sessions have ended.'
        : 'If the address can be used, it gets a mail with a link.',
    );
    await loadSession();
  });
  return (
    <section class="card narrow stack" aria-labelledby="change-email">
      <div>
        <h2 id="change-email">Change the email address</h2>
        <p class="quiet">
          You log in with it
          {session.value?.account?.hasPassword === false &&
            ', so the provider has to name it, unless you set a password first'}
          . This ends all other sessions.
        </p>
      </div>
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <EmailField {...text('email')} label="New email" />
        <ConfirmField {...text('password')} label="Your password" />
        <div class="row">
          <Button kind="primary" type="submit" busy={form.busy}>
            Change the address
          </Button>
        </div>
      </form>
    </section>
  );
}

/** Ends the membership of the account that the session acts for. */
export function LeaveSection({ user, account }: Record<'user' | 'account', Account>): JSX.Element {
  const leave = async (): Promise<void> => {
    const left = await confirmed({
      title: `Leave the account of ${account.email}?`,
      body: 'Your access ends, and the tokens that you made there are revoked.',
      confirm: 'Leave the account',
      run: () => callConsole('/leave', { method: 'POST' }),
      done: 'You left the account.',
    });
    if (!left) return;
    await enterAccount(user.id);
    navigate(to`/projects`);
  };
  return (
    <section class="card narrow stack" aria-labelledby="leave-account">
      <div>
        <h2 id="leave-account">Leave the account of {account.email}</h2>
        <p class="quiet">
          You are a member of it. Everything on this page except this is about your own login.
        </p>
      </div>
      <div class="row">
        <Button kind="danger" onClick={() => void leave()}>
          Leave the account
        </Button>
      </div>
    </section>
  );
}

export function DeleteSection({ user }: { readonly user: Account }): JSX.Element {
  const [asking, setAsking] = useState(false);
  return (
    <section class="card narrow stack" aria-labelledby="delete-account">
      <div>
        <h2 id="delete-account">Delete your account</h2>
        <p class="quiet">
          With its projects, records, files, tokens and members. It stops working within a second, and can’t
          be restored.
        </p>
      </div>
      <div class="row">
        <Button kind="danger" onClick={() => setAsking(true)}>
          Delete the account
        </Button>
      </div>
      {asking && <DeleteDialog user={user} onClose={() => setAsking(false)} />}
    </section>
  );
}

function DeleteDialog({
  user,
  onClose,
}: {
  readonly user: Account;
  readonly onClose: () => void;
}): JSX.Element {
  const { values, text } = useFields({ email: '', password: '' });
  const send = async (signal: AbortSignal): Promise<void> => {
    await callConsole('/account/delete', { method: 'POST', json: values, signal });
    forgetSession();
    navigate(to`/login`);
    toast('Your account was deleted, with everything in it.');
  };
  return (
    <FormDialog
      title={`Delete the account of ${user.email}?`}
      verb="Delete everything"
      kind="danger"
      asks={false}
      blocked={values.email.trim().toLowerCase() !== user.email}
      send={send}
      onClose={onClose}
    >
      <p>
        Everything in it is deleted: projects, records, files, tokens, members and webhooks. This can’t be
        undone.
      </p>
      <EmailField {...text('email')} label={`Type ${user.email} to confirm`} autoFocus />
      <ConfirmField {...text('password')} label="Your password" />
    </FormDialog>
  );
}

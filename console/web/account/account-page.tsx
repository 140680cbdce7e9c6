import type { JSX } from 'preact';
import { apiBase } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { useFields, useForm } from '../parts/form.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { toast } from '../parts/toast.tsx';
import { callConsole, loadSession, session } from '../session.ts';
import { DeleteSection, EmailForm, LeaveSection } from './account-forms.tsx';
import { ConfirmFailure, ConfirmField } from './confirm-field.tsx';
import { PasswordField } from './credential-fields.tsx';
import { SessionsTable } from './sessions-table.tsx';

export function AccountPage(): JSX.Element {
  const { account, acting } = session.value ?? {};
  return (
    <Page title="Account">
      <dl class="facts">
        {account?.name && (
          <>
            <dt>Name</dt>
            <dd>{account.name}</dd>
          </>
        )}
        <dt>Email</dt>
        <dd>{account?.email}</dd>
        <dt>Account id</dt>
        <dd>
          <code>{account?.id}</code>
        </dd>
        <dt>API</dt>
        <dd>
          <code>{apiBase()}</code> · <a href={`${apiBase()}/docs`}>reference</a>
        </dd>
      </dl>
      {account && acting && acting.id !== account.id && <LeaveSection user={account} account={acting} />}
      <ConfirmFailure />
      <div class="forms">
        <PasswordForm />
        <EmailForm />
        {account && <DeleteSection user={account} />}
      </div>
      {/* last, as its height is only known once it is loaded */}
      <SessionsTable />
    </Page>
  );
}

function PasswordForm(): JSX.Element {
  const verb = session.value?.account?.hasPassword === false ? 'Set a password' : 'Change the password';
  const { values, change, text } = useFields({ current: '', next: '' });
  const form = useForm(async (signal) => {
    await callConsole('/password', { method: 'POST', json: values, signal });
    change({ current: '', next: '' });
    toast('Password changed. All other sessions have ended.');
    // the change may have replaced the CSRF token of this session
    await loadSession();
  });
  return (
    <section class="card narrow stack" aria-labelledby="change-password">
      <div>
        <h2 id="change-password">{verb}</h2>
        <p class="quiet">This ends all other sessions. Access tokens stay valid.</p>
      </div>
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <ConfirmField label="Current password" {...text('current')} />
        <PasswordField label="New password" isNew {...text('next')} />
        <div class="row">
          <Button kind="primary" type="submit" busy={form.busy}>
            {verb}
          </Button>
        </div>
      </form>
    </section>
  );
}

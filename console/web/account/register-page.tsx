import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { TextField } from '../parts/field.tsx';
import { useFields, useForm } from '../parts/form.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { to } from '../router.ts';
import { callConsole, type Session, session } from '../session.ts';
import { EmailField, PasswordField } from './credential-fields.tsx';
import { SignedOutPage } from './signed-out-page.tsx';

/** Creates an account, or claims the account of the first start. */
export function RegisterPage(): JSX.Element {
  const known = session.value;
  const canClaim = known?.canClaim ?? false;
  const mustClaim = canClaim && !(known?.canRegister ?? false);
  // whoever sets up the server has the token; a new account would not have the data of the first
  const [claims, setClaims] = useState(canClaim);
  const title = claims ? 'Claim the first account' : 'Create an account';
  const foot = (
    <>
      Have an account? <a href={to`/login`}>Log in</a>
    </>
  );
  if (!canClaim && !known?.canRegister) {
    return (
      <SignedOutPage title="Registration is closed" foot={foot}>
        <p>
          This server does not accept new accounts. Ask its operator for one, or to start it with{' '}
          <code>REGISTRATION=open</code>.
        </p>
      </SignedOutPage>
    );
  }
  return (
    <SignedOutPage title={title} foot={foot}>
      {canClaim && <Claim claims={claims} canChange={!mustClaim} onChange={setClaims} />}
      <RegisterForm claims={claims} />
    </SignedOutPage>
  );
}

interface ClaimProps {
  readonly claims: boolean;
  readonly canChange: boolean;
  readonly onChange: (claims: boolean) => void;
}

function Claim({ claims, canChange, onChange }: ClaimProps): JSX.Element {
  return (
    <div class="stack">
      <p class="quiet">
        {claims
          ? 'The first start printed an access token. Enter it to take over that account and its data.'
          : 'This server already has an account, which belongs to the access token that its first start printed. A new account starts empty.'}
      </p>
      {canChange && (
        <Button small onClick={() => onChange(!claims)}>
          {claims ? 'Create a new account instead' : 'Claim that account instead'}
        </Button>
      )}
    </div>
  );
}

function RegisterForm({ claims }: { readonly claims: boolean }): JSX.Element {
  const { values, text } = useFields({ claimToken: '', name: '', email: '', password: '' });
  const form = useForm(async (signal) => {
    const json = { ...values, claimToken: claims ? values.claimToken.trim() : null };
    session.value = await callConsole<Session>('/register', { method: 'POST', json, signal });
  });
  return (
    <form class="stack" onSubmit={form.submit}>
      {form.problem !== null && <ProblemNote problem={form.problem} />}
      {claims && (
        <TextField
          label="First access token"
          hint="From the output or the log of the first start."
          required
          mono
          autoComplete="off"
          {...text('claimToken')}
        />
      )}
      <TextField label="Name" autoComplete="name" maxLength={100} {...text('name')} />
      <EmailField {...text('email')} />
      <PasswordField isNew {...text('password')} />
      <Button kind="primary" type="submit" busy={form.busy}>
        {claims ? 'Claim the account' : 'Create the account'}
      </Button>
    </form>
  );
}

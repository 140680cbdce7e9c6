import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { useFields, useForm } from '../parts/form.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { to } from '../router.ts';
import { callConsole, type Session, session } from '../session.ts';
import { EmailField, PasswordField } from './credential-fields.tsx';
import { SignedOutPage } from './signed-out-page.tsx';

export function LoginPage(): JSX.Element {
  const { values, text } = useFields({ email: '', password: '' });
  // the requested page opens as soon as there is an account
  const form = useForm(async (signal) => {
    session.value = await callConsole<Session>('/login', {
      method: 'POST',
      json: values,
      signal,
    });
  });
  const known = session.value;
  return (
    <SignedOutPage
      title="Log in"
      foot={
        known !== null && (known.canRegister || known.canClaim) ? <RegisterLink known={known} /> : undefined
      }
    >
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null && <ProblemNote problem={form.problem} />}
        <EmailField autoFocus {...text('email')} />
        <PasswordField {...text('password')} />
        <Button kind="primary" type="submit" busy={form.busy}>
          Log in
        </Button>
      </form>
    </SignedOutPage>
  );
}

function RegisterLink({ known }: { readonly known: Session }): JSX.Element {
  return known.canRegister ? (
    <>
      No account yet? <a href={to`/register`}>Register</a>
    </>
  ) : (
    <>
      Have the first access token? <a href={to`/register`}>Claim its account</a>
    </>
  );
}

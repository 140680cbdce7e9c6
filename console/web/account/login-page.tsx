import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { useFields, useForm } from '../parts/form.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Problem } from '../problem.ts';
import { place, to } from '../router.ts';
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
  const failure = failureOf(place.value.query.get('oidc'));
  return (
    <SignedOutPage
      title="Log in"
      foot={
        known !== null && (known.canRegister || known.canClaim) ? <RegisterLink known={known} /> : undefined
      }
    >
      <form class="stack" onSubmit={form.submit}>
        {form.problem !== null ? (
          <ProblemNote problem={form.problem} />
        ) : (
          failure !== null && <ProblemNote problem={new Problem(failure)} />
        )}
        <EmailField autoFocus {...text('email')} />
        <PasswordField {...text('password')} />
        <Button kind="primary" type="submit" busy={form.busy}>
          Log in
        </Button>
      </form>
      {known?.oidcHost && (
        // a target, or the router would take it for a page of the dashboard
        <a class="button" href="/_console_/api/oidc/start" target="_self">
          Log in with {known.oidcHost}
        </a>
      )}
    </SignedOutPage>
  );
}

const failures: Readonly<Record<string, string>> = {
  access_denied: 'The provider did not let you in.',
  email_not_verified: 'The provider does not say that your e-mail address is verified.',
  no_account: 'There is no account with the e-mail address that the provider has.',
};

/** What went wrong at a provider, which sent the browser back; null: nothing. */
function failureOf(problem: string | null): string | null {
  if (problem === null) return null;
  return failures[problem] ?? 'The login failed. Try it again.';
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

import type { JSX } from 'preact';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Problem } from '../problem.ts';
import { place } from '../router.ts';
import { session } from '../session.ts';
import { type FieldProps, PasswordField } from './credential-fields.tsx';

/** Confirms the user: by the password, or without one by a login at the provider, which returns to this page. */
export function ConfirmField(props: FieldProps): JSX.Element {
  const { account, oidcHost } = session.value ?? {};
  if (account?.hasPassword !== false || !oidcHost) return <PasswordField {...props} />;
  if (place.value.query.get('oidc') === 'confirmed')
    return <p class="quiet">You logged in at {oidcHost}, which confirms this for five minutes.</p>;
  return (
    <p>
      Your account has no password. {/* a target, or the router would take it for a page of the dashboard */}
      <a href="/_console_/api/oidc/confirm" target="_self">
        Log in at {oidcHost} again
      </a>{' '}
      to confirm this.
    </p>
  );
}

const failures: Readonly<Record<string, string>> = {
  other_account: 'You logged in at the provider with another account than this one.',
  access_denied: 'The provider did not let you in.',
};

/** Why a login at the provider did not confirm the user. */
export function ConfirmFailure(): JSX.Element | null {
  const problem = place.value.query.get('oidc');
  if (problem === null || problem === 'confirmed') return null;
  const text = failures[problem] ?? 'The provider did not confirm that you have just logged in.';
  return <ProblemNote problem={new Problem(text)} />;
}

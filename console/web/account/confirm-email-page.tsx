import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { linkToken } from '../members/link-token.ts';
import { Button } from '../parts/button.tsx';
import { useForm } from '../parts/form.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { to } from '../router.ts';
import { callConsole, loadSession } from '../session.ts';
import { SignedOutPage } from './signed-out-page.tsx';

/** Confirms a new e-mail address, by a button: programs that follow links in mails confirm nothing. */
export function ConfirmEmailPage(): JSX.Element {
  const token = linkToken();
  const [done, setDone] = useState(false);
  const form = useForm(async (signal) => {
    await callConsole('/email/confirm', { method: 'POST', json: { token }, signal });
    setDone(true);
    await loadSession();
  });
  const foot = <a href={to`/account`}>Go to your account</a>;
  return (
    <SignedOutPage title="Confirm your address" foot={foot}>
      {done ? (
        <p role="status">The address is changed. Log in with it.</p>
      ) : token === null ? (
        <p>Open the link of the mail again, or change the address once more.</p>
      ) : (
        <form class="stack" onSubmit={form.submit}>
          {form.problem !== null && <ProblemNote problem={form.problem} />}
          <p>All of your sessions end, and you log in with the new address.</p>
          <Button kind="primary" type="submit" busy={form.busy}>
            Confirm the address
          </Button>
        </form>
      )}
    </SignedOutPage>
  );
}

import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { toastProblem } from '../parts/toast.tsx';
import { navigate, to } from '../router.ts';
import { enterAccount, session } from '../session.ts';

/** What a person sees who was removed from the account of the session, or whose account was deleted. */
export function NoMember(): JSX.Element {
  const leave = async (): Promise<void> => {
    try {
      await enterAccount(session.value?.account?.id ?? '');
      navigate(to`/projects`);
    } catch (thrown) {
      toastProblem(thrown);
    }
  };
  return (
    <main class="outside" id="main">
      <h1 tabIndex={-1}>You are no longer a member of this account</h1>
      <p>You were removed from it, or it was deleted. Your own account is not affected.</p>
      <Button kind="primary" onClick={() => void leave()}>
        Go to your own account
      </Button>
    </main>
  );
}

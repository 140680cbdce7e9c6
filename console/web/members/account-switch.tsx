import type { JSX } from 'preact';
import { SelectField } from '../parts/field.tsx';
import { toastProblem } from '../parts/toast.tsx';
import { navigate, to } from '../router.ts';
import { enterAccount, session } from '../session.ts';

/** Chooses the account to work in, for somebody who is a member of others. */
export function AccountSwitch(): JSX.Element | null {
  const { accounts = [], acting } = session.value ?? {};
  if (accounts.length < 2) return null;
  const enter = async (id: string): Promise<void> => {
    try {
      await enterAccount(id);
      navigate(to`/projects`);
    } catch (thrown) {
      toastProblem(thrown);
    }
  };
  return (
    <div class="account-switch">
      <SelectField
        hideLabel
        label="Account"
        value={acting?.id ?? ''}
        onInput={(id) => void enter(id)}
        options={accounts.map(({ id, email }) => [id, email])}
      />
    </div>
  );
}

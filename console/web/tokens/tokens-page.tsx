import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { grantsInWords } from '#kernel/grants.ts';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { countOf, formatNumber } from '../parts/format.ts';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Time } from '../parts/time.tsx';
import { callConsole } from '../session.ts';
import { type AccessToken, tokenState } from './access-token.ts';
import { NewTokenDialog } from './new-token-dialog.tsx';

export function TokensPage(): JSX.Element {
  const { data, problem, reload } = useLoad(
    (signal) => callConsole<{ tokens: readonly AccessToken[] }>('/tokens', { signal }),
    [],
  );
  const [creating, setCreating] = useState(false);
  const revoke = async (token: AccessToken): Promise<void> => {
    const revoked = await confirmed({
      title: `Revoke ${token.name || 'this token'}?`,
      body: 'Programs that use it stop working within a second. This can’t be undone.',
      confirm: 'Revoke the token',
      run: () => callConsole(`/tokens/${encodeURIComponent(token.id)}`, { method: 'DELETE' }),
      done: `${token.name || 'Token'} revoked.`,
    });
    if (revoked) reload();
  };
  const create = (
    <Button icon="plus" kind="primary" onClick={() => setCreating(true)}>
      New token
    </Button>
  );
  return (
    <Page
      title="Access tokens"
      intro="Programs send a token with each request. Unless limited, it gives access to everything in this account, so create one for each program."
      actions={create}
    >
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {data?.tokens.length === 0 ? (
        <EmptyState icon="tokens" title="No access tokens yet">
          <p>Create one to call the API from a program or a terminal.</p>
          {create}
        </EmptyState>
      ) : (
        (data !== null || problem === null) && (
          <DataTable
            caption="Access tokens"
            columns={columnsOf((token) => void revoke(token))}
            rows={data?.tokens ?? null}
            rowKey={(token) => token.id}
          />
        )
      )}
      {creating && <NewTokenDialog onCreated={reload} onClose={() => setCreating(false)} />}
    </Page>
  );
}

function columnsOf(onRevoke: (token: AccessToken) => void): readonly Column<AccessToken>[] {
  return [
    {
      label: 'Name',
      cell: (token) => (
        <div>
          {token.name || 'Unnamed'} <StateBadge token={token} />
          {token.grants !== null && <div class="hint">{grantsInWords(token.grants)}</div>}
          <Limits token={token} />
          {token.madeBy !== null && <div class="hint">made by {token.madeBy}</div>}
        </div>
      ),
    },
    { label: 'Created', cell: ({ createdAt }) => <Time date={createdAt} /> },
    { label: 'Last used', cell: ({ lastUsedAt }) => <Time date={lastUsedAt} /> },
    { label: 'Expires', cell: ({ expiresAt }) => <Time date={expiresAt} /> },
    toolsColumn(
      (token) =>
        tokenState(token) === 'active' && (
          <Button small label={`Revoke ${token.name}`} onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ),
    ),
  ];
}

function Limits({
  token: { readMaxRows, readTimeoutMs },
}: {
  readonly token: AccessToken;
}): JSX.Element | null {
  // only the operator can set 0
  const rows = readMaxRows === 0 ? 'any number of records' : `up to ${countOf(readMaxRows ?? 0, 'record')}`;
  const time = `for up to ${formatNumber(readTimeoutMs ?? 0)} ms`;
  const parts = [readMaxRows !== null && rows, readTimeoutMs !== null && time].filter(Boolean);
  return parts.length === 0 ? null : <div class="hint">reads {parts.join(', ')}</div>;
}

function StateBadge({ token }: { readonly token: AccessToken }): JSX.Element | null {
  const state = tokenState(token);
  if (state === 'active') return null;
  return <span class={`badge ${state === 'revoked' ? 'bad' : 'warn'}`}>{state}</span>;
}

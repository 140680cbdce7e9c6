import type { JSX } from 'preact';
import { Button } from '../parts/button.tsx';
import { confirmed } from '../parts/confirmed.ts';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { useLoad } from '../parts/load.ts';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Time } from '../parts/time.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { callConsole } from '../session.ts';

interface ListedSession {
  readonly id: string;
  readonly isCurrent: boolean;
  /** In words: "Firefox on Linux". */
  readonly browser: string;
  readonly address: string;
  readonly createdAt: string;
  readonly usedAt: string;
}

/** Where the user is logged in. */
export function SessionsTable(): JSX.Element {
  const { data, problem, reload } = useLoad(
    (signal) => callConsole<{ sessions: readonly ListedSession[] }>('/sessions', { signal }),
    [],
  );
  const end = async ({ id }: ListedSession): Promise<void> => {
    try {
      await callConsole(`/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
      toast('Session ended.');
      reload();
    } catch (thrown) {
      toastProblem(thrown);
    }
  };
  const endOthers = async (): Promise<void> => {
    const ended = await confirmed({
      title: 'End all other sessions?',
      body: 'Every other browser is logged out within a second. Access tokens stay valid.',
      confirm: 'End them',
      run: () => callConsole('/sessions', { method: 'DELETE' }),
      done: 'All other sessions have ended.',
    });
    if (ended) reload();
  };
  const others = (data?.sessions.length ?? 0) > 1;
  return (
    <section class="stack" aria-labelledby="sessions">
      <div class="row apart">
        <h2 id="sessions">Sessions</h2>
        {others && (
          <Button small onClick={() => void endOthers()}>
            End all others
          </Button>
        )}
      </div>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {(data !== null || problem === null) && (
        <DataTable
          caption="Sessions"
          columns={columnsOf((session) => void end(session))}
          rows={data?.sessions ?? null}
          rowKey={({ id }) => id}
        />
      )}
    </section>
  );
}

function columnsOf(onEnd: (session: ListedSession) => void): readonly Column<ListedSession>[] {
  return [
    {
      label: 'Browser',
      cell: ({ browser, isCurrent }) => (
        <>
          {browser} {isCurrent && <span class="badge">this one</span>}
        </>
      ),
    },
    { label: 'Address', cell: ({ address }) => <code>{address}</code> },
    { label: 'Logged in', cell: ({ createdAt }) => <Time date={createdAt} /> },
    { label: 'Last used', cell: ({ usedAt }) => <Time date={usedAt} /> },
    toolsColumn(
      (session) =>
        !session.isCurrent && (
          <Button small label={`End ${session.browser}`} onClick={() => onEnd(session)}>
            End
          </Button>
        ),
    ),
  ];
}

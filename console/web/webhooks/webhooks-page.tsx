import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { address } from '../address.ts';
import { callApi, callJson } from '../api.ts';
import { Button } from '../parts/button.tsx';
import { CodeBlock } from '../parts/copy.tsx';
import { type Column, DataTable, toolsColumn } from '../parts/data-table.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { formatSince } from '../parts/format.ts';
import { Icon } from '../parts/icon.tsx';
import { useLoad } from '../parts/load.ts';
import { Page } from '../parts/page.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { Time } from '../parts/time.tsx';
import { toast, toastProblem } from '../parts/toast.tsx';
import { to } from '../router.ts';

/** A call of a webhook, as `GET /_webhooks_/deliveries` answers it. */
interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly project: string;
  /** Empty: it is about a file. */
  readonly space: string;
  readonly url: string;
  /** Of a file: its name. */
  readonly recordIds: readonly string[];
  readonly state: 'pending' | 'delivered' | 'failed' | 'split';
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly lastProblem: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** null: there will be none */
  readonly nextAttemptAt: string | null;
}

/** An address that is switched off, as `GET /_webhooks_/addresses` answers it. */
interface DeadAddress {
  readonly url: string;
  readonly lastProblem: string;
  readonly switchedOffAt: string;
}

const shownDeliveries = 100;

export function WebhooksPage(): JSX.Element {
  const { data, problem, loading, reload } = useLoad(
    (signal) =>
      callJson<readonly Delivery[]>('/_webhooks_/deliveries', { query: { limit: shownDeliveries }, signal }),
    [],
  );
  const [sending, setSending] = useState<string | null>(null);
  const [keyShown, setKeyShown] = useState(false);
  const send = async (delivery: Delivery): Promise<void> => {
    setSending(delivery.id);
    try {
      await callApi(address`/_webhooks_/deliveries/${delivery.id}/send`, { method: 'POST' });
      toast('Call sent again.');
    } catch (thrown) {
      toastProblem(thrown);
    } finally {
      setSending(null);
      reload();
    }
  };
  return (
    <Page
      title="Webhooks"
      intro="Calls sent after writes to record spaces, and for files, newest first."
      actions={
        <>
          <Button onClick={() => setKeyShown(true)}>Signing key</Button>
          <Button icon="retry" onClick={reload} busy={loading && data !== null}>
            Refresh
          </Button>
        </>
      }
    >
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      <DeadAddresses />
      {data?.length === 0 ? (
        <EmptyState icon="webhooks" title="No calls yet">
          <p>
            A record space can call an address after each insert or update. Open a space in your{' '}
            <a href={to`/projects`}>projects</a>, and set the address under Structure &gt; Edit the record
            space. Files have theirs under File rules.
          </p>
        </EmptyState>
      ) : (
        (data !== null || problem === null) && (
          <DataTable
            caption="Calls of webhooks"
            columns={columnsOf(sending, (delivery) => void send(delivery))}
            rows={data}
            rowKey={({ id }) => id}
          />
        )
      )}
      {data?.length === shownDeliveries && (
        <p class="quiet">Only the latest {shownDeliveries} are shown. The API returns up to 500.</p>
      )}
      {keyShown && <SigningKeyDialog onClose={() => setKeyShown(false)} />}
    </Page>
  );
}

function columnsOf(
  sending: string | null,
  onSend: (delivery: Delivery) => void,
): readonly Column<Delivery>[] {
  return [
    {
      label: 'Call',
      cell: ({ event, project, space, url, recordIds }) => (
        <div>
          {event}{' '}
          <span class="quiet">
            {space === '' ? (
              <>
                {/* the id before the original name matters to nobody */}
                {recordIds[0]?.slice(recordIds[0].indexOf('_') + 1)} in{' '}
                <a href={to`/projects/${project}/files`}>{`files of ${project}`}</a>
              </>
            ) : (
              <>
                {recordIds.length > 1 && `${recordIds.length} records `}in{' '}
                <a href={to`/projects/${project}/spaces/${space}`}>{`${project}/${space}`}</a>
              </>
            )}
          </span>
          <div class="quiet">{url}</div>
        </div>
      ),
    },
    { label: 'State', cell: (delivery) => <State delivery={delivery} /> },
    { label: 'Created', cell: ({ createdAt }) => <Time date={createdAt} /> },
    toolsColumn(
      (delivery) =>
        (delivery.state === 'delivered' || delivery.state === 'failed') && (
          <Button
            small
            busy={sending === delivery.id}
            label={`Send again: the call of ${delivery.space || delivery.recordIds[0]} to ${delivery.url}`}
            onClick={() => onSend(delivery)}
          >
            Send again
          </Button>
        ),
    ),
  ];
}

const badges = { delivered: 'good', pending: 'warn', failed: 'bad', split: 'warn' } as const;

function State({ delivery }: { readonly delivery: Delivery }): JSX.Element {
  const { state, attempts, lastStatus, lastProblem, nextAttemptAt } = delivery;
  const notes = [
    lastStatus === null ? null : `answered ${lastStatus}`,
    lastProblem,
    attempts > 1 ? `${attempts} attempts` : null,
    nextAttemptAt === null ? null : `next ${formatSince(nextAttemptAt)}`,
  ].filter((note) => note !== null);
  return (
    <div>
      <span class={`badge ${badges[state]}`}>{state}</span>
      {notes.length > 0 && <div class="quiet">{notes.join(' · ')}</div>}
    </div>
  );
}

function DeadAddresses(): JSX.Element {
  const { data, problem, reload } = useLoad(
    (signal) => callJson<readonly DeadAddress[]>('/_webhooks_/addresses', { signal }),
    [],
  );
  const switchOn = async (url: string): Promise<void> => {
    try {
      await callApi('/_webhooks_/addresses/on', { method: 'POST', query: { url } });
      toast('Address switched on.');
    } catch (thrown) {
      toastProblem(thrown);
    } finally {
      reload();
    }
  };
  return (
    <>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {data?.map(({ url, lastProblem, switchedOffAt }) => (
        <div key={url} class="note failed">
          <Icon name="warning" />
          <div>
            <p>
              Calls to <code>{url}</code> are switched off: it {lastProblem} <Time date={switchedOffAt} />.
            </p>
            <Button small label={`Switch on: ${url}`} onClick={() => void switchOn(url)}>
              Switch on
            </Button>
          </div>
        </div>
      ))}
    </>
  );
}

function SigningKeyDialog({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const { data, problem, reload } = useLoad(
    (signal) => callJson<{ secret: string }>('/_webhooks_/secret', { signal }),
    [],
  );
  return (
    <Dialog title="Signing key" onClose={onClose}>
      <p>
        Calls are signed with this key, as Standard Webhooks defines. Keep it where you keep your passwords.
      </p>
      {problem !== null && <ProblemNote problem={problem} onRetry={reload} />}
      {data !== null && <CodeBlock code={data.secret} label="Copy the signing key" />}
    </Dialog>
  );
}

import { startService } from '../query/direct-store.ts';
import { startScript } from '../upload/harness/child-process.ts';
import { residentBytes } from '../upload/harness/process-usage.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { PoliteClient, type PoliteResult } from './polite-client.ts';
import { prepareStage, type Stage } from './prepare.ts';

/** Two stores of one checkout: one to attack, and the control's, which has nothing but the client. */
export interface Stores {
  readonly root: string;
  readonly attacked: Store;
  readonly control: Store;
}

interface Store {
  readonly folder: string;
  readonly stage: Stage;
}

/** What a client waited for beside the attack, and what one like it waited for at the same time in the control. */
export interface Round {
  readonly beside: PoliteResult;
  readonly control: PoliteResult;
  /** Of the attacked process, from before the attack on. MiB. */
  readonly resident: readonly number[];
  /** By case, what the attackers were answered; null: they ended early, and nothing was measured. */
  readonly outcomes: Readonly<Record<string, object>> | null;
}

const mebibyte = 1024 ** 2;
const samples = 20;
/** Dead addresses of webhooks are ports of this machine. */
const env = { LOG_LEVEL: 'silent', WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };

export async function prepareStores(root: string, only: readonly string[], rows: number): Promise<Stores> {
  const store = async (cases: readonly string[]): Promise<Store> => {
    const folder = makeTemporaryDirectory();
    return { folder, stage: await prepareStage({ folder, only: cases, rows, root }) };
  };
  return { root, attacked: await store(only), control: await store([]) };
}

export function removeStores({ attacked, control }: Stores): void {
  for (const { folder } of [attacked, control]) removeTemporaryDirectory(folder);
}

/** The process of all attackers. @returns what ends it, and answers what it printed; null when it had ended before */
async function attack(target: Stage, url: string): Promise<() => Promise<string | null>> {
  const args = [JSON.stringify({ ...target, url })];
  const child = await startScript('bench/hostile/attack.ts', { args, ready: /^(attacking)$/m });
  let output = '';
  child.process.stdout?.on('data', (text: Buffer) => {
    output += text.toString();
  });
  return async () => {
    const attacked = child.process.exitCode === null;
    await child.stop();
    return attacked ? output : null;
  };
}

/** Processes and clients of their own for both stores, and the attack on one of them. */
export async function runRound({ root, attacked, control }: Stores, seconds: number): Promise<Round> {
  const open = async ({ folder, stage }: Store) => {
    const service = await startService(folder, env, { root });
    const client = new PoliteClient({ url: service.ready, token: stage.politeToken });
    await client.run(2);
    return { service, client };
  };
  const [calm, subject] = [await open(control), await open(attacked)];
  const { pid, ready } = subject.service;
  const resident = [residentBytes([pid])];
  const endAttack = await attack(attacked.stage, ready);
  const watch = setInterval(() => resident.push(residentBytes([pid])), (seconds * 1000) / samples);
  const [beside, apart] = await Promise.all([subject.client.run(seconds), calm.client.run(seconds)]);
  clearInterval(watch);
  const output = await endAttack();
  await calm.service.stop();
  const after = await subject.client.run(5);
  await subject.service.stop();
  beside.failures.push(...after.failures);
  return {
    beside,
    control: apart,
    resident: resident.map((bytes) => Math.round(bytes / mebibyte)),
    outcomes: output === null ? null : JSON.parse(/^outcomes (.*)$/m.exec(output)?.[1] ?? '{}'),
  };
}

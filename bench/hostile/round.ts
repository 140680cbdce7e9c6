import { startService } from '../query/direct-store.ts';
import { startScript } from '../upload/harness/child-process.ts';
import { cpuSeconds, residentBytes } from '../upload/harness/process-usage.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { PoliteClient, type PoliteResult } from './polite-client.ts';
import { prepareStage, type Stage } from './prepare.ts';

/** Two stores of a checkout with the same accounts and records: one to attack, and one for the control. */
export interface Stores {
  readonly root: string;
  readonly attacked: Store;
  readonly control: Store;
}

interface Store {
  readonly folder: string;
  readonly stage: Stage;
}

/** The result of a client that shares its process with others. */
export interface Phase {
  readonly client: PoliteResult;
  /** CPU cores that the process used. */
  readonly cores: number;
  /** Memory growth since before the others started. MiB. */
  readonly resident: readonly number[];
  /** Outcomes of the others, by case; null: they ended early, and nothing was measured. */
  readonly outcomes: Readonly<Record<string, Readonly<Record<string, number>>>> | null;
}

/** The results of a client with hostile accounts, and with as many well-behaved accounts. */
export interface Round {
  readonly beside: Phase;
  readonly control: Phase;
}

const mebibyte = 1024 ** 2;
const samples = 20;
/** The dead webhook addresses are ports of this machine. */
const env = { LOG_LEVEL: 'silent', WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8' };

export async function prepareStores(root: string, only: readonly string[], rows: number): Promise<Stores> {
  const store = async (): Promise<Store> => {
    const folder = makeTemporaryDirectory();
    return { folder, stage: await prepareStage({ folder, only, rows, root }) };
  };
  return { root, attacked: await store(), control: await store() };
}

export function removeStores({ attacked, control }: Stores): void {
  for (const { folder } of [attacked, control]) removeTemporaryDirectory(folder);
}

/** Starts the process of the others. @returns a function that ends it and returns its output; null: it had already ended */
async function startOthers(
  target: Stage,
  url: string,
  hostile: boolean,
): Promise<() => Promise<string | null>> {
  const args = [JSON.stringify({ ...target, url, hostile })];
  const child = await startScript('bench/hostile/attack.ts', { args, ready: /^(attacking)$/m });
  let output = '';
  child.process.stdout?.on('data', (text: Buffer) => {
    output += text.toString();
  });
  return async () => {
    const running = child.process.exitCode === null;
    await child.stop();
    return running ? output : null;
  };
}

async function runPhase(
  root: string,
  { folder, stage }: Store,
  seconds: number,
  hostile: boolean,
): Promise<Phase> {
  const service = await startService(folder, env, { root });
  const { pid, ready } = service;
  const client = new PoliteClient({ url: ready, token: stage.politeToken });
  await client.run(2);
  const resident = [residentBytes([pid])];
  const endOthers = await startOthers(stage, ready, hostile);
  const watch = setInterval(() => resident.push(residentBytes([pid])), (seconds * 1000) / samples);
  const [cpu, began] = [cpuSeconds([pid]), performance.now()];
  const result = await client.run(seconds);
  const cores = (cpuSeconds([pid]) - cpu) / ((performance.now() - began) / 1000);
  clearInterval(watch);
  const output = await endOthers();
  result.failures.push(...(await client.run(5)).failures);
  await service.stop();
  return {
    client: result,
    cores,
    resident: resident.map((bytes) => Math.round(bytes / mebibyte)),
    outcomes: output === null ? null : JSON.parse(/^outcomes (.*)$/m.exec(output)?.[1] ?? '{}'),
  };
}

/** Both phases, one after the other: each has the machine to itself. @param first which of them begins */
export async function runRound(
  { root, attacked, control }: Stores,
  seconds: number,
  first: keyof Round,
): Promise<Round> {
  const beside = (): Promise<Phase> => runPhase(root, attacked, seconds, true);
  const apart = (): Promise<Phase> => runPhase(root, control, seconds, false);
  if (first === 'beside') return { beside: await beside(), control: await apart() };
  const calm = await apart();
  return { beside: await beside(), control: calm };
}

import type { RunResult } from '#load/main.ts';
import { startService } from '../query/direct-store.ts';
import { startScript } from '../upload/harness/child-process.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../upload/harness/temporary-directory.ts';
import { runPoliteLoad } from './polite-load.ts';
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
  readonly client: RunResult;
  /** Null: the others ended early, and nothing was measured. */
  readonly others: OthersResult | null;
}

interface OthersResult {
  /** How often each outcome occurred, by case. */
  readonly outcomes: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly seconds: number;
}

/** The results of a client with hostile accounts, and with as many well-behaved accounts. */
export interface Round {
  readonly beside: Phase;
  readonly control: Phase;
}

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

interface Others {
  begin(): void;
  /** May be called repeatedly. */
  end(): Promise<OthersResult | null>;
}

/** Starts the process of the others, which waits until they are to begin. */
async function prepareOthers(stage: Stage, url: string, hostile: boolean): Promise<Others> {
  const args = [JSON.stringify({ ...stage, url, hostile })];
  const child = await startScript('bench/hostile/attack.ts', { args, ready: /^(prepared)$/m, ipc: true });
  let output = '';
  child.process.stdout?.on('data', (text: Buffer) => {
    output += text.toString();
  });
  let began = Number.NaN;
  const end = async (): Promise<OthersResult | null> => {
    const { exitCode, signalCode } = child.process;
    const seconds = (performance.now() - began) / 1000;
    await child.stop();
    if (exitCode !== null || signalCode !== null) return null;
    return { outcomes: JSON.parse(/^outcomes (.*)$/m.exec(output)?.[1] ?? '{}'), seconds };
  };
  let result: ReturnType<typeof end> | undefined;
  return {
    begin() {
      began = performance.now();
      child.process.send?.('begin');
    },
    end() {
      result ??= end();
      return result;
    },
  };
}

async function runPhase(
  root: string,
  { folder, stage }: Store,
  seconds: number,
  hostile: boolean,
): Promise<Phase> {
  const service = await startService(folder, env, { root });
  const { pid, ready: url } = service;
  const others = await prepareOthers(stage, url, hostile);
  const client = await runPoliteLoad({
    ...{ url, token: stage.politeToken, pid, seconds },
    onBegin: () => others.begin(),
    onEnd: () => void others.end(),
  });
  const phase = { client, others: await others.end() };
  await service.stop();
  return phase;
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

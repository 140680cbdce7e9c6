import type { DirectStore } from '#objects/direct-store.ts';
import { fileKey } from '#objects/file-key.ts';
import type { ObjectStore } from '#objects/object-store.ts';
import type { CloudFiles } from '../catalogue/cloud-files.ts';
import { lateBytes, type PlanObject, plansPrefix, readPlanKey, uploadOf } from '../plans/direct-plan.ts';
import type { PlanStore } from '../plans/plan-store.ts';
import type { JanitorRun } from './janitor-run.ts';

export interface ExpirePlansDeps {
  readonly store: Pick<ObjectStore, 'list' | 'head' | 'delete' | 'deleteAll'>;
  readonly cloudFiles: Pick<CloudFiles, 'findAny'>;
  readonly plans: Pick<PlanStore, 'load' | 'has'>;
  /** Null: parts are objects of their own. */
  readonly direct: Pick<DirectStore, 'abort'> | null;
  /** Milliseconds after which a plan expires. */
  readonly staleAfter: number;
}

/** Most objects that one run examines. */
const candidatesPerRun = 100_000;
const rowsAtOnce = 8;

/**
 * Ends plans that nobody completed, with what was sent for them, and forgets ended ones that can get no more bytes.
 * @param deployment its id
 */
export async function expirePlans(deps: ExpirePlansDeps, deployment: string, run: JanitorRun): Promise<void> {
  const { store, staleAfter } = deps;
  const late = Date.now() - lateBytes;
  let candidates = 0;
  let batch: (PlanObject & { readonly key: string })[] = [];
  const flush = async (): Promise<void> => {
    const some = batch;
    batch = [];
    await Promise.all(some.map((object) => run.attempt('expire a plan', () => expire(deps, object, run))));
  };
  for await (const { key, lastModified } of store.list(plansPrefix(deployment), run.signal)) {
    const object = readPlanKey(key);
    if (object === null) continue;
    // a plan counts until nothing can arrive by its last address
    const limit = object.is === 'plan' ? late - staleAfter : late;
    if (lastModified.getTime() > limit) continue;
    if (++candidates > candidatesPerRun) break;
    batch.push({ ...object, key });
    if (batch.length === rowsAtOnce) await flush();
  }
  await flush();
}

async function expire(
  { store, cloudFiles, plans, direct }: ExpirePlansDeps,
  object: PlanObject & { readonly key: string },
  { signal, dryRun, report }: JanitorRun,
): Promise<void> {
  const { is, key, name } = object;
  const objectKey = fileKey(object);
  if (is === 'part') {
    if (dryRun || (await plans.has(objectKey, signal))) return;
    await store.delete(key, signal);
    return;
  }
  const plan = is === 'plan' ? await plans.load(object, signal) : null;
  if ((await cloudFiles.findAny(name, signal)) === null) {
    const stored = await store.head(objectKey, signal);
    // a copy of a deleted file may be stored under its name at this moment
    if (stored !== null && stored.lastModified.getTime() > Date.now() - lateBytes) return;
    if (!dryRun && plan !== null && plan.uploadId !== null) await direct?.abort(uploadOf(plan), signal);
    if (!dryRun && stored !== null) await store.delete(objectKey, signal);
    if (is === 'plan') report.uploadsExpired++;
  }
  if (!dryRun) await store.delete(key, signal);
}

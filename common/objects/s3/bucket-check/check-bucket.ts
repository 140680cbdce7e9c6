import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Config } from '#kernel/config/read-s3.ts';
import type { Log } from '#kernel/log/log.ts';
import { createS3Store } from '../s3-store.ts';
import { abortDays, abortXml, daysOfRules, isTooEarly, lifecycleKind } from './abort-rule.ts';
import { type BucketRequests, openBucketRequests } from './bucket-requests.ts';
import { type CorsRule, corsKind, corsXml, neededCors } from './cors-rules.ts';
import { ProbeKeys } from './probe-keys.ts';
import { type Probed, probeStore } from './probe-store.ts';
import {
  type OwnRule,
  type RuleKind,
  readRules,
  rulesOf,
  valuesOf,
  withOwnRules,
  writeRules,
} from './rule-document.ts';
import { type SeenCors, seeCors } from './seen-cors.ts';

export interface BucketOrder {
  /** Whether to set what is missing. */
  readonly fix: boolean;
  /** Origins of pages that upload. */
  readonly origins: readonly string[];
  /** Downloads are redirected to the bucket. */
  readonly redirects: boolean;
  /** Names of metadata that the server lets clients send. */
  readonly metadata: readonly string[];
  /** null: there is none yet. */
  readonly deploymentId: string | null;
  /** Milliseconds after which the janitor aborts an upload. */
  readonly staleAfter: number;
}

/** What was found out about a bucket, and done. */
export interface BucketReport {
  readonly bucket: string;
  /** Where clients find it. */
  readonly origin: string;
  readonly pages: readonly SeenCors[];
  readonly cors: FixedRules & { readonly needed: readonly CorsRule[] };
  readonly abort: FixedRules & {
    /** Of the rule that the bucket has in the end; null: it has none. */
    readonly days: number | null;
    /** It would abort uploads that the server still serves. */
    readonly tooEarly: boolean;
    readonly neededDays: number;
  };
  readonly probed: Probed;
  /** Keys that could not be removed. */
  readonly left: readonly string[];
}

interface FixedRules {
  /** Rules were set. */
  readonly wasSet: boolean;
  /** Why they could not be read or set. */
  readonly refusal: string | null;
}

/** What begins the keys of a check where there is no deployment. */
const noDeployment = '00000000-0000-0000-0000-000000000000';
/** How long new rules may take until they are obeyed: tries, and milliseconds between them. */
const tries = 5;
const pause = 1000;

/** Checks a bucket as browsers and other clients of it would, and sets what is missing. Removes what it stored. */
export async function checkBucket(
  s3: S3Config,
  { order, log, signal }: { readonly order: BucketOrder; readonly log: Log; readonly signal: AbortSignal },
): Promise<BucketReport> {
  const requests = openBucketRequests({ ...s3, log });
  const store = createS3Store({ ...s3, partBytes: 5 * 1024 ** 2, maxObjectBytes: 1024 ** 3, log });
  const keys = new ProbeKeys(order.deploymentId ?? noDeployment);
  let found: Omit<BucketReport, 'left'>;
  let left: readonly string[] = [];
  try {
    // says what is wrong with the settings
    await store.ready(signal);
    const probed = await probeStore(requests, keys, signal);
    const { pages, ...cors } = await checkCors(requests, keys, order, signal);
    const abort = await checkAbortRule(requests, order, signal);
    found = { bucket: s3.bucket, origin: requests.origin, pages, cors, abort, probed };
  } finally {
    left = await keys.remove(store);
    for (const key of left)
      log.warn({ key }, 'a key of the check could not be removed: the janitor will do that');
    await store.close();
    requests.close();
  }
  return { ...found, left };
}

async function checkCors(
  requests: BucketRequests,
  keys: ProbeKeys,
  { fix, origins, redirects, metadata, deploymentId }: BucketOrder,
  signal: AbortSignal,
): Promise<BucketReport['cors'] & { readonly pages: readonly SeenCors[] }> {
  const needed = neededCors({ name: ruleName(deploymentId), origins, redirects });
  const see = async (): Promise<SeenCors[]> => {
    const pages: SeenCors[] = [];
    for (const origin of origins)
      pages.push(await seeCors(requests, keys, { origin, redirects, metadata }, signal));
    return pages;
  };
  let pages = await see();
  let wasSet = false;
  // the first rule that fits counts, so others before ours may hide it
  for (const first of [false, true]) {
    if (!fix || arePleased(pages)) break;
    const refusal = await addRules(requests, { kind: corsKind, rules: needed.map(corsXml), first }, signal);
    if (refusal !== null) return { pages, needed, wasSet, refusal };
    wasSet = true;
    pages = await see();
    for (let i = 1; i < tries && !arePleased(pages); i++) {
      await sleep(pause, undefined, { signal });
      pages = await see();
    }
  }
  return { pages, needed, wasSet, refusal: null };
}

async function checkAbortRule(
  requests: BucketRequests,
  { fix, deploymentId, staleAfter }: BucketOrder,
  signal: AbortSignal,
): Promise<BucketReport['abort']> {
  const neededDays = abortDays(staleAfter);
  const prefix = deploymentId === null ? '' : `${deploymentId}/`;
  const read = async () => {
    const { text, refusal } = await readRules(requests, lifecycleKind, signal);
    const days = daysOfRules(text, prefix);
    const tooEarly = days !== null && isTooEarly(days, staleAfter);
    return { text, found: { days, tooEarly, neededDays, refusal } };
  };
  const { text, found: before } = await read();
  const name = ruleName(deploymentId);
  // an early rule of others stays in force beside ours
  const ours = rulesOf(text ?? '', lifecycleKind).filter((rule) => valuesOf(rule, 'ID').includes(name));
  const ownDays = daysOfRules(ours.join(''), prefix);
  const isNeeded = before.days === null || (ownDays !== null && isTooEarly(ownDays, staleAfter));
  if (!fix || deploymentId === null || !isNeeded || before.refusal !== null)
    return { ...before, wasSet: false };
  const rules = [abortXml({ name, prefix, days: neededDays })];
  const refusal = await addRules(requests, { kind: lifecycleKind, rules, first: false }, signal);
  if (refusal !== null) return { ...before, wasSet: false, refusal };
  return { ...(await read()).found, wasSet: true };
}

/** Adds rules to those of others. @returns why that was refused; null: it was not */
async function addRules(
  requests: BucketRequests,
  { kind, ...own }: { readonly kind: RuleKind; readonly rules: readonly OwnRule[]; readonly first: boolean },
  signal: AbortSignal,
): Promise<string | null> {
  const { text, refusal } = await readRules(requests, kind, signal);
  // writing without having read would remove others' rules
  if (refusal !== null) return refusal;
  return writeRules(requests, kind, withOwnRules(text, { kind, ...own }), signal);
}

/** Several deployments may share a bucket. */
function ruleName(deploymentId: string | null): string {
  return deploymentId === null ? 'sluice' : `sluice-${deploymentId}`;
}

function arePleased(pages: readonly SeenCors[]): boolean {
  return pages.every(({ problems }) => problems.length === 0);
}

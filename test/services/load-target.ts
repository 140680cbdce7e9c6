import type { Test } from 'tap';
import type { Mix, MixRequest } from '../../load/mix/mix.ts';
import { parseMix } from '../../load/mix/read-mix.ts';
import type { Verification } from '../../load/run/result.ts';
import type { Outcome, Stored, TargetAddress, TargetKind } from '../../load/targets/target.ts';

/** Requests of a load against one server, without a schedule. */
export interface LoadedTarget {
  readonly mix: Mix;
  /** Performs the request with this number. */
  perform(name: string, number: number): Promise<Outcome>;
  /** Reads all of it again. */
  verify(stored: readonly (Stored | undefined)[]): Promise<Verification | undefined>;
  cleanUp(): Promise<void>;
}

/** Prepares a server for a mix, in this thread. */
export async function loadTarget(
  t: Test,
  kind: TargetKind,
  address: Omit<TargetAddress, 'kind' | 'options'> & { options?: TargetAddress['options'] },
  mixText: object,
): Promise<LoadedTarget> {
  const mix = parseMix('test.json', JSON.stringify(mixText));
  const { signal } = new AbortController();
  const whole: TargetAddress = { kind: 'http', options: {}, ...address };
  const work = { mix, address: whole, signal, progress: () => {} };
  const prepared = structuredClone(await kind.prepare(work));
  const performer = kind.open({ mix, address: whole, prepared, signal });
  t.teardown(() => performer.close());
  return {
    mix,
    perform: (name, number) => {
      const request = mix.requests.find((one) => one.name === name) as MixRequest;
      return performer.perform(request, number, AbortSignal.timeout(60_000));
    },
    verify: async (stored) => {
      const found = stored.filter((one) => one !== undefined);
      return kind.verify?.({ ...work, prepared, stored: found, share: 1 });
    },
    cleanUp: () => kind.cleanUp(work),
  };
}

import type { UploadedPart } from '#objects/direct-store.ts';
import { plainEtag } from '#objects/plain-etag.ts';
import { type DirectPlan, partCount, plannedParts } from '../plans/direct-plan.ts';
import type { SentPart } from './plan-request.ts';
import { etagOfMd5 } from './store-checksums.ts';

/** Most problems in an answer. */
const mostProblems = 20;

/**
 * How the parts of the store differ from the plan, and from what the client knows: at most 20 sentences.
 * @param args.sent parts as the client knows them; null: the list of the store decides
 * @param args.etagIsMd5 the store makes ETags of the MD5 of a part
 */
export function partProblems(
  plan: DirectPlan,
  {
    listed,
    sent,
    etagIsMd5,
  }: {
    readonly listed: readonly UploadedPart[];
    readonly sent: readonly SentPart[] | null;
    readonly etagIsMd5: boolean;
  },
): string[] {
  const count = partCount(plan);
  const stored = new Map(listed.map((part) => [part.number, part]));
  const known = sent && new Map(sent.map((part) => [part.number, part]));
  const problems = [...stored.keys(), ...(known?.keys() ?? [])]
    .filter((number) => number > count || number < 1)
    .map((number) => `Part ${number} is not planned: the file has ${count}`);
  for (const { number, size, md5, crc32c: sum } of plannedParts(plan, 1, count)) {
    if (problems.length >= mostProblems) break;
    const part = stored.get(number);
    const said = known?.get(number);
    if (part === undefined) problems.push(`Part ${number} has not arrived`);
    else if (part.size !== size) problems.push(`Part ${number} has ${part.size} bytes, and not ${size}`);
    else if (known !== null && said === undefined) problems.push(`Part ${number} is not in the list`);
    else if (said !== undefined && plainEtag(said.etag) !== part.etag)
      problems.push(`Part ${number} was sent again: its etag is ${part.etag}`);
    else if (etagIsMd5 && md5 !== undefined && part.etag.toLowerCase() !== etagOfMd5(md5))
      problems.push(`Part ${number} has other bytes than its MD5 says`);
    else if (sum !== undefined && said?.crc32c !== undefined && said.crc32c !== sum)
      problems.push(`Part ${number} has another crc32c than planned`);
  }
  return problems.slice(0, mostProblems);
}

import { type BoundSender, conditionFor, type FileCondition } from '#catalogue/file-rules/file-rules.ts';
import { meets } from '#catalogue/file-rules/file-test.ts';
import { requiredFor } from '#catalogue/file-rules/touchable.ts';
import { typeProblem } from '#catalogue/file-rules/upload-limits.ts';
import { notAllowed, payloadTooLarge } from '#kernel/errors/catalogue.ts';
import type { CloudFile } from '../catalogue/cloud-file.ts';
import type { FileDraft } from '../files/file-draft.ts';
import type { ReceivedObject } from '../receive/receive-body.ts';

/** Throws 403 or 413 for a file that rules do not allow. @param size undefined: not known before the end */
export function assertMayUpload(bound: BoundSender, draft: FileDraft, size: number | undefined): void {
  requiredFor(bound, 'upload');
  const { maxBytes } = bound.rules;
  if (maxBytes !== null && (size ?? 0) > maxBytes) throw payloadTooLarge(maxBytes, 'File');
  const problem = typeProblem(bound.rules, draft.contentType);
  if (problem !== null) throw notAllowed(problem);
  if (mayUpload(bound, draft, size)) return;
  const anyUser = 'any-user';
  const lacksLogin =
    bound.user === null && mayUpload({ ...bound, user: anyUser }, { ...draft, owner: anyUser }, size);
  throw notAllowed(
    lacksLogin
      ? "Log in to upload: the rules of the project's files do not allow this file"
      : "The rules of the project's files do not allow this file",
  );
}

function mayUpload(bound: BoundSender, draft: FileDraft, size: number | undefined): boolean {
  const condition = requiredFor(bound, 'upload') as FileCondition;
  const met = meets(condition, { ...draft, size, createdAt: new Date() });
  // at the beginning, a size that is not known yet may still fit
  return size === undefined ? met !== false : met === true;
}

/** The same at the end of an upload, whose bytes are then removed. */
export function assertMayStore(
  bound: BoundSender,
  {
    received,
    draft,
    onCleanup,
  }: {
    readonly received: Pick<ReceivedObject, 'size' | 'writer' | 'release'>;
    readonly draft: FileDraft;
    readonly onCleanup: (cleanup: Promise<void>) => void;
  },
): void {
  try {
    assertMayUpload(bound, draft, received.size);
  } catch (error) {
    onCleanup(received.writer.abort().then(received.release));
    throw error;
  }
}

/** The largest file that the sender may upload. */
export function maxBytesFor(bound: BoundSender | undefined, most: number): number {
  return Math.min(bound?.rules.maxBytes ?? most, most);
}

/** Whether a sender may ask what became of an upload: the file is its own, or one that it may read. */
export function mayAskFor(bound: BoundSender, file: CloudFile): boolean {
  if (bound.user !== null && file.owner === bound.user) return true;
  const condition = conditionFor(bound, 'read');
  return condition !== null && meets(condition, file) === true;
}

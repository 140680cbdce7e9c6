import { createMailTokens } from '#auth/mail-tokens.ts';
import { createKeyedHash } from '#auth/signing-keys.ts';
import type { AdmitMail } from '#kernel/record-events/mail.ts';
import { AnnouncedWrites } from '#records/announced-writes.ts';
import { RecordChanges } from '#records/record-changes.ts';
import type { RecordFiles } from '#records/record-files.ts';
import { RecordInserts } from '#records/record-inserts.ts';
import { quotaWrites } from '#records/record-quota.ts';
import { MailLimits } from './login/mail-limits.ts';
import { sharingLogins } from './login/shared-logins.ts';
import { createMakeMail } from './login/sign-up-mails.ts';
import { SignUpUsers } from './login/sign-up-users.ts';
import { SignUps } from './login/sign-ups.ts';
import type { QueryEnvironment } from './query-environment.ts';
import type { ReadingParts } from './reading-parts.ts';
import { currentWrites } from './space/current-writes.ts';

/** What writes records of requests. Neither goes past the quota and the webhooks. */
export function writingParts(environment: QueryEnvironment, reading: ReadingParts, files: RecordFiles) {
  const { store, events, hasher, reservations, now, loginStates } = environment;
  const { reader, spaces, quota, newId } = reading;
  const counted = quota === null ? store : quotaWrites(store, quota);
  // a write that is not acknowledged calls no webhook
  const announced = new AnnouncedWrites(
    store.singleWriter ? counted : currentWrites(counted, spaces),
    events,
  );
  const writes = loginStates === undefined ? announced : sharingLogins(announced, loginStates);
  const records = new RecordInserts({ store, reader, hasher, reservations, writes, files, newId, now });
  const changes = new RecordChanges({ store, hasher, reservations, writes, files });
  return { records, changes, signUps: openSignUps(environment, reading, { records, changes }) };
}

/** Sign-up, and the mails that it promises. */
function openSignUps(
  { config, store, events, redis, throttle, log, now }: QueryEnvironment,
  { keys, candidates, spaces }: ReadingParts,
  writing: { readonly records: RecordInserts; readonly changes: RecordChanges },
): SignUps {
  const tokens = createMailTokens(createKeyedHash(keys, 'sluice mail token 1'), now);
  const users = new SignUpUsers({ candidates, tokens, throttle });
  const keyOf = createKeyedHash(keys, 'sluice mail limits 1');
  const limits = new MailLimits({ redis, log, keyOf, perHour: config.mailsPerHour, now });
  const admit: AdmitMail = ({ ownerId, spaceId, address }) =>
    limits.admit({ ownerId, spaceId, address, sender: null });
  events.makeMails(createMakeMail({ spaces, users, tokens }), admit);
  return new SignUps({ ...writing, spaces, store, users, limits, mails: events });
}

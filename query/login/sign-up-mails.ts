import type { MailTokens } from '#auth/mail-tokens.ts';
import { uuidV5 } from '#kernel/ids/uuid-v5.ts';
import type { MakeMail } from '#kernel/record-events/mail.ts';
import type { Spaces } from '../space/spaces.ts';
import { isMailAddress } from './mail-address.ts';
import { filledText } from './mail-texts.ts';
import { pageOf } from './sign-up-settings.ts';
import { type SignUpUsers, signUpOf } from './sign-up-users.ts';

/**
 * Makes the mails that were promised, when they are sent. Only here a token exists in full, and only here it is known
 * whether the address has a user.
 */
export function createMakeMail(parts: {
  readonly spaces: Pick<Spaces, 'find'>;
  readonly users: Pick<SignUpUsers, 'byAddress'>;
  readonly tokens: MailTokens;
}): MakeMail {
  const { spaces, users, tokens } = parts;
  return async ({ purpose, ownerId, spaceId, project, space: slug, address }, signal) => {
    const space = await spaces.find(uuidV5(ownerId, project, slug), signal);
    if (space === null || space.id !== spaceId) return 'the record space no longer exists';
    const settings = signUpOf(space);
    if (settings === null) return 'signUp was removed from the rules';
    const user = await users.byAddress({ space, settings }, address, signal);
    if (user === null) return 'no user has this address';
    if (!isMailAddress(user.address)) return 'the user has something else than one e-mail address';
    if (purpose === 'verifyEmail' && (settings.verified === null || user.isVerified))
      return 'the address needs no verification';
    const allows = purpose === 'verifyEmail' ? purpose : 'resetPassword';
    const { token, code } = await tokens.issue(user.subject(allows));
    const page = pageOf(settings, purpose);
    // browsers send a fragment to no server, so that the token appears in no log
    const link = page === null ? null : `${page}#token=${encodeURIComponent(token)}`;
    const values = { link: link ?? '', code, app: settings.app };
    return { to: user.address, ...filledText(settings.mails[purpose], values), link, code };
  };
}

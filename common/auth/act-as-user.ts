import { invalidHeader } from '#kernel/errors/catalogue.ts';
import { shownName } from '#kernel/errors/shown-name.ts';
import type { Grant } from '#kernel/grants.ts';
import type { HttpRequest } from '#server/http/http-types.ts';

/** A header that binds a request with an ordinary access token by rules. */
export const actAsUser = 'sluice-act-as-user';

/**
 * Whether the header binds a request by rules. Throws a 400 for an invalid header, and where no rules can be applied.
 * @param ruled the grants of operations that apply rules
 */
export function actsAsUser(request: HttpRequest, ruled: readonly Grant[]): boolean {
  const value = request.header(actAsUser);
  if (value === undefined || value === 'false') return false;
  if (value === 'true' && (ruled as readonly unknown[]).includes(request.needs?.grant)) return true;
  throw invalidHeader([
    value === 'true'
      ? `The header ${actAsUser} is for finding and changing records and files`
      : `Header ${actAsUser} is ${shownName(value)}: it should be true or false`,
  ]);
}

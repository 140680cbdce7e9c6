import type { LoginTokens } from '../../common/auth/login-tokens.ts';
import { unauthorized } from '../../common/errors/catalogue.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { identityKey, parseCredentials } from '../input/credentials.ts';
import { readFunctionResources } from '../input/function-resources.ts';
import type { StructureCache } from '../input/structure-cache.ts';
import type { LoginThrottle } from '../login/login-throttle.ts';
import type { VerifyCredentials } from '../login/verify-credentials.ts';
import type { OpenRecordSpace } from '../space/open-space.ts';
import { jsonAnswer } from './json-answer.ts';

export interface LoginDeps {
  readonly openSpace: OpenRecordSpace;
  readonly structures: StructureCache;
  readonly verifyCredentials: VerifyCredentials;
  readonly throttle: LoginThrottle;
  readonly loginTokens: LoginTokens;
  /** Bytes of a request body. */
  readonly bodyLimit: number;
}

/** POST /{project}/function/login: a login token for the user whose fields have the values of the body. */
export function login(deps: LoginDeps): Handler {
  const { openSpace, structures, verifyCredentials, throttle, loginTokens, bodyLimit } = deps;
  return async (request) => {
    const { signal } = request;
    const space = await openSpace(request, 'login', () => readFunctionResources(request, structures));
    const conditions = parseCredentials(await readJson(request, bodyLimit), space.structure);
    const user = await throttle.run(
      identityKey(space.id, conditions, space.structure),
      () => verifyCredentials(space, conditions, signal),
      signal,
    );
    // one answer for a wrong password and for a user that does not exist
    if (user === null) throw unauthorized('No user has these values');
    const token = await loginTokens.issue({
      projectId: space.projectId,
      spaceId: space.id,
      recordId: user.id,
    });
    return jsonAnswer(`{"token":${JSON.stringify(token)},"user":${user.json}}`);
  };
}

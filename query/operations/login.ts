import { unauthorized } from '../../common/errors/catalogue.ts';
import { parseCredentials } from '../input/credentials.ts';
import { readFunctionResources } from '../input/function-resources.ts';
import { storedJson } from '../sql/record-row.ts';
import { jsonAnswer } from './json-answer.ts';
import type { RunOperation } from './operation.ts';

/** POST /{project}/function/login: a login token for the user whose fields have the values of the body. */
export const login: RunOperation = async ({ request, open, body }, deps) => {
  const { structures, candidates, loginTokens } = deps;
  const { signal } = request;
  const space = await open(() => readFunctionResources(request, structures));
  const conditions = parseCredentials(await body(), space.structure);
  const user = await candidates.login(space, conditions, signal);
  // one answer for a wrong password and for a user that does not exist
  if (user === null) throw unauthorized('No user has these values');
  const token = await loginTokens.issue({
    projectId: space.projectId,
    spaceId: space.id,
    recordId: user._id,
  });
  return jsonAnswer(`{"token":${JSON.stringify(token)},"user":${storedJson(space.structure, user)}}`);
};

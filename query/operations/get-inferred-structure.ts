import type { Authenticate } from '../../common/auth/authenticate.ts';
import type { Handler } from '../../common/http/http-types.ts';
import { readJson } from '../../common/http/read-json.ts';
import { readPath } from '../space/open-space.ts';
import { inferStructure } from '../structure/infer-structure.ts';
import { structureText } from '../structure/structure.ts';
import { jsonAnswer } from './json-answer.ts';

/** POST /{project}/{space}/get-inferred-structure: the structure of a sample record; nothing is stored or made. */
export function getInferredStructure(deps: { authenticate: Authenticate; bodyLimit: number }): Handler {
  return async (request) => {
    await deps.authenticate(request);
    const path = readPath(request.params);
    return jsonAnswer(structureText(inferStructure(await readJson(request, deps.bodyLimit), path)));
  };
}

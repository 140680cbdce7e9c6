import { documentText, openApiAnswer, wantedVersion } from '../../common/openapi-document/openapi-answer.ts';
import { readPath } from '../input/space-reference.ts';
import type { RunOperation } from './operation.ts';

/** GET /{project}/{space}/openapi.json: the operations of the space, with its stored fields as typed schemas. */
export const getOpenApi: RunOperation = async ({ request, open }, { describeSpace }) => {
  const version = wantedVersion(request);
  const { stored } = await open(() => ({ path: readPath(request.params), structure: null }));
  return openApiAnswer(request, version, documentText(describeSpace(stored), version));
};

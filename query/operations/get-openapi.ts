import {
  documentText,
  openApiAnswer,
  openApiAnswers,
  versionParameter,
  wantedVersion,
} from '#server/openapi/openapi-answer.ts';
import { readPath } from '../input/space-reference.ts';
import { spaceErrors } from '../openapi/describe-operation.ts';
import { makePerson } from '../openapi/operation-sample.ts';
import type { OperationDefinition } from './operation.ts';

/** GET /{project}/{space}/openapi.json: the operations of the space, with typed schemas of its stored fields. */
export const getOpenApi: OperationDefinition = {
  async run({ request, open }, { describeSpace }) {
    const version = wantedVersion(request);
    const { structure } = await open(() => ({ path: readPath(request.params), structure: null }));
    return openApiAnswer(request, version, documentText(describeSpace(structure), version));
  },
  tag: 'Description',
  summary: 'Describe a space',
  description: 'OpenAPI of the operations of this space, with its fields as typed schemas and parameters.',
  spaceHeaders: 'none',
  parameters: () => [versionParameter],
  answers: openApiAnswers,
  errors: spaceErrors,
  sample: { first: makePerson },
};

import { exactObject, named, type Schema, string } from '#kernel/json/schema.ts';
import { storedJson } from '#records/sql/record-row.ts';
import type { StoredRow } from '#records/sql/stored-row.ts';
import type { RecordSpace } from '#records/structure/record-space.ts';
import type { HttpResponse } from '#server/http/http-types.ts';
import { type ApiParameter, headerParameter } from '#server/openapi/api-operation.ts';
import { jsonAnswer } from './json-answer.ts';

/** The header of a login token. */
export const loginToken = {
  ...headerParameter('token', 'The login token of a user in this record space'),
  required: true,
} as const;

export function loginAnswer(token: string, { structure }: RecordSpace, user: StoredRow): HttpResponse {
  return jsonAnswer(`{"token":${JSON.stringify(token)},"user":${storedJson(structure, user)}}`);
}

export function loginSchema(record: Schema): Schema {
  return named('Login', exactObject({ token: string, user: record }));
}

export function functionResources(structure: Schema): ApiParameter {
  return {
    name: 'function-resources',
    in: 'header',
    required: true,
    description: 'The structure of the one record space that holds the users',
    json: named(
      'FunctionResources',
      exactObject(
        {
          mustExistSpaceStructures: {
            type: 'array',
            minItems: 1,
            maxItems: 1,
            items: { anyOf: [structure, named('NamedSpace', exactObject({ slug: string }))] },
          },
        },
        { additionalProperties: true },
      ),
    ),
  };
}

/** The schemas of the description say what the parsers take: what a parser takes fits its schema. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import t from 'tap';
import { slugPattern, spaceSlugProblem } from '#kernel/ids/slug.ts';
import { parsePopulate } from '#query/input/parse-populate.ts';
import { scopes } from '#query/operations.ts';
import { parseOptions } from '#records/input/parse-options.ts';
import { readStructure } from '#records/structure/parse-structure.ts';
import type { JsonObject } from '#server/openapi/components.ts';
import { fakeRequest } from '../services/fake-request.ts';
import { documentOf, processRoutes, queryTable } from '../services/openapi-document.ts';
import { personFields } from '../services/record-client.ts';
import { valuesOf } from '../services/schema-arbitrary.ts';
import { storedStructure } from '../services/stored-structure.ts';
import { sized } from '../services/test-size.ts';
import { thrownBy } from '../services/thrown-by.ts';

const document = await documentOf(processRoutes(queryTable()));
const ajv = new Ajv2020({ strict: false }).addSchema(document, 'document');
const { schemas } = document.components as { schemas: JsonObject };

function fits(name: string, value: unknown): boolean {
  return ajv.validate({ $ref: `document#/components/schemas/${name}` }, value) as boolean;
}

/** Values by the schema, and some with one thing replaced or left out. @param required keys that the schema can't say are needed */
function bentValues(name: string, required: readonly string[] = []): fc.Arbitrary<unknown> {
  const schema = schemas[name] as { readonly required?: readonly string[] };
  const values = valuesOf({ ...schema, required: [...(schema.required ?? []), ...required] }, document);
  const others = [undefined, null, '', 'x', 0, -1, 1.5, true, [], {}, '_', 'id', ['x']];
  const replaced = fc.constantFrom<unknown>(...others);
  return fc
    .tuple(values, fc.option(replaced, { freq: 2 }), fc.nat(), fc.boolean())
    .map(([value, other, at, deep]) => {
      if (other === null) return value;
      const copy = structuredClone(value) as Record<string, unknown>;
      const inner = copy.recordStructure;
      const part = deep && Array.isArray(inner) && inner.length > 0 ? (inner[0] as typeof copy) : copy;
      const keys = Object.keys(part);
      if (keys.length > 0) part[keys[at % keys.length] as string] = other;
      return JSON.parse(JSON.stringify(copy)) as unknown;
    });
}

t.test('a structure that is taken fits its schema', async (t) => {
  let taken = 0;
  let unfit = 0;
  fc.assert(
    fc.property(bentValues('Structure', ['recordStructure']), (value) => {
      const { problems, projectSlug, slug } = readStructure(value, scopes);
      // slugs are held against those of the path, which are valid
      const ofPath = slugPattern.test(projectSlug ?? '') && spaceSlugProblem(slug ?? '') === null;
      const good = problems.length === 0 && ofPath;
      const fit = fits('Structure', value);
      taken += good ? 1 : 0;
      unfit += fit ? 0 : 1;
      // a list of fields beside the one that counts is not looked at
      const other = (value as { recordFieldStructures?: unknown }).recordFieldStructures;
      return fit || !good || (other !== undefined && other !== null);
    }),
    { numRuns: sized(600) },
  );
  t.ok(taken > sized(50, 2) && unfit > sized(50), `${taken} taken, ${unfit} do not fit`);
});

/** Options, some of whose populations name a field of the structure, or a name that is not one. */
const bentOptions = fc
  .tuple(
    bentValues('Options'),
    fc.constantFrom<unknown>('full-name', 'age', 'id', undefined, null, '', 'x'.repeat(201), 5),
    fc.constantFrom('localKey', 'foreignKey', 'newField', 'from'),
  )
  .map(([value, other, key]) => {
    const { populate, select, sort, pagination } = value as Record<string, unknown>;
    // more of them are right without what excludes each other
    if (typeof pagination === 'object' && pagination !== null && 'after' in pagination)
      Object.assign(pagination, { page: undefined });
    if (Array.isArray(select))
      select.splice(0, 5, ...['age', 'full-name', 'extra.a'].slice(select.length % 3));
    if (Array.isArray(sort)) sort.splice(2);
    const sorts = [sort].flat().filter((one) => typeof one === 'object' && one !== null);
    for (const [at, one] of sorts.entries()) Object.assign(one as object, { by: at === 0 ? 'age' : 'id' });
    for (const population of Array.isArray(populate) ? populate : []) {
      const { fields } = (population ?? {}) as { readonly fields?: Record<string, unknown> };
      if (typeof fields === 'object' && fields !== null)
        Object.assign(fields, { localKey: 'age', [key]: other });
    }
    return value;
  });

t.test('options that are taken fit their schema', async (t) => {
  const structure = storedStructure(personFields);
  let taken = 0;
  let populated = 0;
  fc.assert(
    fc.property(bentOptions, (value) => {
      const options = JSON.stringify(value);
      const read = (): void => {
        parseOptions(options, structure);
        populated += parsePopulate(fakeRequest({ headers: { options } }), structure).length;
      };
      const good = thrownBy(read) === null;
      taken += good ? 1 : 0;
      return !good || fits('Options', value);
    }),
    { numRuns: sized(5000) },
  );
  t.ok(taken > sized(100) && populated > sized(50), `${taken} taken, ${populated} populations`);
});

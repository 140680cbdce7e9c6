import { type Schema, target } from '#kernel/json/schema.ts';

/** JSON of an OpenAPI document; undefined values are omitted from its text. */
export type Json = string | number | boolean | null | undefined | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

/** The components of a document: parts that it defines once and references. */
export class Components {
  readonly #schemas = new Map<string, Json>();
  readonly #shared = { parameters: new Map<string, Json>(), headers: new Map(), responses: new Map() };

  /** The schema as JSON, with the targets of its references added to the components. */
  schema(schema: Schema): Json {
    const visit = (part: unknown): void => {
      if (typeof part !== 'object' || part === null) return;
      const to = (part as Schema)[target];
      if (to !== undefined && !this.#schemas.has(to.name)) {
        this.#schemas.set(to.name, to.schema as Json);
        visit(to.schema);
      }
      for (const value of Object.values(part)) visit(value);
    };
    visit(schema);
    return schema as Json;
  }

  /** A reference to the part; or the part itself, if another part already has the name. */
  shared(kind: 'parameters' | 'headers' | 'responses', name: string, part: JsonObject): Json {
    const key = name.replace(/[^\w.-]/g, '');
    const known = this.#shared[kind].get(key);
    if (known === undefined) this.#shared[kind].set(key, part);
    else if (JSON.stringify(known) !== JSON.stringify(part)) return part;
    return { $ref: `#/components/${kind}/${key}` };
  }

  objects(): JsonObject {
    const kinds = Object.entries({ schemas: this.#schemas, ...this.#shared });
    return Object.fromEntries(
      kinds.map(([kind, parts]) => [
        kind,
        Object.fromEntries([...parts].sort(([a], [b]) => (a < b ? -1 : 1))) as JsonObject,
      ]),
    );
  }
}

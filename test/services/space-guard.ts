import type { Database } from '#engine/database.ts';

const anywhere = /\b(?:records|record_keys)\b/;
const table = String.raw`sluice\.(?:records|record_keys)`;
/** The shapes of statements that name such a table; there is one table in each, and it has a name only once. */
const shapes = [
  new RegExp(String.raw`^(?:INSERT INTO ${table}\s+#\d+#\s+)?SELECT .* FROM ${table} (?:PRE)?WHERE (.*)$`),
  new RegExp(`^DELETE FROM ${table} WHERE (.*)$`),
  new RegExp(`^UPDATE ${table} SET .* WHERE (.*)$`),
];
/** What migrations do to whole tables. */
const ddl = /^\s*(?:CREATE (?:TABLE|DATABASE)|ALTER TABLE \S+ (?:MODIFY SETTING|ADD COLUMN))\s/;
/** The parts of an import, whose rows each have their space. */
const attached = /^ALTER TABLE sluice\.records ATTACH PARTITION tuple\(\) FROM sluice\.import_[0-9a-f]{32}$/;
/** What fills the filter of unique values: hashes, of which none is answered. */
const ofAllKeys = [
  /^SELECT toFloat64\(\(SELECT count\(\) FROM sluice\.record_keys\) \+ \(SELECT sum\(length\(_keys\)\) FROM sluice\.records\)\) AS keys$/,
  /^SELECT bitXor\(toUInt32\(bitAnd\(key, 0xffffffff\)\), [\w(), .]+ FROM \(SELECT space, key FROM sluice\.record_keys\s+UNION ALL SELECT space, arrayJoin\(_keys\) AS key FROM sluice\.records\)(?:\s+FORMAT RowBinary)?$/,
];
/** Rows say themselves of which space they are. */
const rows = new RegExp(String.raw`^INSERT INTO ${table}\s*(?:#\d+#)?\s*FORMAT \w+$`);
const clauseEnd = /(?:^|\s)(?:GROUP BY|ORDER BY|HAVING|LIMIT|SETTINGS|FORMAT)(?:\s|$)/;
const space = `'U'`;

/**
 * What is wrong with a statement over the tables that rows of all spaces share; null: it says of which spaces its rows
 * are, and so does each SELECT within it. DDL and rows that are inserted are not looked at: the latter each have their
 * space.
 */
export function spaceProblem(sql: string): string | null {
  if (ddl.test(sql) || attached.test(sql) || ofAllKeys.some((one) => one.test(sql))) return null;
  const scopes = scopesOf(masked(sql)).flatMap(({ text, groups }) =>
    text.split(' UNION ALL ').map((part) => ({ text: part, groups })),
  );
  for (const { text, groups } of scopes) {
    if (!anywhere.test(text) || rows.test(text)) continue;
    const matched = shapes.map((shape) => shape.exec(text)?.[1]).find((where) => where !== undefined);
    if (matched === undefined) return `names a table of all spaces in a way that is not known: ${text}`;
    const where = matched.split(clauseEnd)[0] as string;
    if (/\b(?:UNION|INTERSECT|EXCEPT|JOIN|OR|SELECT)\b/i.test(matched))
      return `has more than one condition: ${text}`;
    if (!namesSpace(where, groups)) return `does not say of which space its rows are: ${text}`;
  }
  return null;
}

/** The same database, which refuses statements that could reach rows of any space. */
export function guardSpaces(db: Database): Database {
  const check = (sql: string): void => {
    const problem = spaceProblem(sql);
    if (problem !== null) throw new Error(`a statement ${problem}`);
  };
  return {
    ...db,
    async command(statement) {
      check(statement.sql);
      return db.command(statement);
    },
    async rows(statement) {
      check(statement.sql);
      return db.rows(statement);
    },
    async stream(statement) {
      check(statement.sql);
      return db.stream(statement);
    },
  };
}

/** The statement without what its texts say: those that are ids of spaces are `'U'`, others `'T'`; one line. */
function masked(sql: string): string {
  const uuid = /^'[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'$/;
  const quoted = /'(?:[^'\\]|\\[\s\S])*'|`(?:[^`\\]|\\[\s\S])*`/g;
  return sql
    .replace(quoted, (token, offset: number) => {
      if (token.startsWith("'")) return uuid.test(token) ? space : `'T'`;
      // what a column is called is any text, too
      return sql.slice(offset - 4, offset) === ' AS ' ? 'name' : token;
    })
    .replace(/\s+/g, ' ')
    .trim();
}

interface Scope {
  /** What stands in parentheses is `#n#`. */
  readonly text: string;
  readonly groups: ReadonlyMap<string, string>;
}

/** The statement and all that stands in parentheses in it, each without what stands in parentheses of its own. */
function scopesOf(sql: string): readonly Scope[] {
  const groups = new Map<string, string>();
  let text = sql;
  for (;;) {
    const inner = text.replace(/\(([^()]*)\)/g, (_, content: string) => {
      const name = `#${groups.size}#`;
      groups.set(name, content);
      return ` ${name} `;
    });
    if (inner === text) break;
    text = inner;
  }
  return [text, ...groups.values()].map((scope) => ({ text: scope.replace(/\s+/g, ' ').trim(), groups }));
}

function namesSpace(where: string, groups: ReadonlyMap<string, string>): boolean {
  return where.split(' AND ').some((part) => {
    const condition = part.trim();
    if (condition === `space = ${space}`) return true;
    const [, name = ''] = /^space IN (#\d+#)$/.exec(condition) ?? [];
    const list = groups.get(name);
    return list?.split(',').every((item) => item.trim() === space) ?? false;
  });
}

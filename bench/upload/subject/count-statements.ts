import { createRequire } from 'node:module';
import type { Session } from 'chdb';

/**
 * Runs inside the server, before its own modules: counts every statement at the interface of the embedded engine, so that
 * no code of the server has to be trusted. Reports over the message channel.
 */
const { Session: SessionClass } = createRequire(import.meta.url)('chdb') as typeof import('chdb');

/** Kind and table of a statement, such as `INSERT sluice.cloud_files`. */
const counts = new Map<string, number>();

const methods = [
  'query',
  'queryBind',
  'queryAsync',
  'queryBindAsync',
  'queryStream',
  'queryStreamBind',
] as const;
for (const name of methods) wrap(SessionClass.prototype, name);
wrapInsert(SessionClass.prototype);

process.on('message', () => {
  process.send?.(Object.fromEntries(counts));
});
// the channel must not keep the server alive when it should stop
process.channel?.unref();

function wrap(prototype: Session, name: (typeof methods)[number]): void {
  const original = Reflect.get(prototype, name) as (this: Session, ...args: unknown[]) => unknown;
  Reflect.set(prototype, name, function counting(this: Session, ...args: unknown[]) {
    count(describe(String(args[0])));
    return original.apply(this, args);
  });
}

function wrapInsert(prototype: Session): void {
  const original = Reflect.get(prototype, 'insert') as (this: Session, ...args: unknown[]) => unknown;
  Reflect.set(prototype, 'insert', function counting(this: Session, ...args: unknown[]) {
    count(`INSERT ${String((args[0] as { table?: unknown }).table)}`);
    return original.apply(this, args);
  });
}

function describe(sql: string): string {
  const text = sql.trimStart();
  const verb = /^\w+/.exec(text)?.[0].toUpperCase() ?? '?';
  const table = /\b(?:INTO|FROM|UPDATE|TABLE)\s+([\w.`]+)/i.exec(text.slice(0, 4096))?.[1] ?? '';
  return `${verb} ${table}`.trim();
}

function count(statement: string): void {
  counts.set(statement, (counts.get(statement) ?? 0) + 1);
}

import { readConfigFrom } from '../../common/config/read-config.ts';
import { EnvReader } from '../../common/config/validators.ts';

/** What the code itself says of an environment variable. */
export interface ReadVariable {
  readonly default: string | undefined;
  /** What it may be, in words; undefined: a text. */
  readonly values: string | undefined;
}

/** Notes how each variable is read. */
class DescribingReader extends EnvReader {
  readonly #read: Map<string, ReadVariable>;

  constructor(env: Readonly<Record<string, string>>, read: Map<string, ReadVariable>) {
    super(env);
    this.#read = read;
  }

  #note(key: string, fallback: string | undefined, values: string | undefined): void {
    // a variable is read as a text before it is read as what it is
    if (values !== undefined || !this.#read.has(key)) this.#read.set(key, { default: fallback, values });
  }

  override text(key: string): string | undefined {
    this.#note(key, undefined, undefined);
    return super.text(key);
  }

  override integer(key: string, fallback: number, min: number, max: number): number {
    const value = super.integer(key, fallback, min, max);
    this.#note(key, `${fallback}`, `${min} to ${max}`);
    return value;
  }

  override boolean(key: string, fallback: boolean): boolean {
    const value = super.boolean(key, fallback);
    this.#note(key, `${fallback}`, 'true, false');
    return value;
  }

  override oneOf<T extends string>(key: string, fallback: T, allowed: readonly T[]): T {
    const value = super.oneOf(key, fallback, allowed);
    this.#note(key, fallback, allowed.join(', '));
    return value;
  }
}

/** Some variables are read only when others are set: together these reach all. */
const environments: readonly Readonly<Record<string, string>>[] = [
  {},
  { CLICKHOUSE_URL: 'http://clickhouse:8123', S3_BUCKET: 'files', REDIS_URL: 'redis://redis' },
  { REDIS_SENTINELS: 'sentinel', REDIS_SENTINEL_NAME: 'main' },
  { REDIS_CLUSTER_NODES: 'node' },
];

/** Every variable that the configuration reads. */
export function readVariables(): ReadonlyMap<string, ReadVariable> {
  const read = new Map<string, ReadVariable>();
  for (const env of environments) readConfigFrom(new DescribingReader(env, read));
  return read;
}

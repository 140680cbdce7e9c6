import type { Answer } from '../http/connection.ts';

/** An answer that is not the one that a request asked for. */
export class Refusal extends Error {
  readonly status: number;
  /** The server's own word, or its status. */
  readonly code: string;

  constructor({ status, body }: Answer, code = codeOf(body) ?? `${status}`) {
    super(`${status} ${body.toString('utf8', 0, 300)}`);
    this.status = status;
    this.code = code;
  }
}

/** Of an error of Sluice or S3. */
function codeOf(body: Buffer): string | null {
  return (
    /"code" *: *"([^"]{1,100})"|<Code>([\w.]{1,100})<\/Code>/
      .exec(body.toString('utf8', 0, 4096))
      ?.slice(1)
      .find(Boolean) ?? null
  );
}

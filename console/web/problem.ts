import { type Grant, grantMeanings } from '#kernel/grants.ts';

/** An error in words for the user. */
export class Problem extends Error {
  /** HTTP status; 0 when no answer came. */
  declare readonly status: number;
  /** The service's machine code, such as `payload_too_large`; see docs/errors.md. */
  declare readonly code: string;
  /** One line for each problem with the input. */
  declare readonly details: readonly string[];
  declare readonly requestId: string | undefined;
  /** Seconds to wait before a retry. */
  declare readonly retryAfter: number | undefined;

  constructor(message: string, parts: Partial<Omit<Problem, keyof Error>> = {}) {
    super(message);
    Object.assign(this, { status: 0, code: 'no_answer', details: [], ...parts });
  }
}

/** @param header reads a header of the answer, whether fetch or XMLHttpRequest got it */
export function problemOf(
  status: number,
  body: string,
  header: (name: string) => string | null = () => null,
): Problem {
  const { message, code, error } = errorBody(body);
  const retryAfter = Number(header('retry-after') ?? Number.NaN);
  return new Problem(inPages(String(message ?? `The server answered with status ${status}. Try again.`)), {
    status,
    code: String(code ?? 'unknown'),
    details: Array.isArray(error) ? error.map((one) => inPages(String(one))) : [],
    requestId: header('x-request-id') ?? undefined,
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
  });
}

/** The API speaks of an access token, which nobody sees in these pages. */
function inPages(text: string): string {
  return text.replace(/^The access token is not granted ([\w:]+)/, (_, grant: string) => {
    const meaning = grantMeanings[grant as Grant] ?? grant;
    return `Your grants in this account do not include “${meaning}”`;
  });
}

function errorBody(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    // perhaps the page of a proxy
    return {};
  }
}

export function noAnswer(): Problem {
  return new Problem('The server did not answer. Check the connection, then try again.');
}

/** Whether the page itself aborted the request, so that there is nothing to show. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === 'AbortError';
}

/** Any thrown value as a Problem. */
export function toProblem(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown;
  if (thrown instanceof DOMException && thrown.name === 'TimeoutError') {
    return new Problem('The server took too long to answer. Try again.');
  }
  // fetch throws this without an answer
  if (thrown instanceof TypeError && /fetch|network|load/i.test(thrown.message)) return noAnswer();
  return new Problem(thrown instanceof Error ? thrown.message : String(thrown), { code: 'unexpected' });
}

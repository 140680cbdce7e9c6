import type { BodySink, HttpRequest, HttpResponse } from '#server/http/http-types.ts';

export interface FakeRequestArgs {
  readonly method?: string;
  readonly params?: Record<string, string>;
  readonly query?: HttpRequest['query'];
  /** Lower-case names. */
  readonly headers?: Record<string, string>;
  /** Sent in these chunks once a sink is there. */
  readonly chunks?: readonly Uint8Array[];
  readonly contentLength?: number;
  readonly signal?: AbortSignal;
  readonly address?: string;
  /** Called instead of sending the chunks. */
  readonly onConsume?: (sink: BodySink) => void;
}

/** A request as the server hands it on; `consumed` says whether anybody asked for its body. */
export function fakeRequest(args: FakeRequestArgs = {}): HttpRequest & { readonly consumed: boolean } {
  const controller = new AbortController();
  let consumed = false;
  let resume: () => void = () => {};
  return {
    id: 'request-1',
    method: args.method ?? 'GET',
    path: '/',
    params: args.params ?? {},
    query: args.query ?? [],
    rawQuery: '',
    header: (name) => args.headers?.[name],
    address: args.address ?? '192.0.2.1',
    signal: args.signal ?? controller.signal,
    get consumed() {
      return consumed;
    },
    onOver() {},
    body: {
      contentLength: args.contentLength,
      consume(sink) {
        consumed = true;
        if (args.onConsume !== undefined) args.onConsume(sink);
        else void send(sink);
      },
      resume: () => resume(),
      identify() {},
      putBack() {},
      claim: () => Promise.resolve(() => {}),
      tryClaim: () => () => {},
    },
  };

  async function send(sink: BodySink): Promise<void> {
    for (const chunk of args.chunks ?? []) {
      const resumed = new Promise<void>((resolve) => {
        resume = resolve;
      });
      const memory = new Uint8Array(chunk);
      const goOn = sink.write(memory);
      memory.fill(0xee);
      if (!goOn) await resumed;
    }
    sink.end();
  }
}

/** The bytes of an answer, whichever form they have. */
export async function responseBytes({ body }: HttpResponse): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0);
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as string);
  const parts: Uint8Array[] = [];
  for await (const chunk of body.chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

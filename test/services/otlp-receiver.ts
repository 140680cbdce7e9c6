import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A span, as OTLP/HTTP's JSON has it (https://opentelemetry.io/docs/specs/otlp/#otlphttp). */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  /** By name. */
  readonly attributes: Readonly<Record<string, unknown>>;
  /** 2: an error. */
  readonly status?: { readonly code?: number };
  /** Of the resource. */
  readonly resource: Readonly<Record<string, unknown>>;
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Batch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (ReceivedSpan & { attributes: KeyValue[] })[];
    }[];
  }[];
}

/** A collector that keeps what it is sent. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: NodeJS.Dict<string | string[]> }[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    requests.push({ path: request.url ?? '', headers: request.headers });
    bodies.push(body.toString('latin1'));
    if (request.headers['content-type'] === 'application/json') {
      spans.push(...spansOf(JSON.parse(body.toString()) as Batch));
    }
    response.writeHead(200, { 'content-type': request.headers['content-type'] ?? '' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    /** Heads of the requests that came. */
    requests,
    /** All bodies, as they came. */
    text: () => bodies.join('\n'),
    /** Resolves with the spans of a trace, when they hold what is asked for. */
    async trace(
      traceId: string,
      isWhole: (spans: readonly ReceivedSpan[]) => boolean,
    ): Promise<ReceivedSpan[]> {
      for (let tries = 0; tries < 500; tries++) {
        const found = spans.filter((span) => span.traceId === traceId);
        if (isWhole(found)) return found;
        await sleep(20);
      }
      throw new Error(`the trace did not come: ${JSON.stringify(spans.map(({ name }) => name))}`);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function spansOf({ resourceSpans }: Batch): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: valuesOf(span.attributes),
        resource: valuesOf(resource.attributes),
      })),
    ),
  );
}

function valuesOf(list: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]));
}

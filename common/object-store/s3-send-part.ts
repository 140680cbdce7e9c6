import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { S3Client } from '@aws-sdk/client-s3';
import { untilAborted } from '../abort/until-aborted.ts';
import type { Part } from './object-store.ts';
import { escapeUri, type S3Address } from './s3-address.ts';
import { S3Timeout } from './s3-deadline.ts';
import { readFailure } from './s3-error-answer.ts';
import type { S3Timing } from './s3-options.ts';
import { createS3Signer, type S3Credentials } from './s3-signer.ts';

/** PutObject or UploadPart: the two requests whose bodies are large. */
export interface PartRequest {
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly part: Part;
}

/**
 * Sends the bytes of a part and answers its ETag. When it settles, nothing refers to the chunks any more. Rejects with
 * the reason of the signal, an S3Failure, or what the connection failed with. Tries once.
 */
export type PartSender = (request: PartRequest, signal: AbortSignal) => Promise<string>;

/** S3 answers a part with headers, and an error with a few lines of XML. Bytes. */
const maxAnswer = 64 * 1024;

/**
 * A path past the SDK for the bytes of parts, because the SDK's costs a third more CPU: one write of all chunks, the
 * payload not hashed (x-amz-content-sha256: UNSIGNED-PAYLOAD) but protected by the CRC-32, which is signed.
 */
export function createPartSender(args: {
  readonly client: S3Client;
  readonly agent: Agent;
  readonly address: S3Address;
  readonly timing: Pick<S3Timing, 'connect' | 'quiet'>;
}): PartSender {
  const { client, agent, address, timing } = args;
  const { config } = client;
  const { base } = address;
  const request = base.protocol === 'https:' ? httpsRequest : httpRequest;
  // URL writes an IPv6 address in brackets, and sockets want it without
  const host = base.hostname.replace(/^\[|\]$/g, '');
  const sign = createS3Signer(address.signingRegion);
  /** Credentials that do not expire are asked for once. */
  let lasting: S3Credentials | null = null;
  /** They may have to be waited for. */
  const credentialsUntil = async (signal: AbortSignal): Promise<S3Credentials> => {
    const credentials = await untilAborted(config.credentials(), signal);
    if (credentials.expiration === undefined) lasting = credentials;
    return credentials;
  };

  return async ({ key, query, headers, part }, signal) => {
    const path = address.path(key);
    const queryPart = queryText(query);
    const credentials = lasting ?? (await credentialsUntil(signal));
    const signed = sign(
      {
        method: 'PUT',
        path,
        query: queryPart,
        headers: { ...headers, host: base.host, 'content-length': `${part.size}` },
      },
      credentials,
      new Date(Date.now() + config.systemClockOffset),
    );
    const sent = request({
      agent,
      host,
      port: base.port,
      method: 'PUT',
      path: queryPart === '' ? path : `${path}?${queryPart}`,
      headers: signed,
    });
    const answer = await exchange(sent, part, timing, signal);
    const { statusCode = 0 } = answer.response;
    const etag = answer.response.headers.etag;
    if (statusCode === 200 && etag !== undefined) return etag;
    const failure = readFailure(answer.response, answer.text);
    const date = Date.parse(answer.response.headers.date ?? '');
    if (failure.code === 'RequestTimeTooSkewed' && !Number.isNaN(date)) {
      config.systemClockOffset = date - Date.now();
    }
    throw failure;
  };
}

interface Answer {
  readonly response: IncomingMessage;
  readonly text: string;
}

/** Resolves when the exchange is over and the connection free or closed. */
function exchange(
  sent: ReturnType<typeof httpRequest>,
  part: Part,
  timing: Pick<S3Timing, 'connect' | 'quiet'>,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let failure: unknown;
    let answer: Answer | undefined;
    let connecting: NodeJS.Timeout | undefined;
    const fail = (error: Error): void => {
      failure ??= error;
      // with RST, so that a server doesn't carry out what has been given up; TLS has no such thing
      if (sent.protocol === 'http:' && sent.socket?.connecting === false) sent.socket.resetAndDestroy();
      sent.destroy(error);
    };
    const onAbort = () => fail(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    sent.setTimeout(timing.quiet, () => fail(new S3Timeout('the connection was quiet', timing.quiet)));
    sent.on('socket', (socket) => {
      if (!socket.connecting) return;
      connecting = setTimeout(() => fail(new S3Timeout('no connection', timing.connect)), timing.connect);
      socket.once(sent.protocol === 'https:' ? 'secureConnect' : 'connect', () => clearTimeout(connecting));
    });
    sent.on('error', (error) => {
      failure ??= error;
    });
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
        if (bytes <= maxAnswer) chunks.push(chunk);
        else fail(new Error('the answer is too long'));
      });
      response.on('error', (error) => {
        failure ??= error;
      });
      response.on('end', () => {
        answer = { response, text: Buffer.concat(chunks).toString('utf8') };
        // answered before everything was sent: the rest would be sent for nothing, from chunks that are not ours any more
        if (!sent.writableFinished) sent.destroy();
      });
    });
    // after this the socket is gone, or back with the agent with all bytes written
    sent.on('close', () => {
      clearTimeout(connecting);
      signal.removeEventListener('abort', onAbort);
      if (failure === undefined && answer !== undefined) resolve(answer);
      else reject(failure ?? new ConnectionLost());
    });
    // one writev(2) for headers and chunks
    sent.cork();
    for (const chunk of part.chunks) if (chunk.byteLength > 0) sent.write(chunk);
    sent.end();
  });
}

class ConnectionLost extends Error {
  readonly code = 'ECONNRESET';
  constructor() {
    super('the connection was closed before the answer');
  }
}

/** In order of the names, as it is signed. */
function queryText(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${escapeUri(name)}=${escapeUri(query[name] as string)}`)
    .join('&');
}

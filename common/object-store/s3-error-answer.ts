import type { IncomingMessage } from 'node:http';
import { S3Failure } from './s3-failure.ts';

/**
 * What an answer that is not a success says:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html, section "REST error responses".
 */
export function readFailure(
  {
    statusCode = 0,
    statusMessage = '',
    headers,
  }: Pick<IncomingMessage, 'statusCode' | 'statusMessage' | 'headers'>,
  text: string,
): S3Failure {
  const code = element(text, 'Code') ?? `Http${statusCode}`;
  const message = element(text, 'Message') ?? (statusMessage || 'no message');
  const region = headers['x-amz-bucket-region'] ?? element(text, 'Region');
  return new S3Failure(statusCode, code, message, typeof region === 'string' ? region : undefined);
}

/** Text of the first such element. Errors are flat, and only their codes are acted on, so no XML parser is needed. */
function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]{0,1000})</${name}>`).exec(xml)?.[1];
}

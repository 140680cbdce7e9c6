import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

export interface ReceivedMail {
  readonly to: readonly string[];
  readonly from: string;
  /** As it came, with its headers. */
  readonly raw: string;
  readonly subject: string;
  /** Decoded. */
  readonly text: string;
  readonly code: string;
  /** Of its link; empty: it has none. */
  readonly token: string;
  readonly isSecure: boolean;
  readonly user: string | undefined;
}

/** A reply to a recipient: `ok`, a code such as 450, or none at all. */
export type MailReply = 'ok' | 'nothing' | number;

export interface MailServer {
  readonly url: string;
  readonly port: number;
  readonly received: ReceivedMail[];
  /** For the next recipients; absent: `ok`. */
  readonly replies: MailReply[];
  /** Recipients that were asked for, accepted or not. */
  readonly asked: string[];
  /** Resolves with the mail of this number, counted from 0, once it has come. */
  mail(index: number): Promise<ReceivedMail>;
  /** The oldest mail that was not read yet, once it has come. @param address its recipient; absent: any */
  next(address?: string): Promise<ReceivedMail>;
  /** Resolves once so many recipients were asked for. */
  askedFor(count: number): Promise<void>;
  close(): Promise<void>;
}

/** A real SMTP server on loopback. */
export async function startMailServer(options: SMTPServerOptions = {}, port = 0): Promise<MailServer> {
  const received: ReceivedMail[] = [];
  const replies: MailReply[] = [];
  const asked: string[] = [];
  const read = new Set<ReceivedMail>();
  let wake: (() => void)[] = [];
  const changed = (): void => {
    const waiting = wake;
    wake = [];
    for (const go of waiting) go();
  };
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise<void>((resolve) => wake.push(resolve));
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    onRcptTo({ address }, _session, callback) {
      asked.push(address);
      changed();
      const reply = replies.shift() ?? 'ok';
      if (reply === 'nothing') return;
      callback(
        reply === 'ok' ? null : Object.assign(new Error('refused by the test'), { responseCode: reply }),
      );
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({
          ...readMail(Buffer.concat(chunks).toString('utf8')),
          to: rcptTo.map(({ address }) => address),
          from: mailFrom === false ? '' : mailFrom.address,
          isSecure: session.secure,
          user: session.user,
        });
        callback();
        changed();
      });
    },
    ...options,
  });
  // a client that gives up is part of the tests
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const { port: listening } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${listening}`,
    port: listening,
    received,
    replies,
    asked,
    async mail(index) {
      await until(() => received.length > index);
      return received[index] as ReceivedMail;
    },
    async next(address) {
      for (let index = 0; ; index++) {
        await until(() => received.length > index);
        const mail = received[index] as ReceivedMail;
        if (read.has(mail) || (address !== undefined && mail.to[0] !== address)) continue;
        read.add(mail);
        return mail;
      }
    },
    askedFor: (count) => until(() => asked.length >= count),
    close: () => new Promise<void>((resolve) => server.close(resolve)),
  };
}

/** Reads a mail of one part in plain text. */
function readMail(raw: string): Pick<ReceivedMail, 'raw' | 'subject' | 'text' | 'code' | 'token'> {
  const end = raw.indexOf('\r\n\r\n');
  const head = raw.slice(0, end).replace(/\r\n[ \t]+/g, ' ');
  const encoded = raw.slice(end + 4);
  const encoding = /^content-transfer-encoding: (.*)$/im.exec(head)?.[1]?.toLowerCase() ?? '7bit';
  const text = (
    encoding === 'quoted-printable' ? fromQuoted(encoded) : fromEncoding(encoded, encoding)
  ).replace(/\r\n/g, '\n');
  return {
    raw,
    text,
    subject: /^subject: (.*)$/im.exec(head)?.[1] ?? '',
    // not a part of an id in the link
    code: /(?:^|\s)([0-9A-Z]{4}-[0-9A-Z]{4})(?=\s|$)/.exec(text)?.[1] ?? '',
    token: decodeURIComponent(/#token=(\S+)/.exec(text)?.[1] ?? ''),
  };
}

function fromEncoding(text: string, encoding: string): string {
  return encoding === 'base64' ? Buffer.from(text, 'base64').toString() : text;
}

function fromQuoted(text: string): string {
  const joined = text.replace(/=\r\n/g, '');
  const bytes = joined.replace(/=([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

import { type Browser, chromium } from 'playwright-core';

/** The Chromium of the system. @param options.timeout milliseconds that it may take to start */
export function launchChromium(
  options: { readonly args?: readonly string[]; readonly timeout?: number } = {},
): Promise<Browser> {
  const { args = [], timeout } = options;
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', ...args],
    ...(timeout === undefined ? {} : { timeout }),
  });
}

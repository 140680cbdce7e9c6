import type { Page } from 'playwright-core';

const mostSteps = 80;
// runs in the page; nearly what a screen reader would say
const nameOfFocus = `(element => (element.ariaLabel ?? element.labels?.[0]?.firstChild?.textContent ?? element.textContent).trim())(
  document.activeElement)`;

/** Presses Tab until the focus is on what has this name, as somebody without a mouse does. */
export async function focusOn(page: Page, name: string): Promise<void> {
  const passed: string[] = [];
  for (let step = 0; step < mostSteps; step += 1) {
    await page.keyboard.press('Tab');
    const here = String(await page.evaluate(nameOfFocus));
    if (here === name) return;
    passed.push(here);
  }
  throw new Error(`Tab does not come to ${name}, but to ${[...new Set(passed)].join(', ')}`);
}

/**
 * Takes the pictures of the READMEs with one command: `node --import tsx infra/cli/screenshot.ts [URL]`, after `npm start` and
 * `npm run demo -- --date` with the current UTC day. It reports a fire to three people, and takes the pictures while they are called.
 */
import type { Page } from 'playwright-core';
import { z } from 'zod';

import { ask } from './ask.ts';
import { freshNumbers } from './demo/steps.ts';
import { launchBrowser } from './screenshot/browser.ts';

/** Where the pictures are, and what they show. */
const PICTURES = [
  { file: 'src/dashboard/screenshot.png', search: '', viewport: { width: 1_440, height: 900 } },
  { file: 'src/dashboard/screenshot-alert.png', search: 'notification=', viewport: { width: 1_440, height: 900 } },
  { file: 'src/dashboard/screenshot-wall.png', search: 'wall', viewport: { width: 1_920, height: 1_080 } },
] as const;

/** Waits until the page has asked all its questions, and has drawn the answers. */
const settled = async (page: Page): Promise<void> => {
  await page.locator('[data-lamp=Data].good').waitFor();
  await page.locator('.waiting, .skeleton, [aria-busy=true]').first().waitFor({ state: 'detached' });
};

/** The last two digits select the scenario of the simulated phone: 01 does not answer, 02 is busy, 70 presses 1. */
const number = (last: string): string => `${freshNumbers(Date.now())}${last}`;

/** Reports a fire to three people in waves. No callee of the first wave answers: the fire runs while the browser takes the pictures. */
const reportFire = async (base: string): Promise<string> => {
  const alert = {
    channel: 'phone',
    alert_type: 'ConfirmedFire',
    recipients: [
      [
        { number: number('01'), name: 'Ana' },
        { number: number('02'), name: 'Bo' },
      ],
      [{ number: number('70'), name: 'Cy' }],
    ],
    confirm: true,
    wave_seconds: 60,
    details: 'Antelope Ridge, camera 4',
    reference: 'antelope-ridge',
  };
  const sent = z.object({ notification_id: z.string() });
  return (await ask(base, '/api/notifications', sent, { body: alert })).notification_id;
};

const { origin } = new URL(process.argv[2] ?? 'http://localhost:7071');
const browser = await launchBrowser();
try {
  const id = await reportFire(origin);
  for (const { file, search, viewport } of PICTURES) {
    const context = await browser.newContext({ locale: 'en-US', timezoneId: 'America/Los_Angeles', viewport });
    const page = await context.newPage();
    // The reader has decided about the sound.
    await page.addInitScript("localStorage.setItem('wildfire-camera-activity.sound', 'off')");
    const query = search.endsWith('=') ? `${search}${id}&tz=utc` : `${search}&tz=utc`;
    await page.goto(`${origin}/api/dashboard?${query.replace(/^&/, '')}`);
    await settled(page);
    // The picture shows neither the pointer nor the focus.
    await page.mouse.move(0, 0);
    await page.evaluate('document.activeElement.blur()');
    await page.screenshot({ path: file, animations: 'disabled' });
    console.log(file);
    await context.close();
  }
} finally {
  await browser.close();
}

/**
 * Takes the pictures of the READMEs: `node --import tsx infra/cli/screenshot.ts`. It starts the service with its clock a little before the end of the
 * README's day of the demo, sends that day and the day before, and reports a fire to four people in waves. Just after midnight, the last 24
 * hours are exactly that day: the pictures have the numbers of the README.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import type { Page } from 'playwright-core';
import { z } from 'zod';

import { freePort } from '../emulators/free-port.ts';
import { ask } from './ask.ts';
import { freshNumbers, sendDay } from './demo/steps.ts';
import { launchBrowser } from './screenshot/browser.ts';
import { startLocalRun } from './start/local-run.ts';

const DAYS = ['2026-11-19', '2026-11-20'] as const;
const MIDNIGHT = Date.parse('2026-11-21T00:00:00Z');

/** Enough for the start and both days, on a slow machine. */
const PREPARED_MS = 100_000;

/** Before midnight. Then one person has confirmed, and the second wave rings. */
const REPORTED_MS = 50_000;

/** A callee has time to answer, and the browser to take its pictures. */
const PACE = { ringMs: 6_000, eventMs: 100, speakMs: 4_000 };

/** Where the pictures are, and what they show. */
const PICTURES = [
  { file: 'src/dashboard/screenshot.png', search: '', viewport: { width: 1_440, height: 900 } },
  { file: 'src/dashboard/screenshot-alert.png', search: '&notification=', viewport: { width: 1_440, height: 900 } },
  { file: 'src/dashboard/screenshot-wall.png', search: '&wall', viewport: { width: 1_920, height: 1_080 } },
] as const;

/** Waits until the page has asked all its questions, and has drawn the answers by the clock of the service. */
const settled = async (page: Page): Promise<void> => {
  await page
    .locator('[data-lamp=Data].good')
    .getByText(/\d s old/)
    .waitFor();
  await page.locator('.waiting, [aria-busy=true]').first().waitFor({ state: 'detached' });
};

/** The last two digits select the scenario of the simulated phone: 70 presses 1, 01 does not answer, 09 rings ten times as long. */
const person = (name: string, scenario: string) => ({ name, number: `${freshNumbers(Date.now())}${scenario}` });

/** One of two people of the first wave confirms. The second wave is called while the browser takes the pictures. */
const reportFire = async (base: string): Promise<string> => {
  const alert = {
    channel: 'phone',
    alert_type: 'ConfirmedFire',
    recipients: [
      [person('Ana Ortiz', '70'), person('Bo Lindqvist', '01')],
      [person('Cy Tanaka', '09'), person('Dee Walsh', '06')],
    ],
    confirm: true,
    confirmations_needed: 2,
    wave_seconds: 30,
    details: 'Antelope Ridge, camera 4',
    reference: 'antelope-ridge',
  };
  const sent = z.object({ notification_id: z.string() });
  return (await ask(base, '/api/notifications', sent, { body: alert })).notification_id;
};

/** The reader has turned the sound on, and the browser keeps the screen awake. */
const READER = `
  localStorage.setItem('wildfire-camera-activity.sound', 'on');
  navigator.wakeLock.request = async () => ({ released: false, release: async () => undefined });
`;

const takePictures = async (base: string, id: string): Promise<void> => {
  const browser = await launchBrowser();
  try {
    for (const { file, search, viewport } of PICTURES) {
      const context = await browser.newContext({ locale: 'en-US', timezoneId: 'America/Los_Angeles', viewport });
      const page = await context.newPage();
      await page.addInitScript(READER);
      const query = `${search}${search.endsWith('=') ? id : ''}`;
      await page.goto(`${base}/api/dashboard?last=24h&tz=utc${query}`);
      await settled(page);
      // A browser allows sound after a key. The picture shows neither the pointer nor the focus.
      await page.keyboard.press('Shift');
      await page.mouse.move(0, 0);
      await page.evaluate('document.activeElement.blur()');
      await page.screenshot({ path: file, animations: 'disabled' });
      console.log(file);
      await context.close();
    }
  } finally {
    await browser.close();
  }
};

const until = async (time: number): Promise<void> => sleep(Math.max(0, time - Date.now()));

process.env['CLOCK_MOVED_BY_MS'] = String(MIDNIGHT - PREPARED_MS - Date.now());
process.env['NODE_OPTIONS'] = `--import=${import.meta.resolve('./screenshot/moved-clock.ts')}`;
await import('./screenshot/moved-clock.ts');
const options = { phone: 'acs', lines: 4, 'verify-callbacks': false, data: undefined, settings: undefined } as const;
const run = await startLocalRun({ ...options, port: await freePort() }, process.env, () => undefined, { pace: PACE });
try {
  for (const day of DAYS) await sendDay(run.url, day, Infinity, console.log);
  if (Date.now() > MIDNIGHT - REPORTED_MS) throw new Error('The days were not sent in time. Make PREPARED_MS longer.');
  await until(MIDNIGHT - REPORTED_MS);
  const id = await reportFire(run.url);
  await until(MIDNIGHT + 2_000);
  await takePictures(run.url, id);
} finally {
  await run.stop();
}

import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod/mini';

import { launchBrowser } from '../../../infra/browser.ts';
import { type AcsSimulator, startAcsSimulator } from '../../../infra/local/acs-simulator/simulator.ts';
import { placeDemoAlerts } from '../../../infra/screenshot/demo-alerts.ts';
import { markOf } from '../../../src/dashboard/browser/model/alerts.ts';
import {
  type Notification,
  notificationSchema,
  notificationsSchema,
} from '../../../src/dashboard/browser/model/answers.ts';
import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { until } from '../../harness/until.ts';
import { cellsOf, openPage, type Reader } from './reader.ts';
import { NOON, startService, type Target, YESTERDAY } from './target.ts';

/** What the page writes for what the service answers. */
const WORDS: Readonly<Record<string, string>> = {
  heard: '✓ Heard',
  not_reached: '✕ Not reached',
  failed: '✕ Failed',
  busy: '✕ Busy',
  no_answer: '✕ No answer',
  refused: '✕ Refused',
};

/** The simulator knows by the last two digits what becomes of a call. */
const ANSWERS = '+12065550400';
const INVALID = '+12065550404';

let browser: Browser;

beforeAll(async () => {
  browser = await launchBrowser();
});

afterAll(() => browser.close());

const startedNotification = z.object({ notification_id: z.string() });

const alert = async (target: Target, alertType: string, recipients: readonly string[]): Promise<string> => {
  const response = await fetch(`${target.url}/api/notifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ channel: 'phone', alert_type: alertType, recipients }),
  });
  return z.parse(startedNotification, await response.json()).notification_id;
};

const asked = async (target: Target, id: string): Promise<Notification> =>
  z.parse(notificationSchema, await target.ask(`notifications/${id}`));

const isOver = async (target: Target, id: string): Promise<void> =>
  until(async () => (await asked(target, id)).status === 'completed', `${id} is completed`);

const timesIn = async (place: Locator): Promise<readonly (string | null)[]> =>
  Promise.all((await place.locator('time').all()).map((time) => time.getAttribute('datetime')));

const each = async <Read>(places: Locator, read: (place: Locator) => Promise<Read>): Promise<readonly Read[]> =>
  Promise.all((await places.all()).map(read));

/** The list on the page. */
const listOn = (page: Page) =>
  each(page.locator('.notification'), async (button) => ({
    what: await button.locator('.what').innerText(),
    status: await button.locator('.status').innerText(),
    created: await timesIn(button),
  }));

/** The story that is open on the page. */
const storyOn = (page: Page) =>
  each(page.locator('.recipients > li'), async (recipient) => ({
    recipient: await recipient.locator('.recipient b').innerText(),
    status: await recipient.locator('.recipient .status').innerText(),
    attempts: await each(recipient.locator('.attempts > li'), async (attempt) => ({
      outcome: await attempt.locator('.status').innerText(),
      times: await timesIn(attempt),
    })),
  }));

/** The same from the answer of the endpoint. */
const storyOf = ({ recipients }: Notification) =>
  recipients.map(({ recipient, status, attempts }) => ({
    recipient,
    status: WORDS[status],
    attempts: attempts.map((attempt) => ({
      outcome: WORDS[attempt.outcome ?? ''],
      times: [attempt.placed_at, attempt.ended_at].filter((time) => time !== undefined),
    })),
  }));

describe('the notifications of a service that phones people', () => {
  let acs: AcsSimulator;
  let target: Target;
  let reader: Reader;
  let toThree: string;

  beforeAll(async () => {
    acs = await startAcsSimulator();
    target = await startService(undefined, {
      days: [],
      settings: (url) => ({
        ACS_CONNECTION_STRING: acs.connectionString,
        CALLBACK_BASE_URL: url,
        CALL_ATTEMPTS: '2',
        CALL_RETRY_SECONDS: '5',
      }),
    });
    // Twice: the second time, nobody is phoned anew.
    await placeDemoAlerts(target.url);
    await placeDemoAlerts(target.url);
    const { notifications } = z.parse(notificationsSchema, await target.ask('notifications'));
    toThree = notifications[0]?.notification_id ?? '';
    await isOver(target, await alert(target, 'PointOfInterest', [INVALID]));
  });

  afterAll(async () => {
    await target.close();
    await acs.stop();
  });

  afterEach(() => reader.leave());

  const open = async (): Promise<Page> => {
    reader = await openPage(browser, { url: target.url });
    await reader.settled();
    return reader.page;
  };

  it('are listed as the service lists them, newest first', async () => {
    const page = await open();
    const { notifications } = z.parse(notificationsSchema, await target.ask('notifications?limit=10'));

    expect(notifications).toHaveLength(4);
    expect(await listOn(page)).toEqual(
      notifications.map((notification, index) => ({
        what: ['Point of interest', 'Confirmed fire', 'Report of fire', 'Burn job'][index],
        status: expect.stringContaining(markOf(notification).text),
        created: [notification.created_at],
      })),
    );
    expect(await page.locator('.notification .who').allInnerTexts()).toEqual([
      '1 failed',
      '2 heard, 1 not reached',
      '1 not reached, 1 heard',
      '1 heard',
    ]);
  });

  it('tell every attempt to reach every person, as the service does', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Confirmed fire' }).click();
    await page.locator('.recipients').waitFor();
    const answer = await asked(target, toThree);

    expect(await storyOn(page)).toEqual(storyOf(answer));
    expect(storyOf(answer).map(({ attempts }) => attempts.map(({ outcome }) => outcome))).toEqual([
      ['✓ Heard'],
      ['✕ Busy', '✓ Heard'],
      ['✕ No answer', '✕ No answer'],
    ]);
    // The calls are those that the line has had, and no number is whole.
    await page.getByText('Codes and ids').click();
    const calls = new Set(acs.log().calls.map(({ id }) => id));
    const rows = await cellsOf(page.getByRole('table', { name: 'Attempts' }));
    expect(rows.map((row) => row.at(-1)).filter((id = '') => !calls.has(id))).toEqual([]);
    expect(rows.map((row) => row.at(-2))).toEqual(
      answer.recipients.flatMap(({ attempts }) =>
        attempts.map(({ code, sub_code: sub }) => (code === undefined ? '' : `${code} / ${sub}`)),
      ),
    );
    expect(await page.locator('main').innerText()).not.toContain('2065550');
  });

  it('tell why a number cannot be called', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Point of interest' }).click();
    await page.locator('.attempts > li').waitFor();

    expect(await page.locator('.attempts > li').innerText()).toContain('invalid number');
    expect(await page.locator('.recipient .status').allInnerTexts()).toEqual(['✕ Failed']);
  });

  it('come by themselves while the page is open, and go on to their end', async () => {
    const page = await open();
    const before = await page.locator('.notification').count();
    const id = await alert(target, 'Anomaly', [ANSWERS]);
    await page.clock.fastForward(PACE.live);
    await page.getByRole('button', { name: 'Anomaly' }).click();
    await page.locator('.recipients').waitFor();
    expect(await page.locator('.notification').count()).toBe(before + 1);

    await isOver(target, id);
    await page.clock.fastForward(PACE.live);
    await expect.poll(() => page.locator('.recipient .status').allInnerTexts()).toEqual(['✓ Heard']);
    expect(await storyOn(page)).toEqual(storyOf(await asked(target, id)));
    expect(await page.locator('.notification').first().locator('.status').innerText()).toBe('✓ All heard');
  });
});

it('a service with PHONE=off is shown as one, and is not asked again until somebody wants it to', async () => {
  const target = await startService(undefined, { days: [YESTERDAY], settings: () => ({ PHONE: 'off' }) });
  onTestFinished(() => target.close());
  const answer = await fetch(`${target.url}/api/notifications`);
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBeNull();
  const { detail } = z.parse(z.object({ detail: z.string() }), await answer.json());
  expect(detail).toContain('PHONE=off');

  const search = `?date=${YESTERDAY}&tz=utc`;
  const reader = await openPage(browser, { url: target.url, search, expectedErrors: /503 \(/ });
  const { page } = reader;
  let questions = 0;
  let rounds = 0;
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname === '/api/notifications') questions += 1;
    if (pathname === '/api/analytics/series') rounds += 1;
  });
  const said = page.getByText(detail);
  await said.waitFor();
  await reader.settled();
  const [questionsBefore, roundsBefore] = [questions, rounds];
  // Six minutes. Time must not pass while a question waits for its answer: the page would give up.
  await page.clock.pauseAt(NOON + 60_000);
  for (let round = 1; round <= 6; round += 1) {
    await page.clock.fastForward(PACE.past);
    await page.getByText(/^Updated 0 s/).waitFor();
  }
  expect(rounds - roundsBefore).toBeGreaterThanOrEqual(6);

  expect(questions).toBe(questionsBefore);
  expect(await said.count()).toBe(1);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await expect.poll(() => questions).toBe(questionsBefore + 1);
  await reader.settled();
  // Nothing is wrong with the rest.
  await expect.poll(() => page.locator('main .banner [role=status]').innerText()).toBe('');
  expect(await reader.figure('total_events').innerText()).not.toBe('0');
  await reader.leave();
});

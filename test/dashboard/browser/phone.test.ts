import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod/mini';

import { startAcsSimulator } from '../../../infra/local/acs-simulator/simulator.ts';
import { placeDemoAlerts } from '../../../infra/screenshot/demo-alerts.ts';
import { markOf, recipientsText, wordingOf } from '../../../src/dashboard/browser/model/alerts.ts';
import { notificationSchema, notificationsSchema } from '../../../src/dashboard/browser/model/answers.ts';
import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { type App, startApp, testEnvironment } from '../../harness/app.ts';
import { until } from '../../harness/until.ts';
import { cellsOf, openReader } from './stage.ts';

const ask = async <Answer>({ url }: App, path: string, schema: z.ZodMiniType<Answer>): Promise<Answer> =>
  z.parse(schema, await (await fetch(`${url}/api/${path}`)).json());

/** Has somebody phoned, and waits until that is over. */
const alert = async (app: App, alertType: string, recipient: string): Promise<void> => {
  const response = await fetch(`${app.url}/api/notifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ channel: 'phone', alert_type: alertType, recipients: [recipient] }),
  });
  const { notification_id: id } = z.parse(z.object({ notification_id: z.string() }), await response.json());
  const isOver = async () => (await ask(app, `notifications/${id}`, notificationSchema)).status === 'completed';
  await until(isOver, `${alertType} is completed`);
};

it('notifications of a service that phones people are listed and told as it answers them, call by call, and come by themselves', async () => {
  const acs = await startAcsSimulator();
  onTestFinished(() => acs.stop());
  const app = await startApp({
    environment: (url) =>
      testEnvironment({
        ACS_CONNECTION_STRING: acs.connectionString,
        CALLBACK_BASE_URL: url,
        CALL_ATTEMPTS: '1',
      }),
    bundle: 'release',
  });
  onTestFinished(() => app.stop());
  // Twice: the second time, nobody is phoned anew.
  await placeDemoAlerts(app.url);
  await placeDemoAlerts(app.url);
  // The simulator knows by the last two digits what becomes of a call: this is no number.
  await alert(app, 'PointOfInterest', '+12065550404');
  const { notifications } = await ask(app, 'notifications', notificationsSchema);
  const reader = await openReader(app.url);
  await reader.settled();
  const { page } = reader;
  const list = page.locator('.notification');

  expect(await list.locator('.what').allInnerTexts()).toEqual([
    'Point of interest',
    'Confirmed fire',
    'Report of fire',
    'Burn job',
  ]);
  expect((await list.locator('.status').allInnerTexts()).map((text) => text.slice(2))).toEqual(
    notifications.map((each) => markOf(each).text),
  );
  expect(await list.locator('.who').allInnerTexts()).toEqual(
    notifications.map(({ recipients }) => recipientsText(recipients)),
  );

  await page.getByRole('button', { name: 'Confirmed fire' }).click();
  await page.locator('.recipients').waitFor();
  const people = notifications[1]?.recipients ?? [];
  const told = people.map(({ status, attempts }) => [status].concat(attempts.map(({ outcome = '' }) => outcome)));
  expect(told).toEqual([
    ['heard', 'heard'],
    ['not_reached', 'busy'],
    ['not_reached', 'no_answer'],
  ]);
  expect((await page.locator('.story .status').allInnerTexts()).map((text) => text.slice(2))).toEqual(
    told.flat().map((word) => wordingOf(word).text),
  );
  // The calls are those that the line has had, and no number is whole.
  await page.getByText('Codes and ids').click();
  const calls = new Set(acs.log().calls.map(({ id }) => id));
  const rows = await cellsOf(page.getByRole('table', { name: 'Attempts' }));
  expect(rows.map((row) => calls.has(row.at(-1) ?? ''))).toEqual([true, true, true]);
  expect(await page.locator('main').innerText()).not.toContain('2065550');
  await page.getByRole('button', { name: 'Point of interest' }).click();
  await page.locator('.attempts').getByText('invalid number').waitFor();

  await alert(app, 'Anomaly', '+12065550400');
  await page.clock.fastForward(PACE.live);
  await expect.poll(() => list.first().innerText()).toMatch(/^Anomaly\s+✓ All heard/);
  await reader.leave();
});

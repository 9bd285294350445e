import { expect, it } from 'vitest';
import * as z from 'zod/mini';

import { placeDemoAlerts } from '../../../infra/screenshot/demo-alerts.ts';
import { markOf, recipientsText, wordingOf } from '../../../src/dashboard/browser/model/alerts.ts';
import { notificationsSchema } from '../../../src/dashboard/browser/model/answers.ts';
import { setStage } from '../../harness/phone-stage.ts';
import { cellsOf, openReader } from './stage.ts';

it('notifications of a service that phones people are listed and told as it answers them, call by call, and come by themselves', async () => {
  const stage = await setStage({ environment: { CALL_ATTEMPTS: '1' } });
  const { url, acs } = stage;
  const alert = async (alertType: string, recipient: string) =>
    stage.completed((await stage.alert(alertType, [recipient])).notification_id);
  // Twice: the second time, nobody is phoned anew.
  await placeDemoAlerts(url);
  await placeDemoAlerts(url);
  // The simulator knows by the last two digits what becomes of a call: this is no number.
  await alert('PointOfInterest', '+12065550404');
  const answer: unknown = await (await stage.fetch(`${url}/api/notifications`)).json();
  const { notifications } = z.parse(notificationsSchema, answer);
  const reader = await openReader(url);
  await reader.settled();
  const { page } = reader;
  const list = page.locator('.notification');

  const types = ['Point of interest', 'Confirmed fire', 'Report of fire', 'Burn job'];
  expect(await list.locator('.what').allInnerTexts()).toEqual(types);
  expect((await list.locator('.status').allInnerTexts()).map((text) => text.slice(2))).toEqual(
    notifications.map((each) => markOf(each).text),
  );
  expect(await list.locator('.who').allInnerTexts()).toEqual(
    notifications.map(({ recipients }) => recipientsText(recipients)),
  );

  await reader.press('Confirmed fire');
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
  await reader.press('Point of interest');
  expect(await page.locator('.attempts').getByText('invalid number').count()).toBe(1);

  await alert('Anomaly', '+12065550400');
  await reader.nextRound();
  expect(await list.first().innerText()).toMatch(/^Anomaly\s+✓ All heard/);
  await reader.leave();
});

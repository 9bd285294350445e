import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod/mini';

import { placeDemoAlerts } from '../../../infra/cli/screenshot/demo-alerts.ts';
import { markOf, recipientsText, wordingOf } from '../../../src/dashboard/browser/model/alerts.ts';
import { notificationsSchema } from '../../../src/dashboard/browser/model/answers.ts';
import { setStage } from '../../harness/phone-stage.ts';
import { openReader, sharedBrowser } from './stage.ts';

beforeAll(async () => void (await sharedBrowser()));

it('notifications of a service that phones people are listed and told as it answers them, call by call, and come by themselves', async () => {
  const stage = await setStage({ environment: { CALL_ATTEMPTS: '1' } });
  const { url } = stage;
  // Twice: the second time, nobody is phoned anew.
  await placeDemoAlerts(url);
  await placeDemoAlerts(url);
  const answer: unknown = await (await stage.fetch(`${url}/api/notifications`)).json();
  const { notifications } = z.parse(notificationsSchema, answer);
  const { page, leave, nextRound, press, settled } = await openReader(url);
  await settled();
  const textsOf = (part: string): Promise<readonly string[]> => page.locator(part).allInnerTexts();

  expect(await textsOf('.notification .what')).toEqual(['Confirmed fire', 'Report of fire', 'Burn job']);
  const marks = (await textsOf('.notification .status')).map((text) => text.slice(2));
  expect(marks).toEqual(notifications.map((each) => markOf(each).text));
  expect(await textsOf('.notification .who')).toEqual(
    notifications.map(({ recipients }) => recipientsText(recipients)),
  );

  // One reached nobody: who has it is told to everybody.
  const alert = page.locator('.attention .alert');
  expect((await alert.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
    expect.stringMatching(/^✕ 1 not reached Report of fire bear-creek reached 0 of 1, .* ago I have it$/),
  ]);
  await alert.getByRole('button', { name: 'I have it' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Ana');
  await page.keyboard.press('Enter');
  await page.locator('.alert.taken').getByText('Ana has it').waitFor();
  await settled();
  const stored: unknown = await (await stage.fetch(`${url}/api/notifications?attention=true`)).json();
  const named = z.parse(notificationsSchema, stored).notifications.flatMap(({ acknowledged_by: by }) => by ?? []);
  expect(named).toEqual(['Ana']);

  await press('Confirmed fire');
  expect((await textsOf('.story .status')).map((text) => text.slice(2))).toEqual(
    ['heard', 'heard', 'not_reached', 'busy', 'not_reached', 'no_answer'].map((word) => wordingOf(word).text),
  );
  // No number is whole.
  expect(await page.locator('main').innerText()).not.toContain('2065550');

  await stage.completed((await stage.alert('Anomaly', ['+12065550400'])).notification_id);
  await nextRound();
  expect((await textsOf('.notification'))[0]).toMatch(/^Anomaly\s+✓ All heard/);

  // The provider refuses: the page is red, and the notification waits until it is stopped.
  stage.acs.setUpFault = 401;
  await stage.alert('PointOfInterest', ['+12065550500']);
  await nextRound();
  expect(await page.locator('.page-status.red').innerText()).toContain('Nobody can be called');
  expect(await page.locator('.attention .problem').innerText()).toContain('does not accept this app');
  await press(/Point of interest/);
  await press('Stop…');
  await press('Stop it');
  await page.locator('.notification').first().getByText('1 stopped').waitFor();
  await leave();
});

import { beforeAll, expect, it } from 'vitest';
import * as z from 'zod/mini';

import { markOf, recipientsText } from '../../../src/dashboard/browser/model/alerts.ts';
import { notificationsSchema } from '../../../src/dashboard/browser/model/answers.ts';
import { setStage } from '../../harness/phone-stage.ts';
import { openReader, sharedBrowser } from './stage.ts';

beforeAll(async () => void (await sharedBrowser()));

it('the page shows the notifications of a real service, acknowledges and stops them, and is red without a phone', async () => {
  const stage = await setStage({ environment: { CALL_ATTEMPTS: '1' } });
  const { url } = stage;
  const ids = [
    await stage.alert('ConfirmedFire', ['+12065550300', '+12065550302']),
    await stage.alert('ReportOfFire', ['+12065550401'], { reference: 'bear-creek' }),
  ].map(({ notification_id: id }) => id);
  for (const id of ids) await stage.completed(id);
  const listed = async (query: string) =>
    z.parse(notificationsSchema, await (await stage.fetch(`${url}/api/notifications${query}`)).json()).notifications;
  const notifications = await listed('');
  const { page, leave, nextRound, press, settled } = await openReader(url);
  await settled();
  const textsOf = (part: string): Promise<readonly string[]> => page.locator(part).allInnerTexts();
  expect(await textsOf('.notification .what')).toEqual(['Report of fire', 'Confirmed fire']);
  expect((await textsOf('.notification .status')).map((text) => text.slice(2))).toEqual(
    notifications.map((each) => markOf(each).text),
  );
  expect(await textsOf('.notification .who')).toEqual(
    notifications.map(({ recipients }) => recipientsText(recipients)),
  );

  const alert = page.locator('.attention .alert');
  expect((await alert.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
    expect.stringMatching(/^✕ 1 not reached Report of fire bear-creek 0 of 1 reached, .* ago I have it$/),
  ]);
  await alert.getByRole('button', { name: 'I have it' }).click();
  await page.keyboard.type('Ana');
  await page.keyboard.press('Enter');
  await page.locator('.alert.taken').getByText('Ana has it').waitFor();
  expect((await listed('?attention=true')).map(({ acknowledged_by: by }) => by)).toEqual(['Ana']);

  await press(/Confirmed fire/);
  expect((await textsOf('.story .status')).slice(0, 2)).toEqual(['✓ Heard', '✓ Heard']);
  // Numbers are masked.
  expect(await page.locator('main').innerText()).not.toContain('2065550');

  await fetch(`${stage.acs.url}/set-up/401`, { method: 'POST' });
  await stage.alert('PointOfInterest', ['+12065550500']);
  await nextRound();
  expect(await page.locator('.page-status.red').innerText()).toContain('The service cannot place calls');
  expect(await page.locator('.attention .problem').innerText()).toContain('does not accept this app');
  await press(/Point of interest/);
  await press('Stop…');
  await press('Stop it');
  await page.locator('.notification').first().getByText('1 stopped').waitFor();
  await leave();
});

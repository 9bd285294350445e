import { readFile } from 'node:fs/promises';

import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';

import { sharedStage } from '../../harness/phone-stage.ts';
import { cloudEvent } from '../../http/cloud-event.ts';
import { isGreen, visit } from './stage.ts';

const stageOf = sharedStage({ environment: { CALL_ATTEMPTS: '1' } });

/** A frame of one of 20 cameras. The AI flags fire in each; a reviewer confirms it in the frames of the first two cameras. */
const frame = (index: number, time: string) => {
  const reviewed = index % 20 < 3 && { reviewed: true, annotations: index % 20 < 2 ? { fire: 2 } : { steam: 1 } };
  const ids = { event_id: `frame-${index}`, camera_id: `ridge-${index % 20}` };
  return cloudEvent({ time, data: { ...ids, ts_utc: time, detections: { fire: 1 + (index % 20) }, ...reviewed } });
};

const rowsOf = async (page: Page, table: string | RegExp): Promise<readonly string[]> =>
  (await page.getByRole('table', { name: table }).locator('tbody tr').allInnerTexts()).map((row) =>
    row.replaceAll(/\s+/g, ' ').trim(),
  );

it('the page shows the figures of a real service: facts, categories, plots, cameras, a file', async () => {
  const stage = stageOf();
  const messages = [
    ...Array.from({ length: 40 }, (_, index) => frame(index, `2024-03-02T08:${10 + index}:00Z`)),
    frame(40, new Date().toISOString()),
  ];
  await stage.fetch(`${stage.url}/api/events`, { method: 'POST', body: JSON.stringify(messages) });
  const page = await visit(stage.url, { search: '?date=2024-03-02&tz=utc' });
  await isGreen(page);
  expect(await page.locator('.count').allInnerTexts()).toEqual(['40', '20', '0', '6', '6']);
  expect(await rowsOf(page, 'By category')).toEqual(['fire 420 4 8', 'smoke 0 0 0', 'structure 0 0 0', 'steam 0 2 2']);
  expect(await rowsOf(page, /^AI in reviewed frames/)).toEqual([
    'fire 6 4 (67%) 2 0',
    'smoke 0 – 0 0',
    'structure 0 – 0 0',
    'steam 0 – 0 2',
  ]);
  await page.locator('.numbers summary').first().click();
  await page.getByRole('table', { name: 'AI detections per 30 minutes' }).waitFor();
  const steps = await rowsOf(page, 'AI detections per 30 minutes');
  expect([steps.length, steps[16]]).toEqual([48, '2 Mar 08:00–08:30 UTC 210 0 0 0']);

  const button = page.getByRole('button', { name: /^Download CSV: Cameras/ });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  expect(download.suggestedFilename()).toBe('Cameras, UTC day 2 Mar 2024-03-02.csv');
  const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
  // Without the mark at its start, spreadsheets do not read UTF-8. All cameras are in the file, 15 on the page.
  expect([lines[0], lines.length]).toEqual([expect.stringMatching(/^\uFEFFcamera_id,/), 21]);
  const cameras = await rowsOf(page, /^Cameras/);
  expect([cameras.length, cameras[0]]).toEqual([15, 'ridge-19 – 40 2 0 0 0 0 0 0']);
  await page.getByLabel('Filter').fill('RIDGE-1');
  await expect.poll(() => rowsOf(page, /^Cameras/)).toContain('ridge-1 – 4 2 2 2 2 2 0 0');
});

it('the page shows the notifications of a real service, acknowledges and stops them, and is red without a phone', async () => {
  const stage = stageOf();
  const reports = [
    await stage.alert('ConfirmedFire', ['+12065550300', '+12065550302']),
    await stage.alert('ReportOfFire', ['+12065550401'], { reference: 'bear-creek' }),
  ];
  for (const { notification_id: id } of reports) await stage.completed(id);
  const page = await visit(stage.url);
  await isGreen(page);
  const alerts = async () =>
    (await page.locator('.alert').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim());
  expect(await alerts()).toEqual([
    expect.stringMatching(/^New ✕ Nobody reached Report of fire bear-creek 0 of 1.* Nobody Take$/),
    expect.stringMatching(/^New \? Message played \(person or voicemail unknown\) Fire Played to 1.* Nobody Take$/),
  ]);
  await page.getByRole('button', { name: 'Take: Report of fire' }).click();
  await page.keyboard.type('Ana');
  await page.keyboard.press('Enter');
  await page.getByText('Ana has it: Report of fire').waitFor();
  await expect.poll(async () => (await alerts()).length).toBe(1);

  await page.locator('.alert-link').click();
  await page.locator('.drawer .wave').waitFor();
  expect(await page.locator('.drawer .person .status').allInnerTexts()).toEqual(['? Message played', '✕ Not reached']);
  // Numbers are masked.
  expect(await page.locator('#page').innerText()).not.toContain('2065550');
  await page.getByRole('button', { name: 'Close the alert' }).click();

  await fetch(`${stage.acs.url}/set-up/401`, { method: 'POST' });
  await stage.alert('PointOfInterest', ['+12065550500']);
  await page.clock.fastForward(10_000);
  await page.locator('[data-lamp=Phone].bad').getByText('cannot call').waitFor();
  expect(await page.locator('.problem').innerText()).toContain('does not accept this app');
  await page.getByRole('button', { name: 'Stop: Point of interest' }).click();
  await page.getByLabel('Who stops it?').fill('Bo');
  await page.getByRole('button', { name: 'Stop the calls' }).click();
  await page.getByText('Stopped by Bo: Point of interest').waitFor();
});

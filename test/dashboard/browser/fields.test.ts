import { describe, expect, it } from 'vitest';

import { believableDay } from '../stand-in/believable-day.ts';
import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import type { Reader } from './reader.ts';
import { setStandInStage } from './stage.ts';
import { NOON, TODAY, YESTERDAY } from './target.ts';

const stage = setStandInStage((service) => {
  service.record(believableDay(TODAY, { cameras: 5, frames: 200, until: NOON, seed: 2 }));
});

/** Something has changed, and the page has asked and shown it. */
const pollOnce = async (reader: Reader): Promise<void> => {
  const { page } = reader;
  const before = await reader.figure('total_events').innerText();
  stage.service.record([
    {
      event_id: `more-${stage.service.frames.size}`,
      camera_id: 'ridge-01',
      ts_utc: new Date(NOON - 60_000).toISOString(),
      detections: {},
      reviewed: false,
      annotations: {},
    },
  ]);
  await page.clock.fastForward(PACE.live);
  await expect.poll(() => reader.figure('total_events').innerText()).not.toBe(before);
  // The round is over: the next one is timed.
  await page.getByText(/^Updated [0-3] s ago/).waitFor();
};

const historyLength = async ({ page }: Reader): Promise<unknown> => page.evaluate('history.length');

describe('what somebody is typing', () => {
  it('stays, whatever is answered meanwhile, and is shown when it is submitted', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const entries = await historyLength(reader);
    await page.getByText('Range…').click();
    const [camera, from, until] = [
      page.getByLabel('Camera', { exact: true }),
      page.getByLabel('From (UTC)'),
      page.getByLabel('to (UTC)', { exact: true }),
    ];
    await from.fill(`${TODAY} 08`);
    await camera.pressSequentially('rid');
    await pollOnce(reader);
    await camera.pressSequentially('ge-01');
    await pollOnce(reader);

    expect([await from.inputValue(), await camera.inputValue()]).toEqual([`${TODAY} 08`, 'ridge-01']);
    expect(await page.evaluate('document.activeElement.id')).toBe('camera');
    expect(await historyLength(reader)).toBe(entries);
    await from.press('End');
    await from.pressSequentially(':30');
    await pollOnce(reader);
    await until.fill(`${TODAY} 17:45`);
    await page.keyboard.press('Enter');
    await page.waitForURL(/ts_utc_start/);

    // 24 hours, whatever the reader's language does.
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      ts_utc_start: `${TODAY}T08:30:00Z`,
      ts_utc_end: `${TODAY}T17:45:00.999999Z`,
      tz: 'utc',
    });
    expect(await camera.inputValue()).toBe('ridge-01');
    await camera.press('Enter');
    await page.waitForURL(/camera_id=ridge-01/);
  });

  it('is no day before it is there wholly: no view, no entry of the history', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const entries = await historyLength(reader);
    const day = page.getByLabel('Day (UTC)');
    const [year = '', month = '', date = ''] = YESTERDAY.split('-');
    await day.focus();
    await page.keyboard.type(`${month}${date[0]}`);
    await pollOnce(reader);
    await page.keyboard.type(`${date[1]}${year}`);
    await pollOnce(reader);

    expect(await historyLength(reader)).toBe(entries);
    expect(new URL(page.url()).search).toBe('?tz=utc');
    expect(await day.inputValue()).toBe(YESTERDAY);
    await page.getByRole('button', { name: 'Show day' }).click();
    await page.waitForURL(new RegExp(`date=${YESTERDAY}`));
    expect(await historyLength(reader)).toBe(Number(entries) + 1);
    // One that is picked is wanted at once.
    await day.fill('2020-02-20');
    await page.waitForURL(/date=2020-02-20/);
  });

  it('is told where it is no time, and nothing else is shown', async () => {
    const { page } = await stage.open('');
    await page.getByText('Range…').click();
    await page.getByLabel('From (local)').fill('2026-11-21 8 pm');
    await page.getByRole('button', { name: 'Show range' }).click();
    await page.getByRole('alert').getByText('From is no time').waitFor();
    await page.getByLabel('From (local)').fill('2026-11-21 20:00');
    await page.getByLabel('to (local)', { exact: true }).fill('2026-11-21 19:00');
    await page.getByRole('button', { name: 'Show range' }).click();
    await page.getByRole('alert').getByText('From is after To.').waitFor();

    expect(new URL(page.url()).search).toBe('');
  });
});

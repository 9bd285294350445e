import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { openPage, type Reader } from './reader.ts';
import { setBrowserStage } from './stage.ts';
import { startTarget, TODAY } from './target.ts';

let reader: Reader;

/** Without a key at first; while the service is stopped, nothing answers. */
const EXPECTED = /401 \(Unauthorized\)|ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/;

const stage = setBrowserStage(async () => startTarget({ days: [TODAY] }));

beforeEach(async () => {
  reader = await openPage(stage.browser, { url: stage.target.url, key: stage.target.key, expectedErrors: EXPECTED });
  await reader.settled();
});

afterEach(() => reader.leave());

/** When the service last answered, as the header has it for whoever wants to know exactly. */
const updated = async (): Promise<string | null> => reader.page.locator('.refresh .words').getAttribute('title');

/** The next round by itself, and its answers. */
const nextRound = async (): Promise<void> => {
  const before = await updated();
  await reader.page.clock.fastForward(PACE.live);
  await expect.poll(updated).not.toBe(before);
};

let frames = 0;

const recordOne = (): Promise<void> => {
  frames += 1;
  return stage.target.record([
    {
      event_id: `live-${frames}`,
      camera_id: `new-camera-${frames}`,
      ts_utc: `${TODAY}T11:00:00.000Z`,
      detections: { fire: 1 },
      reviewed: false,
      annotations: {},
    },
  ]);
};

const number = (text: string): number => Number(text.replaceAll(',', ''));

describe('the page', () => {
  it('shows what was recorded meanwhile, by itself', async () => {
    const before = number(await reader.figure('total_events').innerText());
    await recordOne();
    await reader.page.clock.fastForward(PACE.live);
    await expect.poll(async () => number(await reader.figure('total_events').innerText())).toBe(before + 1);

    const legend = reader.page.locator('.plot').first().locator('.legend');
    // The plots are another answer of the same round.
    const fire = await reader.page.getByRole('row', { name: /^fire/ }).locator('td').first().innerText();
    await expect.poll(() => legend.innerText()).toContain(fire);
  });

  it('asks whether anything has changed, and changes nothing where nothing has', async () => {
    const statuses: number[] = [];
    reader.page.on('response', (response) => {
      // The rounds of this minute: what is asked once a minute has other ends in the next one.
      if (/analytics|notifications/.test(response.url())) statuses.push(response.status());
    });
    await reader.page.evaluate(`
      window.changes = [];
      new MutationObserver((records) => changes.push(...records.map((record) => record.stage.target.nodeName)))
        .observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true });
    `);
    await nextRound();
    await nextRound();

    expect(statuses.length).toBeGreaterThanOrEqual(6);
    expect(new Set(statuses)).toEqual(new Set([304]));
    expect(await reader.page.evaluate('changes')).toEqual([]);
  });

  it('keeps the focus and what is open while new numbers come in', async () => {
    const { page } = reader;
    await page.locator('.numbers summary').first().click();
    await page.locator('.ids summary').click();
    const camera = page
      .getByRole('table', { name: /^Cameras/ })
      .getByRole('link')
      .nth(3);
    const id = await camera.innerText();
    await camera.focus();
    await recordOne();
    const before = await reader.figure('total_events').innerText();
    await page.clock.fastForward(PACE.live);
    await expect.poll(() => reader.figure('total_events').innerText()).not.toBe(before);

    expect(await page.evaluate('document.activeElement.textContent')).toBe(id);
    expect(await page.locator('details[open]').count()).toBe(2);
  });

  it('asks at once when somebody wants it to', async () => {
    const before = number(await reader.figure('total_events').innerText());
    await recordOne();
    await reader.page.getByRole('button', { name: 'Refresh' }).click();
    await expect.poll(async () => number(await reader.figure('total_events').innerText())).toBe(before + 1);
  });
});

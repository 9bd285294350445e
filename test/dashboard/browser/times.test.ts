import { describe, expect, it } from 'vitest';

import { believableDay } from '../stand-in/believable-day.ts';
import { waveStory } from '../stand-in/stories.ts';
import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { Times } from '../../../src/dashboard/browser/model/times.ts';
import { setStandInStage } from './stage.ts';
import { NOON, TODAY, YESTERDAY } from './target.ts';

const stage = setStandInStage((service) => {
  service.record(believableDay(TODAY, { cameras: 5, frames: 200, until: NOON, seed: 2 }));
  service.notifications = [waveStory()];
});

const california = new Times('local', 'America/Los_Angeles');
const OFFSET = (california.startOfDay(TODAY) - Date.parse(TODAY)) / 3_600_000;

const askedSince = (from: number): readonly URLSearchParams[] =>
  stage.service.asked
    .slice(from)
    .filter(({ path }) => path.startsWith('/api/analytics?') && path.includes('active_camera_ids=false'))
    .map(({ path }) => new URL(path, 'http://x').searchParams);

describe('times', () => {
  it('are local: today is the local day, each time is printed in one zone, with the other one in its title', async () => {
    const from = stage.service.asked.length;
    const { page } = await stage.open();
    const zone = california.zoneName(NOON);

    expect(askedSince(from).at(-1)?.get('ts_utc_start')).toBe(`${TODAY}T0${OFFSET}:00:00Z`);
    expect(await page.locator('#shown').innerText()).toMatch(new RegExp(`^Today, .* ${zone}$`));
    expect(await page.locator('.period').innerText()).toContain(
      `From ${TODAY} 00:00:00 ${zone} to ${TODAY} 23:59:59.999999 ${zone}`,
    );
    for (const time of await page.locator('time').all()) {
      expect(await time.innerText()).not.toContain('UTC');
      expect(await time.getAttribute('title')).toMatch(/ UTC$/);
    }
    expect(await page.locator('.marks').first().innerText()).toMatch(/^\d+ \w{3}\s+04:00\s+08:00/);
    expect(await page.getByLabel('Day (local)').inputValue()).toBe(TODAY);
  });

  it('are UTC by a switch, that the address has and the browser keeps', async () => {
    const { page } = await stage.open();
    await page.getByRole('link', { name: 'UTC', exact: true }).click();
    await page.getByLabel('Day (UTC)').waitFor();
    expect(new URL(page.url()).search).toBe('?tz=utc');
    await expect.poll(() => page.locator('.period').innerText()).toContain(`From ${TODAY} 00:00:00 UTC`);
    expect(await page.locator('.period time').first().getAttribute('title')).toContain(
      `${YESTERDAY} ${24 - OFFSET}:00:00`,
    );
    await page.goto(`${stage.service.url}/api/dashboard?date=${YESTERDAY}`);
    await page.getByLabel('Day (UTC)').waitFor();
    expect(new URL(page.url()).search).toBe(`?date=${YESTERDAY}&tz=utc`);

    await page.getByRole('link', { name: 'Local time' }).click();
    await page.getByLabel('Day (local)').waitFor();
    await page.reload();
    await page.getByLabel('Day (local)').waitFor();
    expect(new URL(page.url()).search).toBe(`?date=${YESTERDAY}`);
    // Back is exact: that view was in UTC.
    await page.goBack();
    await page.getByLabel('Day (UTC)').waitFor();
  });

  it('go on to the next local day at its midnight, not at that of UTC', async () => {
    const { page } = await stage.open();
    const untilUtcMidnight = Date.parse(TODAY) + 86_400_000 - NOON;
    const title = await page.locator('#shown').innerText();
    await page.clock.fastForward(untilUtcMidnight + PACE.live);
    await page.getByText(/^Updated [0-9] s/).waitFor();
    expect(await page.locator('#shown').innerText()).toBe(title);
    await page.clock.fastForward(OFFSET * 3_600_000);
    await expect.poll(() => page.locator('#shown').innerText()).not.toBe(title);
    expect(await page.locator('#shown').innerText()).toMatch(/^Today, /);
  });
});

describe('live ranges', () => {
  it('are named for their length, and asked for with the same ends within a minute', async () => {
    const { page } = await stage.open();
    // Not while an answer is awaited: whoever sees how old the last one is knows that the round is over.
    await page.clock.pauseAt(NOON + 60_000 + 1_000);
    await page.getByText('Updated 0 s ago').waitFor();
    await page.clock.runFor(1_000);
    const from = stage.service.asked.length;
    await page.getByRole('link', { name: 'Last 1 h' }).click();
    await page.getByRole('heading', { name: /^Last hour/ }).waitFor();
    await page.getByText('Updated 0 s ago').waitFor();
    for (const rounds of [2, 3]) {
      await page.clock.runFor(PACE.live);
      await page.getByText('Updated 0 s ago').waitFor();
      expect(askedSince(from)).toHaveLength(rounds);
    }
    const ends = askedSince(from).map((query) => `${query.get('ts_utc_start')} ${query.get('ts_utc_end')}`);

    expect(new URL(page.url()).search).toBe('?last=1h');
    expect(new Set(ends)).toEqual(new Set([`${TODAY}T11:01:00Z ${TODAY}T12:00:59.999999Z`]));
    expect(
      stage.service.asked
        .slice(from)
        .filter(({ path }) => path.includes('series'))
        .map(({ status }) => status),
    ).toEqual([200, 304, 304]);
    expect(await page.title()).toBe('Last hour · Camera activity');
  });

  it('and every other range move by their own length; a part of a day leads back to the whole', async () => {
    const { page } = await stage.open(`?ts_utc_start=${TODAY}T09:00:00Z&ts_utc_end=${TODAY}T10:59:59.999999Z`);
    await page.getByRole('link', { name: 'Earlier' }).click();
    expect(new URL(page.url()).searchParams.get('ts_utc_start')).toBe(`${TODAY}T07:00:00Z`);
    expect(new URL(page.url()).searchParams.get('ts_utc_end')).toBe(`${TODAY}T08:59:59.999999Z`);
    await page.getByRole('link', { name: 'Later' }).click();
    await page.getByRole('link', { name: 'Whole day' }).click();
    await page.getByRole('heading', { name: /^Today, / }).waitFor();
    expect(await page.getByRole('link', { name: 'Whole day' }).count()).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';

import { PACE } from '../../../src/dashboard/browser/model/refresh.ts';
import { demoDays, frame, NOON, YESTERDAY } from './activity.ts';
import { type Reader, setStage } from './stage.ts';

const stage = setStage(demoDays());

const frames = async (reader: Reader): Promise<number> =>
  Number((await reader.figure('total_events').innerText()).replaceAll(',', ''));

const KEY = 'a-function-key';

describe('the key', () => {
  it('is asked for with one question; a wrong one is told; the right one is kept for this tab only, never in an address', async () => {
    stage.service.key = KEY;
    const reader = await stage.visit({ search: `?date=${YESTERDAY}&code=${KEY}` });
    const { page } = reader;
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();
    expect(stage.service.asked).toEqual([expect.objectContaining({ status: 401, key: null })]);
    expect(await page.evaluate('document.activeElement.id')).toBe('key');
    // For password managers.
    expect(await page.getByLabel('Function key').getAttribute('autocomplete')).toBe('current-password');
    expect(await reader.figure('total_events').count()).toBe(0);

    await reader.giveKey('wrong-key');
    await page.getByRole('alert').getByText('The service did not accept this key.').waitFor();
    expect(await page.getByLabel('Function key').getAttribute('aria-invalid')).toBe('true');
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await reader.giveKey('no key – at all');
    await page.getByRole('alert').getByText('letters, digits and signs').waitFor();

    const addresses: string[] = [page.url()];
    page.on('request', (request) => addresses.push(request.url()));
    await reader.giveKey(`  ${KEY} `);
    await reader.settled();
    expect(await page.evaluate('document.activeElement.id')).toBe('shown');
    await page.getByRole('link', { name: 'Earlier day' }).click();
    await page.goBack();
    await page.reload();
    await reader.settled();
    expect(await reader.search()).toBe(`?date=${YESTERDAY}`);
    expect(addresses.length).toBeGreaterThan(8);
    expect(addresses.filter((address) => address.includes(KEY))).toEqual([]);
    expect(addresses.filter((address) => !address.startsWith(`${stage.service.url}/api/`))).toEqual([]);
    expect(await page.evaluate('localStorage.length')).toBe(0);
    expect(await page.context().cookies()).toEqual([]);
    const other = await page.context().newPage();
    await other.goto(`${stage.service.url}/api/dashboard`);
    await other.getByLabel('Function key').waitFor();

    await page.getByRole('button', { name: 'Forget the key' }).click();
    await page.getByLabel('Function key').waitFor();
    expect(await reader.figure('total_events').count()).toBe(0);
    await page.reload();
    await page.getByLabel('Function key').waitFor();
  });

  it('that is not taken any more is asked for again; what is shown stays', async () => {
    stage.service.key = 'first-key';
    const reader = await stage.open();
    const before = await frames(reader);
    stage.service.key = 'second-key';
    await reader.page.getByRole('button', { name: 'Refresh' }).click();
    await reader.page.getByRole('alert').getByText('The service did not accept this key.').waitFor();
    expect(await frames(reader)).toBe(before);
    await reader.giveKey('second-key');
    await reader.settled();
    expect(stage.service.asked.at(-1)?.key).toBe('second-key');
  });
});

describe('a page that is open', () => {
  it('asks whether anything has changed, and changes nothing where nothing has', async () => {
    const reader = await stage.open();
    const { page } = reader;
    await page.evaluate(`
      window.changes = [];
      new MutationObserver((records) => changes.push(...records.map((record) => record.target.nodeName)))
        .observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true });
    `);
    const from = stage.service.asked.length;
    await reader.nextRound();
    await reader.nextRound();
    expect(stage.service.asked.slice(from).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 304));
    expect(await page.evaluate('changes')).toEqual([]);
  });

  it('shows what was recorded meanwhile, by itself or on demand; the focus and what is open stay', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const before = await frames(reader);
    await page.locator('.numbers summary').first().click();
    await page.locator('.ids summary').click();
    const camera = page
      .getByRole('table', { name: /^Cameras/ })
      .getByRole('link')
      .nth(6);
    const id = await camera.innerText();
    await camera.focus();
    await stage.service.record([frame('new-camera', NOON - 3_600_000, { detections: { fire: 1_000 } })]);
    await reader.nextRound();
    await reader.shows('total_events', before + 1);
    expect(await page.locator('.plot').first().locator('.legend').innerText()).toMatch(/fire\s+1,0/);
    expect(await page.evaluate('document.activeElement.textContent')).toBe(id);
    expect(await page.locator('details[open]').count()).toBe(2);

    await stage.service.record([frame('new-camera', NOON - 3_500_000)]);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await reader.shows('total_events', before + 2);
  });
});

describe('a service in trouble', () => {
  it('that is slow leaves dashes, and never shows one day’s figures as another’s, however late they come', async () => {
    const { service } = stage;
    let held = Promise.withResolvers<void>();
    service.held = held.promise;
    const reader = await stage.visit({ search: '?tz=utc' });
    const { page } = reader;
    await page.getByText('Asking the service…').waitFor();
    expect(await reader.figure('total_events').innerText()).toBe('–');
    held.resolve();
    await reader.settled();
    const today = await frames(reader);

    held = Promise.withResolvers();
    service.held = held.promise;
    await page.getByRole('link', { name: 'Earlier day' }).click();
    await expect.poll(() => service.waiting).toBe(1);
    expect(await page.locator('#shown').innerText()).toBe('Friday 20 November 2026 UTC');
    expect(await reader.figure('total_events').innerText()).toBe('–');
    expect(await page.locator('.legend li, .cameras tbody tr').count()).toBe(0);
    service.held = undefined;
    await page.getByRole('link', { name: 'Today' }).click();
    await reader.settled();
    held.resolve();
    await expect.poll(() => service.waiting).toBe(0);
    await reader.settled();
    expect(await frames(reader)).toBe(today);
  });

  it('that does not answer leaves what was there, with the time of its answer; what was never shown is not claimed', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const [before, answeredAt] = [await frames(reader), await reader.answeredAt()];
    stage.service.isAway = true;
    await reader.nextRound();
    expect(await reader.banner.innerText()).toBe(
      `The service does not answer. You see what it answered at ${answeredAt}.`,
    );
    expect(await page.getByText(/^Next try at \d\d:\d\d:\d\d UTC/).count()).toBe(1);
    expect(await frames(reader)).toBe(before);
    await page.getByRole('link', { name: 'Earlier day' }).click();
    await reader.settled();
    expect(await reader.banner.innerText()).toContain('There is nothing to show yet.');
    await page.getByRole('link', { name: 'Today' }).click();
    await reader.settled();
    expect(await reader.banner.innerText()).toContain(`You see what it answered at ${answeredAt}.`);
    // After three missed rounds, the answer is old.
    expect(await page.locator('.refresh.late').count()).toBe(0);
    await reader.nextRound(2 * PACE.live + 2_000);
    expect(await page.locator('.refresh.late').count()).toBe(1);

    stage.service.isAway = false;
    await reader.nextRound(PACE.slowestRetry);
    expect(await reader.banner.innerText()).toBe('');
  });

  it('that cannot answer now says so in its own words, and is asked again when it wants', async () => {
    const reader = await stage.open('?tz=utc');
    const { page } = reader;
    const before = await frames(reader);
    stage.service.broken = {
      status: 503,
      headers: { 'retry-after': '5', 'content-type': 'application/problem+json' },
      jsonBody: { detail: 'Storage does not answer now.' },
    };
    await page.getByRole('button', { name: 'Refresh' }).click();
    await reader.settled();
    expect(await reader.banner.innerText()).toContain('Storage does not answer now.');
    expect(await frames(reader)).toBe(before);
    stage.service.broken = undefined;
    // When it wants.
    await reader.nextRound(5_000);
    expect(await reader.banner.innerText()).toBe('');

    stage.service.broken = { status: 200, jsonBody: { total_events: 'many' } };
    await page.reload();
    await reader.settled();
    expect(await reader.banner.innerText()).toContain('does not understand');
    expect(await reader.figure('total_events').innerText()).toBe('–');
  });
});

it('a service with PHONE=off is shown as one, and is not asked for notifications again until somebody wants it to', async () => {
  const { service } = stage;
  service.hasPhone = false;
  const questions = (): number => service.asked.filter(({ path }) => path.startsWith('/api/notifications')).length;
  const reader = await stage.open(`?date=${YESTERDAY}&tz=utc`);
  const said = reader.page.getByText('(PHONE=off)');
  await reader.nextRound(PACE.past);
  expect([questions(), await said.count()]).toEqual([1, 1]);
  await reader.page.getByRole('button', { name: 'Refresh' }).click();
  await reader.settled();
  expect(questions()).toBe(2);
  // Nothing is wrong with the rest.
  expect(await reader.banner.innerText()).toBe('');
  expect(await frames(reader)).toBeGreaterThan(100);
});

import { describe, expect, it } from 'vitest';

import { FIRST_REFUSAL, openPage } from './reader.ts';
import { setBrowserStage } from './stage.ts';
import { startStandIn, startTarget } from './target.ts';

const stage = setBrowserStage(async () => startTarget({ days: [] }));

describe('the key', () => {
  it('is asked for with one question, before anything is shown', async () => {
    const reader = await openPage(stage.browser, { url: stage.target.url, expectedErrors: FIRST_REFUSAL });
    const { page } = reader;
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();

    expect(await page.evaluate('document.activeElement.id')).toBe('key');
    // For password managers.
    expect(await page.getByLabel('Function key').getAttribute('autocomplete')).toBe('current-password');
    expect(await page.getByRole('navigation').count()).toBe(0);
    expect(await reader.figure('total_events').count()).toBe(0);
    await reader.leave();
  });

  it('that is wrong is told, and the next one is tried', async () => {
    const reader = await openPage(stage.browser, {
      url: stage.target.url,
      key: 'wrong-key',
      expectedErrors: FIRST_REFUSAL,
    });
    const { page } = reader;
    await page.getByRole('alert').getByText('The service did not accept this key.').waitFor();

    expect(await page.getByLabel('Function key').getAttribute('aria-invalid')).toBe('true');
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.getByLabel('Function key').fill('no key – at all');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('letters, digits and signs').waitFor();
    await page.getByLabel('Function key').fill(`  ${stage.target.key} `);
    await page.getByRole('button', { name: 'Open' }).click();
    await reader.settled();

    expect(await page.getByLabel('Function key').count()).toBe(0);
    expect(await page.evaluate('document.activeElement.id')).toBe('shown');
    await reader.leave();
  });

  it('is kept for this tab only, and never part of an address', async () => {
    const reader = await openPage(stage.browser, { url: stage.target.url, expectedErrors: FIRST_REFUSAL });
    const { page } = reader;
    const addresses: string[] = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.getByLabel('Function key').fill(stage.target.key);
    await page.keyboard.press('Enter');
    await reader.settled();
    await page.getByRole('link', { name: 'Earlier day' }).click();
    await reader.settled();
    await page.reload();
    await reader.settled();

    expect(addresses.length).toBeGreaterThan(8);
    expect(addresses.filter((address) => address.includes(stage.target.key))).toEqual([]);
    expect(addresses.filter((address) => !address.startsWith(`${stage.target.url}/api/`))).toEqual([]);
    expect(page.url()).not.toContain(stage.target.key);
    expect(await page.evaluate('localStorage.length')).toBe(0);
    expect(await page.context().cookies()).toEqual([]);

    const other = await page.context().newPage();
    await other.goto(`${stage.target.url}/api/dashboard`);
    await other.getByLabel('Function key').waitFor();
    await reader.leave();
  });

  it('can be forgotten; what it showed is gone', async () => {
    const reader = await openPage(stage.browser, {
      url: stage.target.url,
      key: stage.target.key,
      expectedErrors: FIRST_REFUSAL,
    });
    const { page } = reader;
    await reader.settled();
    await page.getByRole('button', { name: 'Forget the key' }).click();
    await page.getByLabel('Function key').waitFor();

    expect(await reader.figure('total_events').count()).toBe(0);
    expect(await page.evaluate('sessionStorage.length')).toBe(0);
    await page.reload();
    await page.getByLabel('Function key').waitFor();
    await reader.leave();
  });

  it('that is not taken any more is asked for again; what is shown stays', async () => {
    const { service, close } = await startStandIn('first-key');
    const reader = await openPage(stage.browser, { url: service.url, key: 'first-key', expectedErrors: FIRST_REFUSAL });
    await reader.settled();
    service.key = 'second-key';
    await reader.page.getByRole('button', { name: 'Refresh' }).click();
    await reader.page.getByRole('alert').getByText('The service did not accept this key.').waitFor();

    expect(await reader.figure('total_events').innerText()).toBe('0');
    await reader.page.getByLabel('Function key').fill('second-key');
    await reader.page.keyboard.press('Enter');
    await reader.settled();

    expect(service.asked.at(-1)).toMatchObject({ key: 'second-key' });
    await reader.leave();
    await close();
  });
});

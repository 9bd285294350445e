import type { HttpResponseInit } from '@azure/functions';
import { describe, expect, it } from 'vitest';

import { PACES } from '../../../src/dashboard/browser/model/refresh.ts';
import { frame, NOON } from './activity.ts';
import { cellsOf, setStage } from './stage.ts';
import { MISSED, quiet, RUNNING } from './stories.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const stage = setStage([
  ...['ridge-1', 'ridge-2'].flatMap((id) => [frame(id, NOON - 25 * HOUR), frame(id, NOON - MINUTE)]),
  // The first of the seven days, and the one before.
  frame('ridge-3', NOON - 6 * 24 * HOUR - 30_000),
  frame('gone', NOON - 7 * 24 * HOUR),
]);

/** Answers every question whose path has a text in it, in place of the service. */
const standBefore = (part: string, answer: HttpResponseInit | undefined): void => {
  stage.service.before = (path) => (path.includes(part) ? answer : undefined);
};

describe('a page that is blind', () => {
  it.each<[string, HttpResponseInit]>([
    ['a deployment', { status: 404 }],
    ['a gateway', { status: 503, jsonBody: { detail: 'No healthy upstream.' } }],
  ])('to notifications because of %s says so, and shows a fire as soon as it is over', async (_, answer) => {
    const { page, nextRound } = await stage.open('?tz=utc');
    expect(await page.locator('.refresh.current').count()).toBe(1);
    standBefore('notifications', answer);
    await nextRound();
    expect(await page.locator('.refresh.failing .words').innerText()).toBe('Not current: alerts, notifications');
    expect(await page.title()).toMatch(/^Not current · Today/);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain(encodeURIComponent('M2 2 30 30'));
    await nextRound(45_000);
    stage.service.notifications = [RUNNING];
    stage.service.before = () => undefined;
    await nextRound(60_000);
    expect(await page.locator('.alert').count()).toBe(1);
    expect(await page.title()).toMatch(/^\(1\) Today/);
    expect(await page.locator('.refresh.current').count()).toBe(1);
  });

  it('because everything is refused is not green; each part says as of when it is true', async () => {
    const { page, count, nextRound } = await stage.open('?tz=utc');
    const before = await count('total_events');
    standBefore('', { status: 403, jsonBody: { detail: 'Your address is not allowed.' } });
    await nextRound(PACES.past.every);
    expect(await page.locator('.refresh.failing').count()).toBe(1);
    expect(await count('total_events')).toBe(before);
    const notes = await page.locator('.part-note').allInnerTexts();
    // Figures, notifications, silence, categories, plots, cameras.
    expect(notes).toEqual(Array.from({ length: 6 }, () => 'Not current: refused (403), as of 21 Nov 12:00:00 UTC'));
    expect(await page.locator('main .banner [role=status]').innerText()).toBe(
      'The service did not accept this question (403). Your address is not allowed. You see what it answered at 21 Nov 12:00:00 UTC.',
    );
  });

  it('to one part says which one; the others go on', async () => {
    const { page, count, nextRound } = await stage.open('?tz=utc');
    standBefore('analytics/series', { status: 200, jsonBody: { steps: 'many' } });
    await stage.service.record([frame('ridge-1', NOON - 30_000)]);
    const before = await count('total_events');
    await nextRound();
    expect(await count('total_events')).toBe(before + 1);
    expect(await page.locator('.part-note').allInnerTexts()).toEqual([
      'Not current: wrong answer, as of 21 Nov 12:00:00 UTC',
    ]);
    expect(await page.locator('.refresh.failing .words').innerText()).toBe('Not current: plots');
  });

  it('because its key was revoked says so, with what it showed and when that was true', async () => {
    stage.service.key = 'first-key';
    const { page, count, nextRound } = await stage.open('?tz=utc');
    stage.service.key = 'second-key';
    await nextRound();
    expect(await page.getByRole('heading', { name: 'The key is not accepted any more' }).count()).toBe(1);
    expect(await page.locator('.key').innerText()).toContain(
      'You see what the service answered at 21 Nov 12:00:00 UTC.',
    );
    expect(await count('total_events')).toBeGreaterThan(0);
    expect(await page.locator('.refresh.locked').innerText()).toBe('Key needed');
    expect(await page.title()).toMatch(/^Key needed · Today/);
    expect(await page.locator('.part-note').first().innerText()).toBe('Not current: as of 21 Nov 12:00:00 UTC');
  });
});

it('what needs attention stays in strip and title, however many newer notifications there are', async () => {
  stage.service.notifications = [...Array.from({ length: 12 }, (_, index) => quiet(`newer-${index}`)), MISSED];
  const { page } = await stage.open();
  expect(await page.locator('.notification').count()).toBe(10);
  expect(await page.locator('.alert').allInnerTexts()).toEqual([expect.stringContaining('1 not reached')]);
  expect(await page.title()).toMatch(/^\(1\) /);
});

describe('silence', () => {
  it('is of the cameras of seven days, with the last frame and its age, those first that fell silent last', async () => {
    const { page, count } = await stage.open('?tz=utc');
    expect(await count('silent_cameras')).toBe(1);
    expect(await cellsOf(page.getByRole('table', { name: 'Silent cameras' }))).toEqual([
      ['ridge-3', '15 Nov 11:59:00 UTC', '6 days'],
    ]);
    expect(await page.locator('.alert').count()).toBe(0);
  });

  it('of all cameras for more than a day is an alarm of its own, in strip, title and icon', async () => {
    const { page, count, nextRound } = await stage.open('?tz=utc');
    await nextRound(25 * HOUR);
    // The seven days have moved on.
    expect(await count('silent_cameras')).toBe(2);
    expect(await page.locator('.alert').innerText()).toMatch(
      /No camera sends\s+since 21 Nov 11:5\d:00 UTC \(25 h ago\)/,
    );
    expect(await page.title()).toMatch(/^No camera sends · Today/);
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toContain(encodeURIComponent('M19 17v10'));
    const [first] = await cellsOf(page.getByRole('table', { name: 'Silent cameras' }));
    expect(first?.slice(1)).toEqual([expect.stringMatching(/^21 Nov 11:5\d:00 UTC$/), '25 h']);
  });

  it('is not seen where the clock of the computer is 20 minutes fast; that is said', async () => {
    stage.service.date = new Date(NOON - 20 * MINUTE);
    await stage.service.record([frame('ridge-1', NOON - 21 * MINUTE), frame('ridge-2', NOON - 22 * MINUTE)]);
    const { page, count, settled } = await stage.open('?tz=utc&last=1h');
    await settled();
    const asked = stage.service.asked.findLast(({ path }) => path.includes('/api/analytics?ts_utc_start='));
    expect(decodeURIComponent(asked?.path ?? '')).toContain('ts_utc_end=2026-11-21T11:39:59.999999Z');
    expect(await page.locator('footer').innerText()).toContain('is 20 min fast: the page goes by the service’s.');
    expect(await count('silent_cameras')).toBe(1);
  });
});

import { fireEvent, screen } from '@testing-library/preact';
import { describe, expect, it, vi } from 'vitest';

import { refusal } from '../answers.ts';
import { cellsOf, element, focused, openPage, textOf } from './stage.ts';

it('accuracy has its numbers by category, its UTC days, and the days without figures', async () => {
  const categories = { fire: { flagged: 0, confirmed: 0, missed: 0 }, smoke: { flagged: 0, confirmed: 0, missed: 1 } };
  const { service } = await openPage({ accuracy: { categories, without: ['2026-11-02'] } }, '?last=7d&tz=utc');
  expect(cellsOf('By category').map((row) => row.at(-1))).toEqual(['–', 'none flagged, 1 missed', '–']);
  expect(service.askedFor('analytics/accuracy')[0]).toBe('analytics/accuracy?date=2026-11-21&days=7');
  const head = /AI flags in reviewed frames UTC days 15 Nov – 21 Nov/;
  expect(screen.getByRole('columnheader', { name: head })).toBeDefined();
  expect(screen.getByText(/Days without accuracy figures: 2 Nov\./)).toBeDefined();
});

describe('the cameras', () => {
  it('are sorted by fire or by the head of a column; a link leads to one alone, and back to all', async () => {
    const { service, follow } = await openPage({}, '?date=2026-11-20&tz=utc');
    const asked = () => service.askedFor('analytics/cameras?').at(-1);
    expect(asked()).toBe('analytics/cameras?date=2026-11-20&days=1&order_by=fire&accuracy=true&limit=15');
    await follow('smoke');
    expect(asked()).toContain('order_by=smoke');
    expect(element('th[aria-sort=descending]').textContent).toBe('smoke');
    await follow('ridge-2', element('.cameras'));
    expect(service.askedFor('analytics?').at(-1)).toContain('camera_id=ridge-2');
    expect(service.askedFor('analytics/accuracy').at(-1)).toContain('camera_id=ridge-2');
    expect(location.search).toBe('?date=2026-11-20&camera_id=ridge-2&order_by=smoke&tz=utc');
    await follow('ridge-2', element('.cameras'));
    expect(location.search).toBe('?date=2026-11-20&order_by=smoke&tz=utc');
    await follow('Not confirmed');
    expect(location.search).toBe('?date=2026-11-20&order_by=not_confirmed&tz=utc');
    expect(cellsOf(/^Cameras/).map((row) => row.slice(0, 1).concat(row.slice(-4)))).toEqual([
      ['ridge-2', '3', '1', '1', '2'],
      ['ridge-1', '0', '0', '1', '0'],
    ]);
    // The service does not know this order.
    expect(asked()).toContain('order_by=total_events&accuracy=true&limit=5000');
  });

  it('are sorted by frames if the service knows no fire', async () => {
    const { service } = await openPage({ categories: ['flame'] });
    expect(service.askedFor('analytics/cameras?').at(-1)).toContain('order_by=total_events');
    expect(element('th[aria-sort]').textContent).toBe('Frames');
  });

  it('are 15 of all, 100 on demand, and the service searches; their active ids come on demand', async () => {
    const lastSeen = Object.fromEntries(Array.from({ length: 120 }, (_, camera) => [`camera-${camera}`, 60]));
    const { service, press, unfold } = await openPage({ lastSeen });
    expect(cellsOf(/^Cameras/)).toHaveLength(15);
    expect(screen.getByText('15 of 120', { selector: '.screen' })).toBeDefined();
    await press('Show 100');
    expect(cellsOf(/^Cameras/)).toHaveLength(100);
    fireEvent.input(screen.getByLabelText('Filter'), { target: { value: ' 119 ' } });
    await vi.advanceTimersByTimeAsync(0);
    expect(service.askedFor('analytics/cameras?').at(-1)).toContain('q=119&limit=100');

    expect(service.askedFor('analytics?').at(-1)).toContain('active_camera_ids=false');
    await unfold(element('.ids'));
    expect(document.querySelectorAll('.ids li')).toHaveLength(120);
  });
});

const tile = (): string => textOf(element('[data-fact=camera_now]').closest('.tile'));

describe('silence', () => {
  it('is counted and listed, the latest silence first; the figure leads to the list', async () => {
    const lastSeen = { sends: 60, 'ridge-1': 15 * 60, 'ridge-2': 3 * 86_400, 'just-now': 15 * 60 - 1 };
    const { service, figure, follow, advance } = await openPage({ lastSeen });
    expect(figure('silent_cameras')).toBe('2');
    expect(service.askedFor('analytics/cameras/last-seen')[0]).toContain('date=2026-11-21&days=7&');
    expect(cellsOf('Silent cameras')).toEqual([
      ['ridge-1', '21 Nov 11:45:00 UTC', '15 min'],
      ['ridge-2', '18 Nov 12:00:00 UTC', '3 days'],
    ]);
    await follow('Show them');
    expect(focused()).toBe('Silent cameras');
    // The view of a camera starts at its figures.
    await follow('ridge-1');
    expect(focused()).toBe('Last 24 hours UTC · ridge-1');
    // A camera that sends again is known at once, and not by the list of ten minutes ago.
    service.lastSeen = { ...lastSeen, 'ridge-1': 0 };
    await follow('All cameras');
    await advance(60_000);
    expect(cellsOf('Silent cameras').map(([camera]) => camera)).toEqual(['just-now', 'ridge-2']);
  });

  it('has its time in the view of a camera', async () => {
    const lastSeen = { sends: 60, silent: 3_600 };
    const { follow, figure, submit } = await openPage({ lastSeen }, '?camera_id=silent&tz=utc');
    expect(tile()).toBe('This camera now Silent since 21 Nov 11:00:00 UTC (1 h)');
    await follow('All cameras');
    expect(figure('silent_cameras')).toBe('1');
    await submit({ Camera: 'sends' });
    expect(tile()).toBe('This camera now Sending');
  });

  it('goes by the clock of the service, and says that the clock of the computer is wrong', async () => {
    const { figure } = await openPage({ date: 'Sat, 21 Nov 2026 11:40:00 GMT', lastSeen: { 'ridge-1': 21 * 60 } });
    expect(figure('silent_cameras')).toBe('0');
    expect(textOf(element('footer'))).toContain('The clock of this computer is 20 min fast');
  });
});

it('a time without frames leads to the day of the newest frame, and names an unknown camera', async () => {
  const { follow } = await openPage({ frames: 0, lastSeen: { 'ridge-1': 86_400, 'ridge-2': 90_000 } });
  expect(textOf(element('.figures .banner'))).toBe(
    'No camera sent a frame in this time. The newest frame came at 20 Nov 12:00:00 UTC. Show that day',
  );
  await follow('Show that day');
  expect(location.search).toBe('?date=2026-11-20&tz=utc');
  const { figure } = await openPage({ frames: 0 }, '?camera_id=nobody&tz=utc');
  expect(figure('camera_now')).toBe('Unknown');
  expect(textOf(element('.figures .banner'))).toBe(
    'nobody sent nothing in this time. Nothing came in the last 7 days.',
  );
});

it('the page never shows the figures of one day as those of another, however late they come', async () => {
  const { service, figure, follow, advance } = await openPage();
  const { fetch } = service;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (url.includes('2026-11-20T00')) await new Promise((resolve) => setTimeout(resolve, 5_000));
    return fetch(url, init);
  });
  await follow('Earlier day');
  expect([textOf(element('#shown')), figure('total_events')]).toEqual(['Friday 20 November 2026 UTC', '–']);
  await follow('Today');
  service.frames = 999;
  await advance(6_000);
  expect(figure('total_events')).toBe('10');
});

it('the key is asked for; the page reports a wrong key, and keeps the right key for the tab', async () => {
  const page = await openPage({ key: 'right' }, '?code=right&tz=utc');
  expect(textOf(element('.key'))).toContain('App keys');
  // For password managers.
  expect(screen.getByLabelText('Function key').getAttribute('autocomplete')).toBe('current-password');
  await page.submit({ 'Function key': 'no key – at all' });
  expect(screen.getByText(/^A key consists of letters/)).toBeDefined();
  await page.submit({ 'Function key': 'wrong' });
  expect(screen.getByText('The service did not accept this key.')).toBeDefined();
  expect(screen.getByLabelText('Function key').getAttribute('aria-invalid')).toBe('true');
  expect(sessionStorage.length).toBe(0);
  await page.submit({ 'Function key': ' right ' });
  expect(page.head().color).toBe('green');
  expect(focused()).toMatch(/^Today, /);
  expect(page.service.asked.at(-1)?.key).toBe('right');
  expect(page.service.asked.filter(({ path }) => path.includes('right'))).toEqual([]);
  expect(sessionStorage.getItem('wildfire-camera-activity.function-key')).toBe('right');
  expect([localStorage.length, document.cookie, location.search]).toEqual([0, '', '?tz=utc']);
  await page.reload();
  expect(page.head().color).toBe('green');
  await page.press('Forget the key');
  expect(document.querySelector('[data-fact]')).toBeNull();
  expect(sessionStorage.getItem('wildfire-camera-activity.function-key')).toBeNull();
  expect(document.title).toMatch(/^Key needed/);
});

describe('the view', () => {
  it('comes from a form; typed text, the focus and open details stay while answers come', async () => {
    const { service, advance, figure } = await openPage();
    const [day, camera] = ['Day (UTC)', 'Camera'].map((label) => screen.getByLabelText<HTMLInputElement>(label));
    if (day === undefined || camera === undefined) throw new Error('there is no form');
    [day.value, camera.value] = ['2026-11-20', 'ridge-2'];
    element('details.range').toggleAttribute('open', true);
    const link = element('.cameras tbody a');
    link.focus();
    service.frames = 12;
    await advance(20_000);
    expect(figure('total_events')).toBe('12');
    expect(document.activeElement).toBe(link);
    expect(element('details.range').hasAttribute('open')).toBe(true);
    expect(screen.getByLabelText('Day (UTC)')).toBe(day);
    expect([day.value, camera.value, location.search]).toEqual(['2026-11-20', 'ridge-2', '?tz=utc']);
    fireEvent.submit(day.closest('form') ?? document.body);
    await advance(0);
    expect(location.search).toBe('?date=2026-11-20&camera_id=ridge-2&tz=utc');
    expect(textOf(element('#shown'))).toBe('Friday 20 November 2026 UTC · ridge-2');
  });

  it('is a range that includes its ends, which may come in either order', async () => {
    const { submit } = await openPage();
    await submit({ 'From (UTC)': '2026-11-20T15:29:59', 'to (UTC)': '2026-11-20T10:00' });
    expect(location.search).toBe('?ts_utc_start=2026-11-20T10:00:00Z&ts_utc_end=2026-11-20T15:29:59.999999Z&tz=utc');
  });

  it('has the problems of the address, and what the service refuses, in its own words', async () => {
    const refused = refusal(400, { detail: 'At most 366 days.' });
    await openPage({ instead: () => refused.clone() }, '?date=2026-02-30&camera=a&tz=utc');
    expect(textOf(screen.getByRole('alert', { name: '' }))).toMatch(/^camera is not a parameter.* date is not valid/);
    expect(textOf(element('.attention'))).toContain('refused the request (400). At most 366 days.');
  });
});

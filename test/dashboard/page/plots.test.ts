import { fireEvent, screen, within } from '@testing-library/preact';
import { expect, it } from 'vitest';

import { cellsOf, element, openPage, textOf } from './stage.ts';

const figure = (title: string): HTMLElement => {
  const found = screen.getByRole('heading', { name: title }).closest('figure');
  if (found === null) throw new Error(`there is no plot ${title}`);
  return found;
};

const DAY = '?date=2026-11-20&tz=utc';

it('all plots share one cursor, and show the counts of its step', async () => {
  const { advance } = await openPage({ search: DAY });
  expect(textOf(figure('Camera frames').querySelector('.legend'))).toMatch(/^frames 1,128/);
  const bars = element('.bars');
  // A DOM of Node has no layout.
  bars.getBoundingClientRect = () => new DOMRect(0, 0, 480, 100);
  fireEvent.pointerMove(bars, { clientX: 105 });
  await advance(50);
  expect([...document.querySelectorAll('.pointed')].map(textOf)).toEqual(
    Array.from({ length: 4 }, () => '20 Nov 05:00–05:30 UTC'),
  );
  expect(textOf(figure('Camera frames').querySelector('.legend b'))).toBe('10');
  expect(textOf(figure('Annotations').querySelector('.legend b'))).toBe('1');
});

it('active cameras are a small line without a sum, and a column of the table of frames', async () => {
  const { advance } = await openPage({ search: DAY });
  const frames = figure('Camera frames');
  expect(textOf(frames.querySelector('.legend'))).toContain('active cameras at most 2');
  expect(frames.querySelectorAll('.active-line polyline')).toHaveLength(1);
  const details = frames.querySelector('details') ?? document.createElement('details');
  details.open = true;
  fireEvent(details, new Event('toggle'));
  await advance(50);
  expect(cellsOf('Camera frames per 30 minutes').slice(0, 3)).toEqual([
    ['20 Nov 00:00–00:30 UTC', '0', '1'],
    ['20 Nov 00:30–01:00 UTC', '1', '2'],
    ['20 Nov 01:00–01:30 UTC', '2', '1'],
  ]);
});

it('a click in a legend shows one category alone in all plots, a second click all', async () => {
  const { press, advance } = await openPage({ search: DAY });
  const drawn = () => figure('AI detections').querySelectorAll('svg path[style]').length;
  expect(drawn()).toBe(3);
  await press(/^smoke/, figure('Annotations'));
  await advance(50);
  expect(drawn()).toBe(1);
  const smoke = within(figure('AI detections')).getByRole('button', { name: /^smoke/ });
  expect(smoke.getAttribute('aria-pressed')).toBe('true');
  await press(/^smoke/, figure('AI detections'));
  await advance(50);
  expect(drawn()).toBe(3);
});

it('a step that is not over is pale, and the line of active cameras ends before it', async () => {
  await openPage({ search: '?last=6h&tz=utc' });
  expect(document.querySelectorAll('.partial')).toHaveLength(0);
  await openPage({ search: '?ts_utc_start=2026-11-21T10:00:00Z&ts_utc_end=2026-11-21T13:59:59.999999Z&tz=utc' });
  const [plot] = [...document.querySelectorAll('.bars')].slice(-1);
  expect(plot?.querySelectorAll('.partial')).toHaveLength(1);
  const points = [...document.querySelectorAll('.active-line polyline')].at(-1)?.getAttribute('points')?.split(' ');
  expect(points).toHaveLength(2 * 24);
});

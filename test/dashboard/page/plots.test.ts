import { screen, within } from '@testing-library/preact';
import { expect, it } from 'vitest';

import { cellsOf, openPage, textOf } from './stage.ts';

const figure = (title: string): HTMLElement => {
  const found = screen.getByRole('heading', { name: title }).closest('figure');
  if (found === null) throw new Error(`there is no plot ${title}`);
  return found;
};

const DAY = '?date=2026-11-20&tz=utc';

it('active cameras are a small line without a sum, and a column of the table of frames', async () => {
  const { unfold } = await openPage({}, DAY);
  const frames = figure('Camera frames');
  expect(textOf(frames.querySelector('.legend'))).toBe('frames 1,128 active cameras at most 2');
  expect(frames.querySelectorAll('.active-line polyline')).toHaveLength(1);
  await unfold(frames.querySelector('details'));
  expect(cellsOf('Camera frames per 30 minutes').slice(0, 3)).toEqual([
    ['20 Nov 00:00–00:30 UTC', '0', '1'],
    ['20 Nov 00:30–01:00 UTC', '1', '2'],
    ['20 Nov 01:00–01:30 UTC', '2', '1'],
  ]);
});

it('a click in a legend shows one category alone in all plots, a second click all', async () => {
  const { press } = await openPage({}, DAY);
  const drawn = () => figure('AI detections').querySelectorAll('svg path[style]').length;
  expect(drawn()).toBe(3);
  await press(/^smoke/, figure('Annotations'));
  expect(drawn()).toBe(1);
  const smoke = within(figure('AI detections')).getByRole('button', { name: /^smoke/ });
  expect(smoke.getAttribute('aria-pressed')).toBe('true');
  await press(/^smoke/, figure('AI detections'));
  expect(drawn()).toBe(3);
});

it('a step that is not over is pale, and the line of active cameras ends before it', async () => {
  await openPage({}, '?last=6h&tz=utc');
  expect(document.querySelectorAll('.partial')).toHaveLength(0);
  await openPage({}, '?ts_utc_start=2026-11-21T10:00:00Z&ts_utc_end=2026-11-21T13:59:59.999999Z&tz=utc');
  expect(figure('Camera frames').querySelectorAll('.partial')).toHaveLength(1);
  expect(document.querySelector('.active-line polyline')?.getAttribute('points')?.split(' ')).toHaveLength(2 * 24);
});

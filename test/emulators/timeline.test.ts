import { expect, it } from 'vitest';

import { Timeline } from '../../infra/emulators/timeline.ts';

/** Keeps the process from everything else. */
const block = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

it('what is to happen happens in the order of its time, also if the process was busy when it was due', async () => {
  const timeline = new Timeline();
  const happened: number[] = [];
  const times = Array.from({ length: 60 }, (_, index) => (index * 37) % 60);
  await new Promise<void>((resolve) => {
    timeline.after(100, resolve);
    for (const ms of times) {
      timeline.after(ms, () => {
        happened.push(ms);
        if (ms % 20 === 0) block(15);
      });
    }
  });
  expect(happened).toEqual(times.toSorted((one, other) => one - other));
});

it('what was cleared does not happen; what comes after it does', async () => {
  const timeline = new Timeline();
  const happened: string[] = [];
  timeline.after(1, () => {
    happened.push('first');
    timeline.clear();
    timeline.after(1, () => happened.push('after the clearing'));
  });
  timeline.after(2, () => happened.push('cleared'));
  await expect.poll(() => happened).toContain('after the clearing');
  expect(happened).toEqual(['first', 'after the clearing']);
});

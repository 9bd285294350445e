import { expect, it, onTestFinished, vi } from 'vitest';

import { startProgress } from '../../infra/cli/progress.ts';

it.each([
  [0, 0.41, '', 'history.ndjson:41001  41 %  8,200 events/s  7 s left'],
  [0, 0.01, '1 rejected', 'history.ndjson:41001  1 %  8,200 events/s  8 min left  1 rejected'],
  [0.4, 0.401, '', 'history.ndjson:41001  40 %  8,200 events/s  50 min left'],
  [0, 0.001, '', 'history.ndjson:41001  0 %  8,200 events/s  1 h 23 min left'],
  [undefined, undefined, '', 'history.ndjson:41001  8,200 events/s'],
])('a command at %s and 5 s later at %s of its work prints one line, %s: %s', (before, part, text, line) => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const said = vi.spyOn(console, 'error').mockReturnValue();
  const advance = startProgress('events');
  advance({ label: 'history.ndjson:1', part: before, count: 0 });
  vi.advanceTimersByTime(5_000);
  for (const count of [41_000, 41_010]) advance({ label: 'history.ndjson:41001', part, count, text });
  expect(said.mock.calls).toEqual([[line]]);
});

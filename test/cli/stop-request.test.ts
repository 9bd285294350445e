import { expect, it, onTestFinished, vi } from 'vitest';

import { watchForStop } from '../../infra/cli/stop-request.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

it('one Ctrl-C is one request, however many signals it is; one three seconds later insists', async () => {
  // Others listen as well, who would end the process: a browser that another file has started.
  const before = SIGNALS.map((signal) => [signal, process.listeners(signal)] as const);
  for (const [signal] of before) process.removeAllListeners(signal);
  vi.useFakeTimers({ toFake: ['performance', 'setInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
    for (const [signal, listeners] of before) {
      process.removeAllListeners(signal);
      for (const listener of listeners) process.on(signal, listener);
    }
  });
  const { asked, insisted } = watchForStop();
  let hasInsisted = false;
  const insisting = insisted.then(() => (hasInsisted = true));
  process.emit('SIGINT');
  expect(await asked).toBe('asked');
  vi.advanceTimersByTime(2_900);
  process.emit('SIGINT');
  await Promise.resolve();
  expect(hasInsisted).toBe(false);
  vi.advanceTimersByTime(200);
  process.emit('SIGINT');
  expect(await insisting).toBe(true);
});

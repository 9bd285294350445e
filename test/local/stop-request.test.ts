import { expect, it, onTestFinished, vi } from 'vitest';

import { watchForStop } from '../../infra/local/stop-request.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

it('one Ctrl-C is one request, however many signals it is; one three seconds later insists', async () => {
  const before = new Set(SIGNALS.flatMap((signal) => process.listeners(signal)));
  vi.useFakeTimers({ toFake: ['performance', 'setInterval'] });
  onTestFinished(() => {
    vi.useRealTimers();
    for (const signal of SIGNALS) {
      for (const own of process.listeners(signal)) if (!before.has(own)) process.off(signal, own);
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

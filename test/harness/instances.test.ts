import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { bundle } from '../../infra/bundle.ts';
import { NO_FAULT } from '../analytics/faults/fault-proxy.ts';
import { setStage } from './phone-stage.ts';
import { until } from './until.ts';

const NUMBER = '+12065550100';

describe('several instances', { timeout: 60_000 }, () => {
  it('are there again after a kill, while the others go on; the logs of all lives are kept', async () => {
    const stage = await setStage({ instances: 2, bundle: 'release', runsSchedules: false });
    const [first, second] = stage.apps;
    const health = async (): Promise<number> => (await fetch(`${stage.url}/api/health`)).status;
    const pid = first?.pid;
    const before = first?.output() ?? '';
    first?.kill();
    for (let request = 0; request < 5; request += 1) expect(await health()).toBe(200);
    expect(stage.frontDoor?.passages.map(({ instance }) => instance)).toEqual(Array(5).fill(1));

    await first?.restart();
    expect(first?.pid).not.toBe(pid);
    expect(first?.output().startsWith(before)).toBe(true);
    second?.kill();
    expect(await health()).toBe(200);
    expect(stage.frontDoor?.passages.at(-1)?.instance).toBe(0);
    await second?.restart();
  });

  it.each([
    ['before the request', 0],
    ['before its answer', 1],
  ] as const)('die at their request for a call, %s: the phone rings %i times', async (death, calls) => {
    const stage = await setStage({ bundle: 'release', isProxied: true, runsSchedules: false });
    const [app] = stage.apps;
    const died = app?.diesAt(({ service }) => service === 'acs', death);
    await expect(stage.alert('Custom', [NUMBER])).rejects.toThrow('fetch failed');
    expect(await died).toMatchObject({ method: 'POST', path: expect.stringContaining('/calling/callConnections') });
    expect(app?.isAlive).toBe(false);
    // By the time it runs again, what went through has long arrived.
    await app?.restart();
    expect(stage.callsTo(NUMBER)).toHaveLength(calls);
    expect((await fetch(`${stage.url}/api/health`)).status).toBe(200);
  });

  it.each([1, 2, 3])('die at their request number %i, whatever it is', async (number) => {
    const stage = await setStage({ bundle: 'release', isProxied: true, runsSchedules: false });
    const [app] = stage.apps;
    await (await fetch(`${stage.url}/api/health`)).text();
    const earlier = app?.requests.length ?? 0;
    const died = app?.diesAt(number, 'before the request');
    await expect(stage.alert('Custom', [NUMBER])).rejects.toThrow('fetch failed');
    expect(await died).toBe(app?.requests[earlier + number - 1]);
    expect(app?.isAlive).toBe(false);
  });

  it('get along without tables as long as a test wants', async () => {
    const stage = await setStage({ bundle: 'release', isProxied: true, runsSchedules: false });
    const [app] = stage.apps;
    const health = async (): Promise<number> => (await fetch(`${stage.url}/api/health`)).status;
    if (app !== undefined) app.rule = ({ service }) => ({ kind: service === 'tables' ? 'connection reset' : 'none' });
    expect(await health()).toBe(503);
    if (app !== undefined) app.rule = () => NO_FAULT;
    // Health is as of the last second.
    await expect.poll(health).toBe(200);
  });

  it('run a timer function when a test starts it, and where schedules are off, at no other time', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'instances-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const entry = fileURLToPath(new URL('../local/fixtures/timers-app.ts', import.meta.url));
    const path = join(directory, 'main.cjs');
    await bundle({ entry, outfile: path, debug: true });
    const environment = { YEARLY_SCHEDULE: '0 0 0 1 1 *' };
    const stage = await setStage({ instances: 2, bundle: { path }, runsSchedules: false, environment });
    const [first, second] = stage.apps;

    await stage.runTimer('Second', second?.url);
    await until(() => second?.output().includes('Second {') === true, 'the second instance runs it');
    expect(
      second
        ?.output()
        .split('\n')
        .filter((line) => line.startsWith('Second ')),
    ).toHaveLength(1);
    expect(first?.output()).not.toContain('Second {');
    await stage.runTimer('Yearly', stage.url);
    await expect(stage.runTimer('NoSuchTimer')).rejects.toThrow('the start of the timer function NoSuchTimer');
  });
});

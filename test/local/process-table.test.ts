import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { npmAbove } from '../../infra/local/npm-above.ts';
import { isRunning, parentHasEnded, parsePs, processTable } from '../../infra/local/process-table.ts';

describe.skipIf(process.platform === 'win32')('the processes of this machine', () => {
  it('hold this one with its parent and its command line', () => {
    const own = processTable().get(process.pid);

    expect(own?.parent).toBe(process.ppid);
    expect(own?.command).toMatch(/^\S+/);
  });

  it('hold a child as long as it runs', async () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)', 'a marker']);
    const pid = child.pid ?? 0;
    await once(child, 'spawn');

    expect(processTable().get(pid)).toEqual({ parent: process.pid, command: expect.stringContaining('a marker') });
    expect(isRunning(pid)).toBe(true);

    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isRunning(pid)).toBe(false);
    expect(processTable().has(pid)).toBe(false);
  });
});

describe('the end of the parent', () => {
  it('is seen on Unix by another parent', () => {
    expect(parentHasEnded(40, { platform: 'darwin', ppid: 40 })).toBe(false);
    expect(parentHasEnded(40, { platform: 'darwin', ppid: 1 })).toBe(true);
  });

  it('is seen on Windows by its absence, because the id of the parent stays', async () => {
    const parent = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const pid = parent.pid ?? 0;
    await once(parent, 'spawn');
    expect(parentHasEnded(pid, { platform: 'win32', ppid: pid })).toBe(false);

    parent.kill('SIGKILL');
    await once(parent, 'exit');
    expect(parentHasEnded(pid, { platform: 'win32', ppid: pid })).toBe(true);
  });
});

const PS = `
    1     0 Ss   /sbin/launchd
  501     1 S+   -zsh
  510   501 S+   npm exec -p node@24 -c npm ci && npm start
  511   510 S+   sh -c npm ci && npm start
  520   511 S+   /usr/local/bin/node /usr/local/bin/npm start
  521   520 S+   sh -c node --import tsx infra/local/start.ts
  530   521 S+   node --import tsx infra/local/start.ts
  531   530 Z    (node)
  600   501 S    bash -c node --import tsx infra/local/start.ts
`;

describe('the output of ps', () => {
  it('gives parents and command lines, and no process that has ended', () => {
    const table = parsePs(PS);

    expect([...table.keys()]).toEqual([1, 501, 510, 511, 520, 521, 530, 600]);
    expect(table.get(511)).toEqual({ parent: 510, command: 'sh -c npm ci && npm start' });
  });
});

describe('the processes of npm above a process', () => {
  it('are every npm up to the topmost and the shells in between, nearest first', () => {
    expect(npmAbove(parsePs(PS), 521)).toEqual([521, 520, 511, 510]);
    expect(npmAbove(parsePs(PS), 511)).toEqual([511, 510]);
  });

  it('are none where a person or a script started the process', () => {
    expect(npmAbove(parsePs(PS), 501)).toEqual([]);
    expect(npmAbove(parsePs(PS), 600)).toEqual([]);
  });
});
